#include "contract/files_download.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "contract/directory_listing.h"
#include "contract/error_answer.h"
#include "contract/temporary_file.h"

namespace osbx::contract {
namespace {

constexpr uint64_t kSmallFileBytes = uint64_t{64} << 10;  // read with the call that opens it
constexpr size_t kMaxPieceBytes = size_t{256} << 10;
constexpr size_t kMinPieceBytes = size_t{16} << 10;
constexpr size_t kAllPiecesBytes = size_t{64} << 20;  // what slow clients may hold together, about

http::Headers ContentType(const char* type) { return {{"Content-Type", type}}; }

// Up to `size` bytes; less at the end of the file only. Nothing where reading fails.
std::optional<std::string> ReadUpTo(int fd, size_t size) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    const ssize_t count = read(fd, bytes.data() + have, size - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    have += static_cast<size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

// A file that is sent piece by piece: one is read when the one before has been taken.
class Download : public std::enable_shared_from_this<Download> {
 public:
  Download(std::shared_ptr<FilesContext> context, std::shared_ptr<http::Exchange> exchange, base::UniqueFd file,
           uint64_t size)
      : context_(std::move(context)), exchange_(std::move(exchange)), file_(std::move(file)), left_(size) {
    ++context_->downloads;
  }
  ~Download() { --context_->downloads; }

  void Start() {
    exchange_->BeginAnswer(200, ContentType("application/octet-stream"), left_);
    ReadPiece();
  }

 private:
  void ReadPiece() {
    const size_t share = std::max(kMinPieceBytes, std::min(kMaxPieceBytes, kAllPiecesBytes / context_->downloads));
    const size_t size = static_cast<size_t>(std::min<uint64_t>(left_, share));
    const auto piece = std::make_shared<std::optional<std::string>>();
    RunInPool(
        context_->workers,
        [fd = file_.get(), size, piece] {
          *piece = ReadUpTo(fd, size);
          return true;
        },
        [self = shared_from_this(), size, piece](bool) {
          // The file has become shorter, or cannot be read to its end.
          if (!piece->has_value() || (*piece)->size() < size) return self->exchange_->Abort();
          self->left_ -= size;
          self->exchange_->WriteBody(*std::move(*piece), [self](bool written) {
            if (written && self->left_ > 0) self->ReadPiece();
          });
        });
  }

  const std::shared_ptr<FilesContext> context_;
  const std::shared_ptr<http::Exchange> exchange_;
  const base::UniqueFd file_;
  uint64_t left_;
};

// What the pool finds out about a path.
struct Finding {
  absl::Status error;
  Workspace::Opened opened;
  std::unique_ptr<DirectoryListing> listing;
  std::optional<std::string> body;  // of a listing or a small file
};

absl::StatusOr<bool> Look(const FilesContext& context, const WorkspacePath& path, bool head, Finding& finding) {
  if (finding.listing == nullptr) {
    if (std::any_of(path.names.begin(), path.names.end(), IsTemporaryName)) return FileError(ENOENT);
    OSBX_ASSIGN_OR_RETURN(finding.opened, context.workspace.OpenForReading(path));
    if (!finding.opened.is_directory()) {
      const auto size = static_cast<uint64_t>(finding.opened.info.st_size);
      if (head || size > kSmallFileBytes) return true;
      finding.body = ReadUpTo(finding.opened.fd.get(), static_cast<size_t>(size));
      if (!finding.body.has_value()) return FileError(EIO);
      return true;
    }
    OSBX_ASSIGN_OR_RETURN(finding.listing, DirectoryListing::Begin(std::move(finding.opened.fd)));
  }
  OSBX_ASSIGN_OR_RETURN(const bool complete, finding.listing->Advance());
  if (!complete) return false;
  OSBX_ASSIGN_OR_RETURN(finding.body, finding.listing->Json());
  return true;
}

}  // namespace

void SendFileOrListing(const std::shared_ptr<FilesContext>& context, std::shared_ptr<http::Exchange> exchange,
                       WorkspacePath path) {
  const bool head = exchange->request().method == "HEAD";
  const auto finding = std::make_shared<Finding>();
  const auto where = std::make_shared<const WorkspacePath>(std::move(path));
  RunInPool(
      context->workers,
      [context, finding, where, head] {
        const absl::StatusOr<bool> complete = Look(*context, *where, head, *finding);
        if (complete.ok()) return *complete;
        finding->error = complete.status();
        return true;
      },
      [context, exchange = std::move(exchange), finding, where, head](bool ran) {
        if (!ran) return exchange->Respond(ErrorAnswer(FileError(ENOMEM)));
        if (!finding->error.ok()) return exchange->Respond(FilesError(finding->error, *where));
        if (finding->body.has_value()) {
          const char* const type = finding->listing != nullptr ? "application/json" : "application/octet-stream";
          if (context->unsent->full()) return exchange->Respond(UnsentAnswers::Refusal());
          return context->unsent->Send(exchange, {200, ContentType(type), *std::move(finding->body)});
        }
        const auto size = static_cast<uint64_t>(finding->opened.info.st_size);
        if (head) return exchange->BeginAnswer(200, ContentType("application/octet-stream"), size);
        std::make_shared<Download>(context, exchange, std::move(finding->opened.fd), size)->Start();
      });
}

}  // namespace osbx::contract
