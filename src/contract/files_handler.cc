#include "contract/files_handler.h"

#include <errno.h>

#include <atomic>
#include <string>
#include <utility>

#include "contract/error_answer.h"
#include "contract/file_removal.h"
#include "contract/file_upload.h"
#include "contract/files_download.h"

namespace osbx::contract {
namespace {

void RespondNoContent(http::Exchange& exchange) {
  http::Answer answer;
  answer.status = 204;
  exchange.Respond(std::move(answer));
}

// A PUT: the body is read piece by piece, each when the one before has been written.
class Upload : public std::enable_shared_from_this<Upload> {
 public:
  Upload(std::shared_ptr<FilesContext> context, std::shared_ptr<http::Exchange> exchange, WorkspacePath path)
      : context_(std::move(context)), exchange_(std::move(exchange)), path_(std::move(path)) {}

  void Start() {
    Work(
        [](Upload& self) -> absl::Status {
          OSBX_ASSIGN_OR_RETURN(self.file_, FileUpload::Begin(self.context_->workspace, self.path_));
          return absl::OkStatus();
        },
        &Upload::ReadPiece);
  }

 private:
  // `work` runs in the pool, `next` afterwards here, unless it failed: then the temporary file is gone before the
  // client hears of it.
  template <typename Step>
  void Work(Step work, void (Upload::*next)()) {
    // The exchange is held by the second closure alone, so that it is released on this thread.
    RunInPool(
        context_->workers,
        [raw = this, work = std::move(work)] {
          raw->error_ = work(*raw);
          if (!raw->error_.ok()) raw->file_.reset();
          return true;
        },
        [self = shared_from_this(), next](bool ran) {
          if (ran && self->error_.ok()) return (*self.*next)();
          self->file_.reset();
          self->exchange_->Respond(ran ? FilesError(self->error_, self->path_) : ErrorAnswer(FileError(ENOMEM)));
        });
  }

  void ReadPiece() {
    exchange_->ReadBody([self = shared_from_this()](absl::StatusOr<std::string> piece) {
      if (!piece.ok()) return self->GiveUp(piece.status());
      if (piece->empty()) return self->Commit();
      self->received_ += piece->size();
      // The last piece is written and committed in one go: a small file costs a way to the pool less.
      const bool last = self->received_ == self->exchange_->request().content_length;
      self->Work(
          [bytes = std::make_shared<const std::string>(*std::move(piece)), last](Upload& upload) {
            const absl::Status written = upload.file_->Write(*bytes);
            return written.ok() && last ? upload.file_->Commit() : written;
          },
          last ? &Upload::Succeed : &Upload::ReadPiece);
    });
  }

  void Commit() {
    const std::optional<uint64_t>& length = exchange_->request().content_length;
    if (length.has_value() && *length != received_) {
      return GiveUp(base::Error(base::Code::kUnreachable, "the body is not as long as announced"));
    }
    Work([](Upload& self) { return self.file_->Commit(); }, &Upload::Succeed);
  }

  void Succeed() { RespondNoContent(*exchange_); }

  // The body has broken off. The client is told where it may still be listening.
  void GiveUp(const absl::Status& broken) {
    const base::Code code = base::CodeOf(broken);
    const int status = code == base::Code::kTimeout ? 408 : code == base::Code::kInvalid ? 400 : 0;
    const std::string what(broken.message());
    RunInPool(
        context_->workers,
        [raw = this] {
          raw->file_.reset();
          return true;
        },
        [self = shared_from_this(), status, what](bool) {
          self->file_.reset();
          if (status == 0) return self->exchange_->Abort();
          self->exchange_->Respond(ErrorAnswer(status, what));
        });
  }

  const std::shared_ptr<FilesContext> context_;
  const std::shared_ptr<http::Exchange> exchange_;
  const WorkspacePath path_;
  uint64_t received_ = 0;
  // The pool's while it works, this thread's between.
  std::unique_ptr<FileUpload> file_;
  absl::Status error_;
};

// A DELETE. It stops when the client goes away, so that a tree that somebody goes on filling is not worked at for ever.
void Remove(const std::shared_ptr<FilesContext>& context, std::shared_ptr<http::Exchange> exchange,
            WorkspacePath path) {
  struct Removal {
    WorkspacePath path;
    std::atomic<bool> stopped{false};
    std::unique_ptr<FileRemoval> work;
    absl::Status error;

    absl::StatusOr<bool> Advance(const FilesContext& files) {
      if (work == nullptr) {
        OSBX_ASSIGN_OR_RETURN(work, FileRemoval::Begin(files.workspace, path));
      }
      if (stopped) return Refusal(409, "the client has gone");
      return work->Advance();
    }
  };
  const auto removal = std::make_shared<Removal>();
  removal->path = std::move(path);
  exchange->OnClientGone([removal] { removal->stopped = true; });
  RunInPool(
      context->workers,
      [context, removal] {
        const absl::StatusOr<bool> complete = removal->Advance(*context);
        if (complete.ok()) return *complete;
        removal->error = complete.status();
        return true;
      },
      [exchange = std::move(exchange), removal](bool ran) {
        if (!ran) return exchange->Respond(ErrorAnswer(FileError(ENOMEM)));
        if (!removal->error.ok()) return exchange->Respond(FilesError(removal->error, removal->path));
        RespondNoContent(*exchange);
      });
}

}  // namespace

http::Answer FilesError(const absl::Status& error, const WorkspacePath& path) {
  return ErrorAnswer(base::HttpStatusOf(error), std::string(error.message()) + ": " + path.Text());
}

void HandleFiles(const std::shared_ptr<FilesContext>& context, std::shared_ptr<http::Exchange> exchange) {
  absl::StatusOr<WorkspacePath> path = ParseWorkspacePath(exchange->request().target);
  if (!path.ok()) return exchange->Respond(ErrorAnswer(path.status()));
  const std::string& method = exchange->request().method;
  if (method == "GET" || method == "HEAD") return SendFileOrListing(context, std::move(exchange), *std::move(path));
  if (method == "PUT") return std::make_shared<Upload>(context, std::move(exchange), *std::move(path))->Start();
  if (method == "DELETE") return Remove(context, std::move(exchange), *std::move(path));
  exchange->Respond(MethodNotAllowed("GET, HEAD, PUT, DELETE"));
}

}  // namespace osbx::contract
