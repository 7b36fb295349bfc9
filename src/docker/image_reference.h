// What a caller may write for an image, in Docker's own grammar.
#ifndef OSBX_DOCKER_IMAGE_REFERENCE_H_
#define OSBX_DOCKER_IMAGE_REFERENCE_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace osbx::docker {

// A parsed reference. Either `id` is set and nothing else, or `repository` and at least one of `tag` and `digest`.
struct ImageReference {
  std::string id;          // "sha256:<64 hex>": an image that the engine has or has not, never pulled
  std::string registry;    // "localhost:5000"; empty for Docker Hub, however it was spelled
  std::string repository;  // "library/busybox": complete, also where Docker lets one leave out a part
  std::string tag;         // "latest" when neither tag nor digest was given; may stand beside a digest
  std::string digest;      // "sha256:...": decides when there is one

  bool is_id() const { return !id.empty(); }

  // For engine::PullImage(): the name with its registry spelled out, so that no engine's list of registries to search
  // sends a password elsewhere, and the tag or digest. Not for an id.
  std::string PullName() const;
  const std::string& PullTag() const { return digest.empty() ? tag : digest; }

  // For create and inspect: the shortest spelling of exactly this image, with its tag or digest, or the id.
  std::string LocalName() const;
};

// kInvalid for what is no reference, with Docker's own words behind the text: `image "a/B": invalid reference format:
// repository name (a/B) must be lowercase`.
absl::StatusOr<ImageReference> ParseImageReference(std::string_view text);

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_IMAGE_REFERENCE_H_
