#include "contract/directory_listing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "base/text.h"
#include "contract/error_answer.h"
#include "contract/temporary_file.h"

namespace osbx::contract {
namespace {

constexpr int kEntriesAtOnce = 2048;

}  // namespace

DirectoryListing::DirectoryListing(DirectoryStream stream, const ListingLimits& limits)
    : stream_(std::move(stream)), limits_(limits) {}

absl::StatusOr<std::unique_ptr<DirectoryListing>> DirectoryListing::Begin(base::UniqueFd directory,
                                                                          const ListingLimits& limits) {
  OSBX_ASSIGN_OR_RETURN(DirectoryStream stream, DirectoryStream::Open(std::move(directory)));
  return std::unique_ptr<DirectoryListing>(new DirectoryListing(std::move(stream), limits));
}

absl::StatusOr<bool> DirectoryListing::Advance() {
  for (int count = 0; count < kEntriesAtOnce; ++count) {
    OSBX_ASSIGN_OR_RETURN(const dirent* const next, stream_.Next());
    if (next == nullptr) return true;
    Entry entry;
    entry.name = next->d_name;
    if (IsTemporaryName(entry.name)) {
      RemoveLeftover(stream_.fd(), entry.name);
      continue;
    }
    struct stat info {};
    if (fstatat(stream_.fd(), next->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
      entry.is_directory = S_ISDIR(info.st_mode);
      entry.size = entry.is_directory ? 0 : static_cast<uint64_t>(info.st_size);
    } else if (errno == ENOENT) {
      continue;  // removed meanwhile
    } else {
      entry.is_directory = next->d_type == DT_DIR;  // a directory that may be read, but not searched
    }
    if (entries_.size() >= limits_.max_entries) {
      return Refusal(507, "the directory has more than " + std::to_string(limits_.max_entries) +
                              " entries, too many for a listing");
    }
    entries_.push_back(std::move(entry));
  }
  return false;
}

absl::StatusOr<std::string> DirectoryListing::Json() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  std::string json = "{\"entries\":[";
  const char* separator = "";
  for (const Entry& entry : entries_) {
    json += separator;
    separator = ",";
    json += "{\"name\":";
    base::AppendJsonString(&json, base::ToValidUtf8(entry.name));
    json += ",\"size\":" + std::to_string(entry.size);
    json += entry.is_directory ? ",\"isDir\":true}" : ",\"isDir\":false}";
    if (json.size() > limits_.max_bytes) return Refusal(507, "the directory is too long for a listing");
  }
  json += "]}";
  return json;
}

}  // namespace osbx::contract
