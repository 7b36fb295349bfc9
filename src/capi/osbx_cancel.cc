// Section 3 of osbx.h: cancellation.
#include <chrono>

#include "capi/guard.h"
#include "capi/handles.h"

namespace base = osbx::base;

extern "C" {

osbx_cancel* osbx_cancel_new(void) { return osbx::capi::GuardNew<osbx_cancel>(); }

void osbx_cancel_set_timeout_ms(osbx_cancel* cancel, int64_t timeout_ms) {
  if (cancel == nullptr) return;
  cancel->token->SetDeadline(base::SaturatingAdd(base::Clock::now(), std::chrono::milliseconds(timeout_ms)));
}

void osbx_cancel_fire(osbx_cancel* cancel) {
  if (cancel == nullptr) return;
  // A wakeup may be what lets another thread free the handle.
  const std::shared_ptr<base::CancelToken> token = cancel->token;
  token->Fire();
}

void osbx_cancel_free(osbx_cancel* cancel) { delete cancel; }

}  // extern "C"
