// What the parts of the Docker backend share: the engine, and what is remembered about it.
#ifndef OSBX_DOCKER_DOCKER_ENGINE_H_
#define OSBX_DOCKER_DOCKER_ENGINE_H_

#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "docker/exit_watch.h"
#include "docker/runtime_check.h"
#include "engine/client.h"

namespace osbx::docker {

struct DockerEngine {
  DockerEngine(std::shared_ptr<engine::Client> engine_client, base::LogLevel level, base::LogFunction function)
      : client(std::move(engine_client)), runtimes(*client), log_level(level), log(std::move(function)) {}

  void Log(base::LogLevel level, const std::string& message) const {
    if (log && level <= log_level) log(level, message);
  }

  const std::shared_ptr<engine::Client> client;
  ExitWatches watches;
  RuntimeCheck runtimes;
  const base::LogLevel log_level;
  const base::LogFunction log;
};

}  // namespace osbx::docker

#endif  // OSBX_DOCKER_DOCKER_ENGINE_H_
