// One request and its answer on the calling thread.
#ifndef OSBX_TRANSPORT_BLOCKING_CALL_H_
#define OSBX_TRANSPORT_BLOCKING_CALL_H_

#include <memory>

#include "base/cancel.h"
#include "base/status.h"
#include "transport/call_channel.h"
#include "transport/endpoint.h"
#include "transport/http_message.h"

namespace osbx::transport {

// Connection::Call.
absl::StatusOr<Response> BlockingCall(const std::shared_ptr<CurlLibrary>& library, ChannelPool& pool,
                                      const Endpoint& endpoint, const Request& request, const base::Context& context);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_BLOCKING_CALL_H_
