// /containers/{id}/exec and /exec/{id}/... (Docker Engine API, "Exec").
#ifndef OSBX_ENGINE_EXEC_CALLS_H_
#define OSBX_ENGINE_EXEC_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/client.h"

namespace osbx::engine {

struct ExecConfig {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // KEY=value
  std::string user;              // numeric uid:gid
  std::string working_dir;
  bool attach_stdin = false;
  bool tty = false;
};

// POST /containers/{id}/exec; stdout and stderr are attached. Gives the exec's id. kNotFound: no such container;
// kConflict: it is not running (or paused); a Podman 500 "container state improper" is kConflict too.
Call<std::string> CreateExec(const std::string& container, const ExecConfig& config);

// POST /exec/{id}/start as a raw stream both ways, on the calling thread. `tty` as it was at create: the stream is then
// the terminal's bytes, else it is multiplexed.
absl::StatusOr<std::unique_ptr<base::DuplexStream>> StartExec(Client& client, const std::string& exec,
                                                              const base::Context& context, bool tty = false);

// POST /exec/{id}/start without upgrade: ends when the command's output ends. The output (both streams, demultiplexed
// and joined, first 64 KiB) is the result, also of a stream that breaks off inside a frame; more than 1 MiB on the wire
// is kTooLarge. For small commands of our own.
Call<std::string> RunExec(const std::string& exec);

struct ExecState {
  bool running = false;
  std::optional<int64_t> exit_code;  // nothing until it has ended, nor where the engine does not say
  int64_t pid = -1;                  // on the host; 0 before it has a process, -1 where the engine does not say
};
// GET /exec/{id}/json
Call<ExecState> InspectExec(const std::string& exec);

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_EXEC_CALLS_H_
