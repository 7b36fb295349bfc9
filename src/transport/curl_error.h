// libcurl's result codes as errors that name the endpoint and the reason.
#ifndef OSBX_TRANSPORT_CURL_ERROR_H_
#define OSBX_TRANSPORT_CURL_ERROR_H_

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "transport/endpoint.h"

namespace osbx::transport {

// The kernel's text for an errno value, whatever the locale: "Connection refused".
std::string ErrnoText(int error);

// kUnreachable: no connection, so nothing was sent. kPermission: the socket may not be opened. kBackend: the connection
// broke, and what was sent may have had its effect. `text` is libcurl's own explanation, `received`
// whether any byte of an answer had arrived.
absl::Status ErrorOfTransfer(const Endpoint& endpoint, CURLcode code, int os_error, std::string_view text,
                             bool received);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_CURL_ERROR_H_
