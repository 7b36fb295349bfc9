// What the opaque types of osbx.h are. Each handle holds a shared reference, so that the order of frees never matters
// and a call that is under way keeps what it uses.
#ifndef OSBX_CAPI_HANDLES_H_
#define OSBX_CAPI_HANDLES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/cancel.h"
#include "base/log.h"
#include "contract/configuration.h"
#include "contract/contract_server.h"
#include "core/backend.h"
#include "core/command.h"
#include "core/result.h"
#include "core/sandbox.h"
#include "core/spec.h"
#include "docker/docker_backend.h"
#include "osbx.h"

namespace osbx::capi {

// What builders have in common: the first bad value sticks, and so does want of memory.
struct BuilderState {
  absl::Status first_error;
  bool out_of_memory = false;

  void Fail(absl::Status status) {
    if (first_error.ok()) first_error = std::move(status);
  }
  absl::Status Check() const {
    return out_of_memory ? base::Error(base::Code::kNoMemory, "out of memory in a setter") : first_error;
  }
};

}  // namespace osbx::capi

// One block of malloc() with the message behind it; trivial, so that the out-of-memory error can be a constant.
struct osbx_error {
  osbx_status code;
  int32_t http_status;
  const char* message;
};

struct osbx_cancel {
  std::shared_ptr<osbx::base::CancelToken> token = std::make_shared<osbx::base::CancelToken>();
};

struct osbx_config : osbx::capi::BuilderState {
  osbx::docker::DockerConfig docker;
};

struct osbx_backend {
  std::shared_ptr<osbx::core::Backend> backend;
};

struct osbx_spec : osbx::capi::BuilderState {
  osbx::core::SpecBuilder builder;  // keeps the first bad value itself
};

struct osbx_info {
  explicit osbx_info(osbx::core::Info known) : info(std::move(known)) {
    label_keys.reserve(info.labels.size());
    for (const auto& label : info.labels) label_keys.push_back(&label.first);
  }
  osbx_info(osbx_info&&) = default;
  osbx_info& operator=(osbx_info&&) = default;

  osbx::core::Info info;
  std::vector<const std::string*> label_keys;  // in the order of the keys' bytes; moving a map keeps its nodes
};

struct osbx_sandbox {
  std::shared_ptr<osbx::core::Sandbox> sandbox;
  osbx_info info;
};

struct osbx_list {
  std::vector<osbx_info> items;
};

struct osbx_command : osbx::capi::BuilderState {
  osbx::core::Command command;
};

struct osbx_result {
  osbx::core::Result result;
};

struct osbx_buffer {
  osbx::base::ByteBuffer bytes;
};

namespace osbx::capi {

inline base::Context ContextOf(const osbx_cancel* cancel) {
  return cancel != nullptr ? base::Context(cancel->token) : base::Context();
}

}  // namespace osbx::capi

struct osbx_contract : osbx::capi::BuilderState {
  osbx_contract() {
    // What is safe in any process: this machine alone, and a port that disturbs nobody.
    configuration.host = "127.0.0.1";
    configuration.port = 0;
  }
  osbx::contract::Configuration configuration;
  osbx::base::LogFunction log;
};

struct osbx_server {
  std::unique_ptr<osbx::contract::ContractServer> server;
};

#endif  // OSBX_CAPI_HANDLES_H_
