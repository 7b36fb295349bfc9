// Section 6 of osbx.h: sandboxes made, found, stopped and removed, and what is known of them.
#include <algorithm>
#include <string>

#include "capi/guard.h"
#include "capi/handles.h"

namespace osbx::capi {
namespace {

// A name from the caller, checked.
absl::StatusOr<std::string> NameOf(const char* name) {
  if (name == nullptr) return NullArgument("name");
  OSBX_RETURN_IF_ERROR(core::ValidateSandboxName(name));
  return std::string(name);
}

absl::StatusOr<std::unique_ptr<osbx_sandbox>> HandleOf(absl::StatusOr<std::shared_ptr<core::Sandbox>> sandbox) {
  OSBX_RETURN_IF_ERROR(sandbox.status());
  osbx_info info((*sandbox)->info());
  return std::unique_ptr<osbx_sandbox>(new osbx_sandbox{*std::move(sandbox), std::move(info)});
}

}  // namespace
}  // namespace osbx::capi

using osbx::capi::CheckFlags;
using osbx::capi::ContextOf;
using osbx::capi::Guard;
using osbx::capi::NullArgument;

extern "C" {

osbx_status osbx_create(osbx_backend* backend, const char* name, const osbx_spec* spec, osbx_cancel* cancel,
                        osbx_sandbox** out, osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_sandbox>> {
    if (backend == nullptr) return NullArgument("backend");
    if (spec == nullptr) return NullArgument("spec");
    OSBX_ASSIGN_OR_RETURN(const std::string checked_name, osbx::capi::NameOf(name));
    OSBX_RETURN_IF_ERROR(spec->Check());
    const std::shared_ptr<osbx::core::Backend> in_use = backend->backend;
    const osbx::base::Context context = ContextOf(cancel);
    OSBX_RETURN_IF_ERROR(context.Check());
    return osbx::capi::HandleOf(in_use->Create(checked_name, spec->builder, context));
  });
}

osbx_status osbx_open(osbx_backend* backend, const char* name, uint32_t flags, osbx_cancel* cancel, osbx_sandbox** out,
                      osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_sandbox>> {
    if (backend == nullptr) return NullArgument("backend");
    OSBX_ASSIGN_OR_RETURN(const std::string checked_name, osbx::capi::NameOf(name));
    OSBX_RETURN_IF_ERROR(CheckFlags(flags));
    const std::shared_ptr<osbx::core::Backend> in_use = backend->backend;
    const osbx::base::Context context = ContextOf(cancel);
    OSBX_RETURN_IF_ERROR(context.Check());
    return osbx::capi::HandleOf(in_use->Open(checked_name, context));
  });
}

osbx_status osbx_list_sandboxes(osbx_backend* backend, uint32_t flags, osbx_cancel* cancel, osbx_list** out,
                                osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_list>> {
    if (backend == nullptr) return NullArgument("backend");
    OSBX_RETURN_IF_ERROR(CheckFlags(flags));
    const std::shared_ptr<osbx::core::Backend> in_use = backend->backend;
    const osbx::base::Context context = ContextOf(cancel);
    OSBX_RETURN_IF_ERROR(context.Check());
    OSBX_ASSIGN_OR_RETURN(std::vector<osbx::core::Info> found, in_use->List(context));
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    auto list = std::make_unique<osbx_list>();
    list->items.reserve(found.size());
    for (osbx::core::Info& info : found) list->items.emplace_back(std::move(info));
    return list;
  });
}

osbx_status osbx_destroy(osbx_backend* backend, const char* name, uint32_t flags, osbx_cancel* cancel,
                         osbx_error** err) {
  return Guard(err, [&]() -> absl::Status {
    if (backend == nullptr) return NullArgument("backend");
    OSBX_ASSIGN_OR_RETURN(const std::string checked_name, osbx::capi::NameOf(name));
    OSBX_RETURN_IF_ERROR(CheckFlags(flags));
    const std::shared_ptr<osbx::core::Backend> in_use = backend->backend;
    const osbx::base::Context context = ContextOf(cancel);
    OSBX_RETURN_IF_ERROR(context.Check());
    return in_use->Destroy(checked_name, context);
  });
}

osbx_status osbx_stop(osbx_sandbox* sandbox, uint32_t flags, osbx_cancel* cancel, osbx_error** err) {
  return Guard(err, [&]() -> absl::Status {
    if (sandbox == nullptr) return NullArgument("sandbox");
    OSBX_RETURN_IF_ERROR(CheckFlags(flags));
    const std::shared_ptr<osbx::core::Sandbox> in_use = sandbox->sandbox;
    const osbx::base::Context context = ContextOf(cancel);
    OSBX_RETURN_IF_ERROR(context.Check());
    return in_use->Stop(context);
  });
}

const osbx_info* osbx_sandbox_info(const osbx_sandbox* sandbox) {
  return sandbox != nullptr ? &sandbox->info : nullptr;
}

void osbx_sandbox_free(osbx_sandbox* sandbox) { delete sandbox; }

size_t osbx_list_size(const osbx_list* list) { return list != nullptr ? list->items.size() : 0; }

const osbx_info* osbx_list_info(const osbx_list* list, size_t index) {
  return index < osbx_list_size(list) ? &list->items[index] : nullptr;
}

void osbx_list_free(osbx_list* list) { delete list; }

const char* osbx_info_name(const osbx_info* info) { return info != nullptr ? info->info.name.c_str() : ""; }

const char* osbx_info_id(const osbx_info* info) { return info != nullptr ? info->info.id.c_str() : ""; }

const char* osbx_info_image(const osbx_info* info) { return info != nullptr ? info->info.image.c_str() : ""; }

uint32_t osbx_info_state(const osbx_info* info) {
  return info != nullptr ? static_cast<uint32_t>(info->info.state) : 0;
}

int64_t osbx_info_created_ms(const osbx_info* info) { return info != nullptr ? info->info.created_ms : 0; }

const char* osbx_info_label(const osbx_info* info, const char* key) {
  if (info == nullptr || key == nullptr) return nullptr;
  // Not a lookup in the map: that would build a string, and an accessor must not need memory.
  const auto found = std::lower_bound(info->label_keys.begin(), info->label_keys.end(), std::string_view(key),
                                      [](const std::string* have, std::string_view want) { return *have < want; });
  if (found == info->label_keys.end() || **found != key) return nullptr;
  return info->info.labels.find(**found)->second.c_str();
}

size_t osbx_info_label_count(const osbx_info* info) { return info != nullptr ? info->label_keys.size() : 0; }

const char* osbx_info_label_key(const osbx_info* info, size_t index) {
  return index < osbx_info_label_count(info) ? info->label_keys[index]->c_str() : nullptr;
}

}  // extern "C"
