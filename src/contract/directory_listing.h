// The entries of a directory, as JSON.
#ifndef OSBX_CONTRACT_DIRECTORY_LISTING_H_
#define OSBX_CONTRACT_DIRECTORY_LISTING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "contract/directory_stream.h"

namespace osbx::contract {

struct ListingLimits {
  size_t max_entries = 262'144;
  size_t max_bytes = size_t{64} << 20;  // of JSON
};

// Any thread, one at a time; calls block as file systems do.
class DirectoryListing {
 public:
  // A directory that was opened for reading.
  static absl::StatusOr<std::unique_ptr<DirectoryListing>> Begin(base::UniqueFd directory,
                                                                 const ListingLimits& limits = {});

  // Reads some more, so that a long list leaves room for other work between. True: that was all. 507 beyond the limits.
  absl::StatusOr<bool> Advance();

  // {"entries":[{"name","size","isDir"}]}, sorted by the bytes of the names, which are then made valid UTF-8. A link is
  // an entry of its own and no directory; the size of a directory is 0. Uploads under way are not listed; what a killed
  // server left of one has been removed.
  absl::StatusOr<std::string> Json();

 private:
  struct Entry {
    std::string name;
    uint64_t size = 0;
    bool is_directory = false;
  };

  DirectoryListing(DirectoryStream stream, const ListingLimits& limits);

  DirectoryStream stream_;
  const ListingLimits limits_;
  std::vector<Entry> entries_;
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_DIRECTORY_LISTING_H_
