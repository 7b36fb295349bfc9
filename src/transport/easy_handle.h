// One request to the engine as a libcurl easy handle. Every option that this library sets on libcurl is set here.
#ifndef OSBX_TRANSPORT_EASY_HANDLE_H_
#define OSBX_TRANSPORT_EASY_HANDLE_H_

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

#include "base/status.h"
#include "transport/curl_library.h"
#include "transport/endpoint.h"
#include "transport/http_message.h"
#include "transport/response_collector.h"

namespace osbx::transport {

class EasyHandle {
 public:
  enum class Use {
    kFreshConnection,  // of its own, closed afterwards
    kKeptConnection,   // may reuse one and is kept for another
    kConnectOnly,      // connects, with TLS where the endpoint has it, and sends nothing
  };

  // `endpoint` and `request` must outlive the handle; `request` is checked.
  static absl::StatusOr<std::unique_ptr<EasyHandle>> Create(std::shared_ptr<CurlLibrary> library,
                                                            const Endpoint& endpoint, const Request& request, Use use);
  ~EasyHandle();
  EasyHandle(const EasyHandle&) = delete;
  EasyHandle& operator=(const EasyHandle&) = delete;

  CURL* get() const { return easy_; }
  ResponseCollector& collector() { return collector_; }

  // The outcome of a transfer that libcurl ended with `code`.
  absl::StatusOr<Response> Finish(CURLcode code);
  // The error that `code`, other than CURLE_OK, stands for.
  absl::Status ErrorOf(CURLcode code) const;
  // libcurl's explanation of it, without the endpoint.
  std::string ReasonOf(CURLcode code) const;
  // Whether the transfer failed on a kept connection that was dead before it had answered anything.
  bool DiedOnReusedConnection(CURLcode code) const;
  // To be called when the transfer is given up before its end.
  void NoteGivenUp() const;

 private:
  EasyHandle(std::shared_ptr<CurlLibrary> library, const Endpoint& endpoint, const Request& request, CURL* easy);
  static curl_socket_t OpenSocket(void* self, curlsocktype purpose, curl_sockaddr* address);
  absl::Status SetUp(Use use);
  void SetConnectionOptions(Use use);
  absl::Status SetTlsOptions();
  absl::Status SetCertificate(CURLoption option, const char* name);
  absl::Status SetRequestOptions();
  absl::Status AddHeader(const std::string& line);
  template <typename Value>
  void Set(CURLoption option, Value value);

  std::shared_ptr<CurlLibrary> library_;
  const Endpoint& endpoint_;
  const Request& request_;
  CURL* const easy_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  ResponseCollector collector_;
  CURLcode setup_error_ = CURLE_OK;
  int socket_error_ = 0;
};

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_EASY_HANDLE_H_
