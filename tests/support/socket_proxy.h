// A unix socket in front of a daemon's own that passes everything on, until a rule says otherwise: cut here, stall
// there, answer in the daemon's place. Knows just enough HTTP to tell one request from the next.
//
//   SocketProxy proxy("/run/docker.sock");
//   int start = proxy.AddRule(ProxyRule("POST", "/exec/.*/start", ProxyRule::Action::kCutResponse).At(300));
//   ... osbx_config_set_docker_host(config, proxy.uri().c_str()) ...
//   EXPECT_TRUE(proxy.WaitForHits(start, 1));
//
// Uses none of the library, so that it shares no defect with what it tests.
#ifndef OSBX_TESTS_SUPPORT_SOCKET_PROXY_H_
#define OSBX_TESTS_SUPPORT_SOCKET_PROXY_H_

#include <climits>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace osbx::testing {

struct ProxyRule {
  enum class Action {
    kForward,        // counts only
    kAnswer,         // `answer` is sent in the daemon's place, which never sees the request; then the end
    kSilence,        // the daemon never sees it, and no answer ever comes
    kRefuse,         // the connection is closed, and the daemon never sees it
    kHoldRequest,    // passed on once Release() was called
    kHoldResponse,   // the daemon sees it; what it says is passed on once Release() was called
    kCutResponse,    // both sides are closed after `at_byte` bytes of the response
    kStallResponse,  // after `at_byte` bytes of the response nothing more comes from the daemon
    kCutRequest,     // both sides are closed after `at_byte` bytes behind the request's head
    kStallRequest,   // after `at_byte` bytes behind its head nothing more goes to the daemon
  };
  std::string method;  // "" is any
  std::string target;  // a regular expression, searched for in the request's target; "" is any
  Action action = Action::kForward;
  size_t at_byte = 0;
  bool behind_head = false;  // `at_byte` of a response counts from behind its head
  std::string answer = {};
  int skip = 0;         // lets so many requests pass first
  int times = INT_MAX;  // and holds for so many

  ProxyRule() = default;
  ProxyRule(std::string of_method, std::string of_target, Action what = Action::kForward)
      : method(std::move(of_method)), target(std::move(of_target)), action(what) {}
  ProxyRule& At(size_t byte) { return at_byte = byte, *this; }
  ProxyRule& BehindHead(size_t byte) { return at_byte = byte, behind_head = true, *this; }
  ProxyRule& Answer(std::string bytes) { return answer = std::move(bytes), *this; }
  ProxyRule& Skip(int count) { return skip = count, *this; }
  ProxyRule& Times(int count) { return times = count, *this; }
};

class SocketProxy {
 public:
  explicit SocketProxy(const std::string& daemon_socket);
  ~SocketProxy();
  SocketProxy(const SocketProxy&) = delete;
  SocketProxy& operator=(const SocketProxy&) = delete;

  std::string uri() const;  // as for DOCKER_HOST

  // The first rule that matches counts. They hold for requests whose head has not passed yet.
  int AddRule(ProxyRule rule);
  void ClearRules();
  void Release(int rule);

  // A hit is the moment when the rule shows: the head was seen, or `at_byte` reached. At most 30 seconds.
  bool WaitForHits(int rule, int count);
  int Hits(int rule);

  // As if the daemon died: every connection is broken and new ones are refused, until Revive().
  void Die();
  void Revive();

  int open_connections();
  // At most 30 seconds.
  bool WaitForNoConnections();

 private:
  struct Shared;
  struct Connection;
  void Listen();
  void StopListening();

  std::unique_ptr<Shared> shared_;
};

// An answer as the engine gives one.
std::string ProxyAnswer(int status, const std::string& json);

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_SOCKET_PROXY_H_
