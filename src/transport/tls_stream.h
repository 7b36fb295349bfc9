// A hijacked stream over TLS: libcurl's connection, ended for writing with OpenSSL.
#ifndef OSBX_TRANSPORT_TLS_STREAM_H_
#define OSBX_TRANSPORT_TLS_STREAM_H_

#include <memory>

#include "base/status.h"
#include "transport/call_channel.h"
#include "transport/easy_handle.h"
#include "transport/endpoint.h"
#include "transport/hijacked_stream.h"
#include "transport/http_message.h"

namespace osbx::transport {

// A connected handle with what it depends on. The handle stays in its channel: libcurl ends the connection when it is
// removed.
struct TlsConnection {
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Request> request;
  std::shared_ptr<CallChannel> channel;
  std::unique_ptr<EasyHandle> easy;
  std::unique_ptr<CallChannel::Added> added;
};

// kUnsupported when libcurl's TLS is not the OpenSSL of this library: half-close cannot be promised there.
absl::StatusOr<std::unique_ptr<HijackedStream>> NewTlsStream(TlsConnection connection, int fd);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_TLS_STREAM_H_
