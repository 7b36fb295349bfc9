#include "bench/nginx_program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace osbx::bench {
namespace {

// %D and %P are filled in. One process that does all, so that there is one to end; it is the event loop of a worker.
// The limits that would end a connection are out of the way, and a large body is taken in pieces as large as ours.
const char kConfiguration[] = R"(
daemon off;
master_process off;
pid %D/nginx.pid;
error_log %D/error.log error;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path %D/body;
  proxy_temp_path %D/proxy;
  fastcgi_temp_path %D/fastcgi;
  uwsgi_temp_path %D/uwsgi;
  scgi_temp_path %D/scgi;
  default_type application/octet-stream;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  keepalive_timeout 600s;
  client_max_body_size 0;
  client_body_buffer_size 256k;
  server {
    listen 127.0.0.1:%P;
    location = /healthz {
      default_type application/json;
      return 200 '{"status":"ok"}';
    }
    location /files/ {
      root %D;
      dav_methods PUT;
      create_full_put_path on;
    }
  }
}
)";

bool Connected(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(socket);
  return connected;
}

// Free a moment ago: nginx takes no port 0.
int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    FailWithErrno("no free port");
  }
  close(socket);
  return ntohs(address.sin_port);
}

}  // namespace

NginxProgram::NginxProgram(const std::string& nginx, const std::string& directory) : port_(FreePort()) {
  mkdir((directory + "/files").c_str(), 0755);
  std::string text;
  for (const char* at = kConfiguration; *at != '\0'; ++at) {
    if (at[0] != '%') {
      text += *at;
    } else {
      text += *++at == 'D' ? directory : std::to_string(port_);
    }
  }
  const std::string path = directory + "/nginx.conf";
  std::ofstream(path) << text;
  const std::string log = directory + "/error.log";
  program_ = std::make_unique<ChildProgram>(std::vector<std::string>{nginx, "-p", directory, "-e", log, "-c", path},
                                            std::vector<std::string>{});
  Await("nginx listens", [this] { return Connected(port_); });
}

}  // namespace osbx::bench
