#include "transport/blocking_call.h"

#include "transport/easy_handle.h"

namespace osbx::transport {

absl::StatusOr<Response> BlockingCall(const std::shared_ptr<CurlLibrary>& library, ChannelPool& pool,
                                      const Endpoint& endpoint, const Request& request, const base::Context& context) {
  OSBX_RETURN_IF_ERROR(context.Check());
  OSBX_ASSIGN_OR_RETURN(const ChannelPool::Lease channel, pool.Take());
  const base::ScopedWakeup wakeup(context, [&channel] { channel->WakeUp(); });
  // Most dead connections libcurl finds itself, and connects again. What is left is one that died with the request
  // under way; the second try then has a connection of its own, so that there is no third.
  auto use = request.idempotent ? EasyHandle::Use::kKeptConnection : EasyHandle::Use::kFreshConnection;
  for (;;) {
    OSBX_ASSIGN_OR_RETURN(const auto easy, EasyHandle::Create(library, endpoint, request, use));
    CallChannel::Added added(*channel, *easy);
    OSBX_ASSIGN_OR_RETURN(const CURLcode code, added.Run(context));
    if (use == EasyHandle::Use::kKeptConnection && easy->DiedOnReusedConnection(code)) {
      use = EasyHandle::Use::kFreshConnection;
      continue;
    }
    return easy->Finish(code);
  }
}

}  // namespace osbx::transport
