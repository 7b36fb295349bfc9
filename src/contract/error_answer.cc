#include "contract/error_answer.h"

#include <cerrno>
#include <string>

#include "base/json_text.h"
#include "base/text.h"

namespace osbx::contract {
namespace {

using base::Code;

constexpr size_t kMaxMessageBytes = 1024;

Code CodeFor(int status) {
  switch (status) {
    case 400:
      return Code::kInvalid;
    case 403:
      return Code::kPermission;
    case 404:
      return Code::kNotFound;
    case 408:
      return Code::kTimeout;
    case 409:
      return Code::kConflict;
    case 413:
      return Code::kTooLarge;
    case 503:
      return Code::kAtCapacity;
    case 507:
      return Code::kNoSpace;
    default:
      return Code::kInternal;
  }
}

}  // namespace

http::Answer ErrorAnswer(int status, std::string_view what) {
  http::Answer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/json");
  answer.body = "{\"error\":";
  base::AppendJsonString(&answer.body, base::PrintableLine(what, kMaxMessageBytes));
  answer.body += '}';
  return answer;
}

http::Answer ErrorAnswer(const absl::Status& error) {
  const int status = base::HttpStatusOf(error);
  return ErrorAnswer(status == 0 ? 500 : status, std::string(error.message()));
}

http::Answer MethodNotAllowed(const std::string& allowed) {
  http::Answer answer = ErrorAnswer(405, "this method is not allowed here; allowed: " + allowed);
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

absl::Status Refusal(int status, std::string_view what) { return base::Error(CodeFor(status), what, status); }

absl::Status FileError(int error) {
  switch (error) {
    case ENOENT:
      return Refusal(404, "no such file or directory");
    case EACCES:
    case EPERM:
      return Refusal(403, "permission denied");
    case EROFS:
      return Refusal(403, "the file system is read-only");
    case ENOSPC:
    case EDQUOT:
      return Refusal(507, "no space left");
    case EFBIG:
      return Refusal(507, "the file is larger than is allowed here");
    case ENOTDIR:
      return Refusal(409, "not a directory");
    case EISDIR:
      return Refusal(409, "is a directory");
    case ELOOP:
      return Refusal(409, "too many symbolic links");
    case ENXIO:
    case ENODEV:
      return Refusal(409, "not a regular file or a directory");
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY:
    case EXDEV:
    case ETXTBSY:
      return Refusal(409, "in use, or changed by somebody else meanwhile");
    case ENAMETOOLONG:
      return Refusal(400, "a name in the path is too long");
    case EINVAL:
    case EILSEQ:
      return Refusal(400, "the file system does not take this name");
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return Refusal(503, "too much is open or under way at the moment");
    default:
      return Refusal(500, "input or output failed (errno " + std::to_string(error) + ")");
  }
}

}  // namespace osbx::contract
