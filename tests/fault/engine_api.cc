#include "fault/engine_api.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace osbx::testing {
namespace {

void MustRun(const std::string& command) {
  if (std::system(command.c_str()) == 0) return;
  std::fprintf(stderr, "failed: %s\n", command.c_str());
  std::abort();
}

}  // namespace

ApiAnswer CallEngine(const std::string& socket_path, const std::string& method, const std::string& target,
                     const std::string& json) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  ApiAnswer answer;
  std::string text;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = method + " " + target +
                                " HTTP/1.0\r\nHost: engine\r\nContent-Type: application/json\r\n" +
                                "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json;
    (void)send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[16384];
    for (ssize_t got = 0; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
      text.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos || text.size() < 12) return answer;
  answer.status = std::atoi(text.c_str() + 9);
  answer.body = text.substr(end + 4);
  return answer;
}

int CountContainers(const std::string& socket_path, const std::string& part) {
  const std::string body = CallEngine(socket_path, "GET", "/containers/json?all=1").body;
  int count = 0;
  for (size_t at = body.find("\"Names\""); at != std::string::npos; at = body.find("\"Names\"", at + 1)) {
    const std::string names = body.substr(at, body.find(']', at) - at);
    if (names.find(part) != std::string::npos) ++count;
  }
  return count;
}

DisposableEngine::DisposableEngine(const std::string& name, const std::string& options) : name_(name) {
  MustRun(std::string(OSBX_SOURCE_DIR) + "/scripts/engine up " + name + " " + options + " >&2");
  const char* run = std::getenv("OSBX_ENGINE_RUN");
  socket_ = std::string(run == nullptr ? "/run/osbx-engine" : run) + "/" + name + "/docker.sock";
}

DisposableEngine::~DisposableEngine() {
  const std::string command = std::string(OSBX_SOURCE_DIR) + "/scripts/engine down " + name_ + " --purge >&2";
  if (std::system(command.c_str()) != 0) std::fprintf(stderr, "failed: %s\n", command.c_str());
}

std::string DisposableEngine::tls_host() const {
  return FirstLineOf(std::string(OSBX_SOURCE_DIR) + "/scripts/engine env " + name_ +
                     " | sed -n 's/^export DOCKER_HOST=//p'");
}

std::string DisposableEngine::cert_path() const {
  return FirstLineOf(std::string(OSBX_SOURCE_DIR) + "/scripts/engine env " + name_ +
                     " | sed -n 's/^export DOCKER_CERT_PATH=//p'");
}

pid_t DisposableEngine::daemon_pid() const {
  return std::atoi(FirstLineOf("cat " + socket_.substr(0, socket_.rfind('/')) + "/docker.pid").c_str());
}

void DisposableEngine::KillDaemon() const {
  const pid_t pid = daemon_pid();
  if (pid <= 1 || kill(pid, SIGKILL) != 0) std::abort();
}

std::string FirstLineOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return "";
  char line[4096] = "";
  if (std::fgets(line, sizeof(line), pipe) == nullptr) line[0] = '\0';
  while (std::fgetc(pipe) != EOF) {
  }
  pclose(pipe);
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}

}  // namespace osbx::testing
