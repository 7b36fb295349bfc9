// Section 9 of osbx.h: the contract server, hosted in this process.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "capi/callbacks.h"
#include "capi/guard.h"
#include "capi/handles.h"

namespace osbx::capi {
namespace {

constexpr int64_t kMaxGraceMs = 86'400'000;

void SetPath(osbx_contract* contract, const char* path, std::string contract::Configuration::*field) {
  GuardSetter(contract, [&](osbx_contract& builder) {
    if (path == nullptr) return builder.Fail(NullArgument("path"));
    builder.configuration.*field = path;  // what a path must be is checked when the server starts
  });
}

}  // namespace
}  // namespace osbx::capi

using osbx::capi::Guard;
using osbx::capi::GuardSetter;
using osbx::capi::NullArgument;

extern "C" {

osbx_contract* osbx_contract_new(void) { return osbx::capi::GuardNew<osbx_contract>(); }

void osbx_contract_set_workspace(osbx_contract* contract, const char* path) {
  osbx::capi::SetPath(contract, path, &osbx::contract::Configuration::workspace);
}

void osbx_contract_set_shell(osbx_contract* contract, const char* path) {
  osbx::capi::SetPath(contract, path, &osbx::contract::Configuration::shell);
}

void osbx_contract_set_listen(osbx_contract* contract, const char* address) {
  GuardSetter(contract, [&](osbx_contract& builder) {
    if (address == nullptr) return builder.Fail(NullArgument("address"));
    absl::Status set = osbx::contract::SetListenAddress(address, builder.configuration);
    if (!set.ok()) builder.Fail(std::move(set));
  });
}

void osbx_contract_set_log(osbx_contract* contract, uint32_t level, osbx_log_callback callback, void* user_data,
                           osbx_destroy_callback destroy) {
  osbx::capi::SetLogCallback(
      contract, level, callback, user_data, destroy,
      [](osbx_contract& builder, osbx::base::LogLevel, osbx::base::LogFunction log) { builder.log = std::move(log); });
}

osbx_status osbx_contract_start(const osbx_contract* contract, osbx_server** out, osbx_error** err) {
  return Guard(out, err, [&]() -> absl::StatusOr<std::unique_ptr<osbx_server>> {
    if (contract == nullptr) return NullArgument("contract");
    OSBX_RETURN_IF_ERROR(contract->Check());
    auto server = std::make_unique<osbx_server>();
    OSBX_ASSIGN_OR_RETURN(server->server,
                          osbx::contract::ContractServer::Start(contract->configuration,
                                                                osbx::contract::ProcessOwner::kHost, contract->log));
    return server;
  });
}

void osbx_contract_free(osbx_contract* contract) { delete contract; }

const char* osbx_server_address(const osbx_server* server) {
  return server != nullptr ? server->server->address().c_str() : "";
}

void osbx_server_stop(osbx_server* server, int64_t grace_ms) {
  if (server == nullptr) return;
  server->server->Stop(std::chrono::milliseconds(std::clamp(grace_ms, int64_t{0}, osbx::capi::kMaxGraceMs)));
}

void osbx_server_free(osbx_server* server) { delete server; }

}  // extern "C"
