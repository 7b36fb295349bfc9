// Section 5 of osbx.h: what a sandbox is made of.
#include "capi/guard.h"
#include "capi/handles.h"
#include "core/spec.h"

namespace {

using osbx::capi::GuardSetter;
using osbx::core::SpecBuilder;

void SetText(osbx_spec* spec, const char* null_message, void (SpecBuilder::*set)(std::string_view), const char* value) {
  GuardSetter(spec, [&](osbx_spec& handle) {
    if (value == nullptr) return handle.builder.Refuse(null_message);
    (handle.builder.*set)(value);
  });
}

template <typename Argument, typename Value>
void SetNumber(osbx_spec* spec, void (SpecBuilder::*set)(Argument), Value value) {
  GuardSetter(spec, [&](osbx_spec& handle) { (handle.builder.*set)(value); });
}

}  // namespace

extern "C" {

osbx_spec* osbx_spec_new(void) { return osbx::capi::GuardNew<osbx_spec>(); }

void osbx_spec_set_image(osbx_spec* spec, const char* reference) {
  SetText(spec, "image is NULL", &SpecBuilder::SetImage, reference);
}

void osbx_spec_set_runtime(osbx_spec* spec, const char* name) {
  SetText(spec, "runtime is NULL", &SpecBuilder::SetRuntime, name);
}

void osbx_spec_set_user(osbx_spec* spec, const char* user) {
  SetText(spec, "user is NULL", &SpecBuilder::SetUser, user);
}

void osbx_spec_set_cpus(osbx_spec* spec, double cpus) { SetNumber(spec, &SpecBuilder::SetCpus, cpus); }

void osbx_spec_set_memory_bytes(osbx_spec* spec, int64_t bytes) {
  SetNumber(spec, &SpecBuilder::SetMemoryBytes, bytes);
}

void osbx_spec_set_disk_bytes(osbx_spec* spec, int64_t bytes) { SetNumber(spec, &SpecBuilder::SetDiskBytes, bytes); }

void osbx_spec_set_max_processes(osbx_spec* spec, int64_t count) {
  SetNumber(spec, &SpecBuilder::SetMaxProcesses, count);
}

void osbx_spec_set_idle_timeout_ms(osbx_spec* spec, int64_t ms) { SetNumber(spec, &SpecBuilder::SetIdleTimeoutMs, ms); }

void osbx_spec_set_max_age_ms(osbx_spec* spec, int64_t ms) { SetNumber(spec, &SpecBuilder::SetMaxAgeMs, ms); }

void osbx_spec_set_default_timeout_ms(osbx_spec* spec, int64_t ms) {
  SetNumber(spec, &SpecBuilder::SetDefaultTimeoutMs, ms);
}

void osbx_spec_set_max_timeout_ms(osbx_spec* spec, int64_t ms) { SetNumber(spec, &SpecBuilder::SetMaxTimeoutMs, ms); }

void osbx_spec_set_egress(osbx_spec* spec, uint32_t policy) { SetNumber(spec, &SpecBuilder::SetEgress, policy); }

void osbx_spec_set_allow_exec(osbx_spec* spec, int32_t allow) {
  SetNumber(spec, &SpecBuilder::SetAllowExec, allow != 0);
}

void osbx_spec_add_env(osbx_spec* spec, const char* key, const char* value) {
  GuardSetter(spec, [&](osbx_spec& handle) {
    if (key == nullptr || value == nullptr) return handle.builder.Refuse("environment: key or value is NULL");
    handle.builder.AddEnv(key, value);
  });
}

void osbx_spec_add_label(osbx_spec* spec, const char* key, const char* value) {
  GuardSetter(spec, [&](osbx_spec& handle) {
    if (key == nullptr || value == nullptr) return handle.builder.Refuse("label: key or value is NULL");
    handle.builder.AddLabel(key, value);
  });
}

void osbx_spec_free(osbx_spec* spec) { delete spec; }

}  // extern "C"
