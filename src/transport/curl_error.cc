#include "transport/curl_error.h"

#include <cerrno>
#include <cstring>

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

absl::Status CannotReach(const Endpoint& endpoint, Code code, std::string_view reason) {
  return Error(code, "cannot reach the Docker daemon at " + endpoint.ToString() + ": " + std::string(reason));
}

absl::Status BrokeOff(const Endpoint& endpoint, std::string_view reason) {
  return Error(Code::kBackend,
               "the Docker daemon at " + endpoint.ToString() + " did not answer properly: " + std::string(reason));
}

absl::Status ErrorOfConnect(const Endpoint& endpoint, int os_error, std::string_view text) {
  if (os_error == EACCES || os_error == EPERM) return CannotReach(endpoint, Code::kPermission, ErrnoText(os_error));
  if (os_error != 0) return CannotReach(endpoint, Code::kUnreachable, ErrnoText(os_error));
  // A failure without a number: connect() said EAGAIN, which libcurl takes for progress, or the peer hung up before
  // libcurl looked.
  if (endpoint.kind == Endpoint::Kind::kUnix) {
    return CannotReach(endpoint, Code::kUnreachable, "its queue of connections is full, or it hung up at once");
  }
  return CannotReach(endpoint, Code::kUnreachable, text);
}

}  // namespace

std::string ErrnoText(int error) {
#ifdef __GLIBC__
  if (const char* text = strerrordesc_np(error)) return text;
#endif
  return "errno " + std::to_string(error);
}

absl::Status ErrorOfTransfer(const Endpoint& endpoint, CURLcode code, int os_error, std::string_view text,
                             bool received) {
  switch (code) {
    case CURLE_OUT_OF_MEMORY:
      return Error(Code::kNoMemory, "out of memory");
    case CURLE_COULDNT_CONNECT:
      return ErrorOfConnect(endpoint, os_error, text);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_OPERATION_TIMEDOUT:  // the time to connect; the call's own deadline is kept elsewhere
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CLIENTCERT:
      return CannotReach(endpoint, Code::kUnreachable, text);
    case CURLE_RECV_ERROR:
      // With TLS 1.3 the handshake is over for the client before the server has judged its certificate. The alert comes
      // in place of the answer; the server has not looked at the request.
      if (!received && endpoint.kind == Endpoint::Kind::kTls && text.find(" alert ") != std::string_view::npos) {
        return CannotReach(endpoint, Code::kUnreachable, text);
      }
      [[fallthrough]];
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
      // The alert may also be lost in the connection that it ended.
      if (!received && endpoint.kind == Endpoint::Kind::kTls) {
        return BrokeOff(endpoint,
                        std::string(text) + " (it hung up before it answered; it may have refused our certificate)");
      }
      return BrokeOff(endpoint, text);
    case CURLE_PARTIAL_FILE:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9, which is: something that is not HTTP
    case CURLE_BAD_CONTENT_ENCODING:
      return BrokeOff(endpoint, text);
    default:
      return Error(Code::kInternal, "libcurl: " + std::string(text));
  }
}

}  // namespace osbx::transport
