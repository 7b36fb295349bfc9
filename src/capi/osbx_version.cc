// Section 2 of osbx.h, versions and names.
#include "base/status.h"
#include "osbx.h"

extern "C" {

uint32_t osbx_version(void) { return OSBX_VERSION_MAJOR * 10000u + OSBX_VERSION_MINOR * 100u + OSBX_VERSION_PATCH; }

const char* osbx_status_name(osbx_status status) { return osbx::base::CodeName(status); }

const char* osbx_end_reason_name(uint32_t reason) {
  switch (reason) {
    case OSBX_END_EXITED:
      return "exited";
    case OSBX_END_SIGNALLED:
      return "signalled";
    case OSBX_END_TIMED_OUT:
      return "timed_out";
    case OSBX_END_CANCELLED:
      return "cancelled";
    case OSBX_END_OUT_OF_MEMORY:
      return "out_of_memory";
    case OSBX_END_SANDBOX_GONE:
      return "sandbox_gone";
    case OSBX_END_CALLBACK_ABORTED:
      return "callback_aborted";
    case OSBX_END_OUTCOME_UNKNOWN:
      return "outcome_unknown";
  }
  return "unknown";
}

}  // extern "C"
