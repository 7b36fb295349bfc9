// An nginx of our own: one process, its own configuration, port and folders, and nothing of the system's service.
#ifndef OSBX_BENCH_NGINX_PROGRAM_H_
#define OSBX_BENCH_NGINX_PROGRAM_H_

#include <memory>
#include <string>

#include "bench/child_program.h"

namespace osbx::bench {

class NginxProgram {
 public:
  // Serves `directory`/files under /files/, GET and PUT, and GET /healthz; its own files are in `directory` as well.
  NginxProgram(const std::string& nginx, const std::string& directory);

  int port() const { return port_; }

 private:
  int port_ = 0;
  std::unique_ptr<ChildProgram> program_;
};

}  // namespace osbx::bench

#endif  // OSBX_BENCH_NGINX_PROGRAM_H_
