// Resolves a user's name in an image, before a sandbox is made: only numbers go to the engine.
#ifndef OSBX_DOCKER_IMAGE_USER_H_
#define OSBX_DOCKER_IMAGE_USER_H_

#include <map>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/mutex.h"
#include "core/spec.h"
#include "engine/client.h"

namespace osbx::docker {

// The user that `user` ("uid", "uid:gid", "name", "name:group") names in these two files. kInvalid: no such user or
// group, or it is root by number. Lines that are not well-formed are passed over; the first that matches counts.
absl::StatusOr<core::UserId> ResolveUser(std::string_view user, std::string_view passwd, std::string_view group);

// The one regular file in a tar archive of a single path, as the engine's archive API gives it (POSIX.1-2001 ustar and
// pax). kInvalid when it is a link, a folder or malformed.
absl::StatusOr<std::string> ReadSingleFileTar(std::string_view tar);

// Remembers answers per image id. Thread-safe.
class ImageUsers {
 public:
  // Numeric users need no image. A name is looked up in /etc/passwd and /etc/group of a container of the image that is
  // never started and removed at once.
  absl::StatusOr<core::UserId> Resolve(engine::Client& client, const std::string& user, const std::string& image_id,
                                       const base::Context& context);

 private:
  static constexpr size_t kMostRemembered = 256;
  base::Mutex mutex_;
  std::map<std::string, core::UserId> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_IMAGE_USER_H_
