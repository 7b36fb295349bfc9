// libcurl as a whole: its start and end, and the container of connections that every transfer runs in.
#ifndef OSBX_TRANSPORT_CURL_LIBRARY_H_
#define OSBX_TRANSPORT_CURL_LIBRARY_H_

#include <curl/curl.h>
#include <sys/types.h>

#include <memory>

#include "base/status.h"

namespace osbx::transport {

// One reference to libcurl's global state. libcurl counts them itself, without a lock of ours, in every build that is
// CURL_VERSION_THREADSAFE; another build is kUnsupported. Everything that holds a libcurl handle holds one of these.
class CurlLibrary {
 public:
  static absl::StatusOr<std::shared_ptr<CurlLibrary>> Acquire();
  ~CurlLibrary();
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;

 private:
  CurlLibrary() = default;
};

// Keeps libcurl's code mapped from now on. Needed once a call is given up while libcurl's resolver thread hangs in
// getaddrinfo(), which cannot be interrupted: the thread goes on alone and must not find its code unmapped.
void KeepLibcurlLoaded();

// A curl multi handle whose descriptors are all closed on exec. In a forked child it is leaked, not cleaned up: its
// connections are the parent's.
class CurlMulti {
 public:
  static absl::StatusOr<std::unique_ptr<CurlMulti>> Create(std::shared_ptr<CurlLibrary> library);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  CURLM* get() const { return multi_; }

 private:
  CurlMulti(std::shared_ptr<CurlLibrary> library, CURLM* multi);

  std::shared_ptr<CurlLibrary> library_;
  CURLM* const multi_;
  const pid_t creator_;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_CURL_LIBRARY_H_
