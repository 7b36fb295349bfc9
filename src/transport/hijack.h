// A request whose connection becomes a raw stream.
#ifndef OSBX_TRANSPORT_HIJACK_H_
#define OSBX_TRANSPORT_HIJACK_H_

#include <memory>

#include "base/cancel.h"
#include "base/status.h"
#include "transport/call_channel.h"
#include "transport/connection.h"

namespace osbx::transport {

// Connection::Hijack.
absl::StatusOr<HijackResult> HijackCall(const std::shared_ptr<CurlLibrary>& library, ChannelPool& pool,
                                        const Endpoint& endpoint, const Request& request, const base::Context& context);

}  // namespace osbx::transport

#endif  // OSBX_TRANSPORT_HIJACK_H_
