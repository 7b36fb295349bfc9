#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi_test.h"
#include "support/process_facts.h"

static osbx_contract *contract_in(const char *workspace) {
  osbx_contract *contract = osbx_contract_new();
  osbx_contract_set_workspace(contract, workspace);
  return contract;
}

/* The answer to one request, on a connection of its own. */
static void ask(const osbx_server *server, const char *request, char *answer, size_t capacity) {
  const char *address = osbx_server_address(server);
  assert_int_equal(strncmp(address, "127.0.0.1:", 10), 0);
  struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(address + 10))};
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&peer, sizeof peer), 0);
  assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
  size_t size = 0;
  for (ssize_t count; size + 1 < capacity && (count = recv(fd, answer + size, capacity - size - 1, 0)) > 0;) {
    size += (size_t)count;
  }
  answer[size] = '\0';
  close(fd);
}

static void round_of(void) {
  osbx_contract *contract = contract_in("/tmp");
  osbx_server *server = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_contract_start(contract, &server, &error), error);
  osbx_contract_free(contract);
  char answer[4096];
  ask(server, "GET /healthz HTTP/1.0\r\n\r\n", answer, sizeof answer);
  assert_non_null(strstr(answer, "{\"status\":\"ok\"}"));
  const char request[] = "POST /execute HTTP/1.0\r\nContent-Length: 31\r\n\r\n{\"command\": \"echo $((6 * 7));\"}\n";
  ask(server, request, answer, sizeof answer);
  assert_non_null(strstr(answer, "\"stdout\":\"42\\n\""));
  osbx_server_stop(server, 1000);
  osbx_server_stop(server, 1000);
  osbx_server_free(server);
}

static void test_contract__answers_and_stops(void **state) {
  (void)state;
  round_of(); /* what is made once, by a sanitizer for one, is there then */
  const int fds = process_fd_count();
  const int threads = process_thread_count();
  round_of();
  assert_true(process_thread_count_becomes(threads));
  assert_int_equal(process_fd_count(), fds);
  errno = 0;
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and no child is left for us to find */
  assert_int_equal(errno, ECHILD);
}

static void test_contract__bad_configuration(void **state) {
  (void)state;
  static const struct {
    const char *workspace, *shell, *listen;
    osbx_status expected;
    const char *says;
  } cases[] = {
      {"relative", "/bin/sh", "127.0.0.1:0", OSBX_E_INVALID, "workspace"},
      {"/tmp", "sh", "127.0.0.1:0", OSBX_E_INVALID, "shell"},
      {"/tmp", "/bin/sh", "localhost:0", OSBX_E_INVALID, "listen address"},
      {"/nonexistent", "/bin/sh", "127.0.0.1:0", OSBX_E_NOT_FOUND, "/nonexistent"},
      {"/tmp", "/nonexistent/sh", "127.0.0.1:0", OSBX_E_NOT_FOUND, "shell"},
      {"/tmp", "/bin/sh", "192.0.2.1:0", OSBX_E_INVALID, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    osbx_contract *contract = contract_in(cases[i].workspace);
    osbx_contract_set_shell(contract, cases[i].shell);
    osbx_contract_set_listen(contract, cases[i].listen);
    osbx_server *server = NULL;
    osbx_error *error = NULL;
    assert_fails(osbx_contract_start(contract, &server, &error), cases[i].expected, cases[i].says, error);
    assert_null(server);
    osbx_contract_free(contract);
  }
  osbx_server *server = NULL;
  osbx_error *error = NULL;
  assert_fails(osbx_contract_start(NULL, &server, &error), OSBX_E_INVALID, "contract", error);
  osbx_contract_set_workspace(NULL, "/tmp");
  osbx_contract *contract = osbx_contract_new();
  osbx_contract_set_workspace(contract, NULL);
  assert_fails(osbx_contract_start(contract, &server, &error), OSBX_E_INVALID, "path", error);
  osbx_contract_free(contract);
  osbx_contract_free(NULL);
  osbx_server_stop(NULL, 0);
  osbx_server_free(NULL);
  assert_string_equal(osbx_server_address(NULL), "");
}

static void test_contract__taken_port(void **state) {
  (void)state;
  osbx_contract *contract = contract_in("/tmp");
  osbx_server *first = NULL;
  osbx_server *second = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_contract_start(contract, &first, &error), error);
  osbx_contract_set_listen(contract, osbx_server_address(first));
  assert_fails(osbx_contract_start(contract, &second, &error), OSBX_E_CONFLICT, "", error);
  osbx_server_free(first);
  assert_ok(osbx_contract_start(contract, &second, &error), error); /* the port is free again */
  osbx_server_free(second);
  osbx_contract_free(contract);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contract__answers_and_stops),
      cmocka_unit_test(test_contract__bad_configuration),
      cmocka_unit_test(test_contract__taken_port),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
