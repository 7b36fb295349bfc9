#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi_test.h"
#include "support/process_facts.h"
#include "support/scripted_daemon.h"

#define HEAD(status, size) \
  "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nContent-Length: " size "\r\nConnection: close\r\n\r\n"

/* The environment of this program is the tests' own. */
static void clear_environment(void) {
  unsetenv("DOCKER_HOST");
  unsetenv("DOCKER_TLS_VERIFY");
  unsetenv("DOCKER_CERT_PATH");
  unsetenv("DOCKER_API_VERSION");
}

static osbx_status list_at(osbx_backend *backend, osbx_error **error) {
  osbx_list *list = NULL;
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_cancel_set_timeout_ms(cancel, 20000);
  const osbx_status status = osbx_list_sandboxes(backend, 0, cancel, &list, error);
  osbx_cancel_free(cancel);
  osbx_list_free(list);
  osbx_backend_free(backend);
  return status;
}

static osbx_status new_with_host(const char *host, osbx_error **error) {
  osbx_config *config = osbx_config_new();
  osbx_backend *backend = NULL;
  osbx_config_set_docker_host(config, host);
  const osbx_status status = osbx_backend_new(config, &backend, error);
  osbx_config_free(config);
  osbx_backend_free(backend);
  return status;
}

static void test_backend__addresses_are_checked(void **state) {
  (void)state;
  clear_environment();
  char long_path[] =
      "unix:///0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
      "0123456";
  assert_int_equal(strlen(long_path) - strlen("unix://"), 108);
  osbx_error *error = NULL;
  assert_fails(new_with_host(long_path, &error), OSBX_E_INVALID, "107", error);
  long_path[strlen(long_path) - 1] = '\0';
  assert_ok(new_with_host(long_path, &error), error);
  assert_ok(new_with_host("tcp://127.0.0.1:1", &error), error);
  assert_ok(new_with_host("tcp://[::1]:2375", &error), error);
  static const char *const bad[] = {"",       "ssh://host",    "npipe:////./pipe", "unix://relative", "unix://",
                                    "tcp://", "tcp://h:0",     "tcp://h:65536",    "tcp://h:+1",      "/var/run/x.sock",
                                    "fd://0", "tcp://u:p@h:1", "tcp://h:1\n",      "unix:///a\xff"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    assert_fails(new_with_host(bad[i], &error), OSBX_E_INVALID, "", error);
  }
  assert_fails(new_with_host(NULL, &error), OSBX_E_INVALID, "docker host is NULL", error);
}

static void test_backend__other_settings_are_checked(void **state) {
  (void)state;
  clear_environment();
  osbx_error *error = NULL;
  osbx_backend *backend = NULL;
  static const struct {
    void (*set)(osbx_config *, const char *);
    const char *value;
    osbx_status expected;
  } table[] = {{osbx_config_set_docker_api_version, "1.41", OSBX_OK},
               {osbx_config_set_docker_api_version, "1.40", OSBX_E_INVALID},
               {osbx_config_set_docker_api_version, "1.9", OSBX_E_INVALID},
               {osbx_config_set_docker_api_version, "v1.41", OSBX_E_INVALID},
               {osbx_config_set_docker_api_version, "1", OSBX_E_INVALID},
               {osbx_config_set_docker_api_version, "", OSBX_E_INVALID},
               {osbx_config_set_docker_api_version, NULL, OSBX_E_INVALID},
               {osbx_config_set_docker_cert_path, "", OSBX_E_INVALID},
               {osbx_config_set_docker_cert_path, NULL, OSBX_E_INVALID}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    osbx_config *config = osbx_config_new();
    table[i].set(config, table[i].value);
    assert_int_equal(osbx_backend_new(config, &backend, &error), table[i].expected);
    osbx_error_free(error);
    osbx_backend_free(backend);
    osbx_config_free(config);
  }
}

static void test_backend__environment_is_read_and_config_wins(void **state) {
  (void)state;
  clear_environment();
  osbx_error *error = NULL;
  osbx_backend *backend = NULL;
  setenv("DOCKER_HOST", "ssh://host", 1);
  assert_fails(osbx_backend_new(NULL, &backend, &error), OSBX_E_INVALID, "", error);
  assert_ok(new_with_host("unix:///x", &error), error);

  setenv("DOCKER_HOST", "", 1); /* as if it were not set */
  assert_ok(osbx_backend_new(NULL, &backend, &error), error);
  osbx_backend_free(backend);

  setenv("DOCKER_API_VERSION", "v1.43", 1);
  assert_fails(osbx_backend_new(NULL, &backend, &error), OSBX_E_INVALID, "", error);
  osbx_config *config = osbx_config_new();
  osbx_config_set_docker_api_version(config, "1.43");
  assert_ok(osbx_backend_new(config, &backend, &error), error);
  osbx_backend_free(backend);
  osbx_config_free(config);

  clear_environment();
  setenv("DOCKER_HOST", "tcp://127.0.0.1:1", 1);
  setenv("DOCKER_TLS_VERIFY", "1", 1); /* TLS was asked for, and there are no certificates: never plain TCP */
  assert_fails(osbx_backend_new(NULL, &backend, &error), OSBX_E_INVALID, "", error);
  clear_environment();
}

static void test_backend__config_serves_many_and_may_be_freed(void **state) {
  (void)state;
  clear_environment();
  osbx_config *config = osbx_config_new();
  osbx_config_set_docker_host(config, "unix:///nonexistent/daemon");
  osbx_backend *backends[3];
  osbx_error *error = NULL;
  for (int i = 0; i < 3; ++i) assert_ok(osbx_backend_new(config, &backends[i], &error), error);
  osbx_config_free(config);
  for (int i = 0; i < 3; ++i) assert_fails(list_at(backends[i], &error), OSBX_E_UNREACHABLE, "", error);
}

static void test_backend__first_bad_setting_sticks(void **state) {
  (void)state;
  clear_environment();
  osbx_config *config = osbx_config_new();
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  osbx_config_set_docker_host(config, NULL);
  osbx_config_set_docker_host(config, "unix:///x");
  osbx_config_set_log(config, 9, NULL, NULL, NULL);
  assert_fails(osbx_backend_new(config, &backend, &error), OSBX_E_INVALID, "docker host", error);
  osbx_config_free(config);
}

static void test_backend__nobody_listens(void **state) {
  (void)state;
  osbx_error *error = NULL;
  assert_fails(list_at(unreachable_backend(), &error), OSBX_E_UNREACHABLE, "", error);
  assert_fails(list_at(backend_at("tcp://127.0.0.1:1"), &error), OSBX_E_UNREACHABLE, "", error);

  char path[] = "/tmp/osbx-test-file-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  char uri[64];
  snprintf(uri, sizeof(uri), "unix://%s", path);
  assert_fails(list_at(backend_at(uri), &error), OSBX_E_UNREACHABLE, "", error); /* no socket at all */
  unlink(path);

  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, path);
  const int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
  close(stale);
  assert_fails(list_at(backend_at(uri), &error), OSBX_E_UNREACHABLE, "", error); /* a socket that was left behind */
  unlink(path);
}

static void test_backend__socket_refuses_us(void **state) {
  (void)state;
  static const scripted_answer script[] = {{"", NULL}};
  scripted_daemon *daemon = scripted_daemon_start(script);
  assert_int_equal(chmod(scripted_daemon_path(daemon), 0600), 0);
  const pid_t child = fork();
  if (child == 0) { /* root may do everything, so somebody else has to try */
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    if (geteuid() == 0) _exit(98);
    osbx_list *list = NULL;
    osbx_backend *backend = NULL;
    osbx_config *config = osbx_config_new();
    osbx_config_set_docker_host(config, scripted_daemon_uri(daemon));
    if (osbx_backend_new(config, &backend, NULL) != OSBX_OK) _exit(97);
    _exit(-osbx_list_sandboxes(backend, 0, NULL, &list, NULL));
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (geteuid() == 0) assert_int_equal(-WEXITSTATUS(status), OSBX_E_PERMISSION);
  scripted_daemon_stop(daemon);
}

/* One daemon for one answer to the ping, and one to everything after it. */
static osbx_status list_with_answers(const char *ping, const char *rest, osbx_error **error) {
  const scripted_answer script[] = {{"/_ping", ping}, {"", rest}, {NULL, NULL}};
  scripted_daemon *daemon = scripted_daemon_start(script);
  const osbx_status status = list_at(backend_at(scripted_daemon_uri(daemon)), error);
  scripted_daemon_stop(daemon);
  return status;
}

static void test_backend__what_answers_is_no_docker_daemon(void **state) {
  (void)state;
  static const char *const garbage[] = {"SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 O"};
  for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); ++i) {
    osbx_error *error = NULL;
    const osbx_status status = list_with_answers(garbage[i], garbage[i], &error);
    if (status != OSBX_E_UNREACHABLE && status != OSBX_E_BACKEND) {
      fail_msg("answer %zu: %s: %s", i, osbx_status_name(status), osbx_error_message(error));
    }
    assert_string_not_equal(osbx_error_message(error), "");
    osbx_error_free(error);
  }
}

static void test_backend__nonsense_in_an_answer(void **state) {
  (void)state;
  static const char *const nonsense[] = {
      HEAD("200 OK", "2") "{}",    HEAD("200 OK", "4") "null", HEAD("200 OK", "5") "[1,2]",
      HEAD("200 OK", "1") "[",     HEAD("200 OK", "100") "[]", HEAD("200 OK", "0"),
      HEAD("200 OK", "5") "[] []", HEAD("302 Found", "0"),     HEAD("204 No Content", "0")};
  for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); ++i) {
    osbx_error *error = NULL;
    const osbx_status status = list_with_answers(SCRIPTED_PING, nonsense[i], &error);
    if (status != OSBX_E_BACKEND) {
      fail_msg("answer %zu: %s: %s", i, osbx_status_name(status), osbx_error_message(error));
    }
    osbx_error_free(error);
  }
}

static void test_backend__daemon_is_too_old(void **state) {
  (void)state;
  osbx_error *error = NULL;
  assert_fails(
      list_with_answers("HTTP/1.1 200 OK\r\nApi-Version: 1.40\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK",
                        HEAD("200 OK", "2") "[]", &error),
      OSBX_E_UNSUPPORTED, "1.4", error);
}

static void test_backend__empty_list_is_success(void **state) {
  (void)state;
  osbx_error *error = NULL;
  assert_ok(list_with_answers(SCRIPTED_PING, HEAD("200 OK", "2") "[]", &error), error);
}

static void test_backend__leaves_no_descriptor_and_no_thread(void **state) {
  (void)state;
  static const scripted_answer script[] = {{"/_ping", SCRIPTED_PING}, {"", HEAD("200 OK", "2") "[]"}, {NULL, NULL}};
  scripted_daemon *daemon = scripted_daemon_start(script);
  osbx_error *error = NULL;
  assert_ok(list_at(backend_at(scripted_daemon_uri(daemon)), &error), error);
  const int fds = process_fd_count();
  const int threads = process_thread_count();
  for (int i = 0; i < 50; ++i) {
    assert_ok(list_at(backend_at(scripted_daemon_uri(daemon)), &error), error);
    assert_fails(list_at(unreachable_backend(), &error), OSBX_E_UNREACHABLE, "", error);
  }
  assert_int_equal(process_fd_count(), fds);
  assert_true(process_thread_count_becomes(threads));
  scripted_daemon_stop(daemon);
}

/* A container with our label that is no sandbox of ours: listed by nothing, and the log says so. */
#define FOREIGN                                                                                             \
  "[{\"Id\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"Names\":[\"/foreign\"]," \
  "\"Image\":\"i\",\"State\":\"running\",\"Labels\":{\"osbx.managed\":\"1\"}}]"

struct log_seen {
  osbx_backend *backend; /* freed by the first line */
  int lines;
  int bad_lines;
  int destroyed;
  int lines_after_destroy;
};

static void take_line(void *user_data, uint32_t level, const char *message) {
  struct log_seen *seen = user_data;
  ++seen->lines;
  seen->lines_after_destroy += seen->destroyed;
  seen->bad_lines += level < OSBX_LOG_ERROR || level > OSBX_LOG_WARNING || strchr(message, '\n') != NULL;
  osbx_backend_free(seen->backend);
  seen->backend = NULL;
}

static void destroy_log(void *user_data) { ++((struct log_seen *)user_data)->destroyed; }

static void log_of_a_foreign_container(uint32_t level, struct log_seen *seen) {
  static char response[1024];
  snprintf(response, sizeof(response), HEAD("200 OK", "%zu") "%s", strlen(FOREIGN), FOREIGN);
  const scripted_answer script[] = {{"/_ping", SCRIPTED_PING}, {"", response}, {NULL, NULL}};
  scripted_daemon *daemon = scripted_daemon_start(script);
  osbx_config *config = osbx_config_new();
  osbx_config_set_docker_host(config, scripted_daemon_uri(daemon));
  osbx_config_set_log(config, level, take_line, seen, destroy_log);
  osbx_error *error = NULL;
  osbx_backend *backend = NULL;
  assert_ok(osbx_backend_new(config, &backend, &error), error);
  osbx_config_free(config);
  assert_int_equal(seen->destroyed, 0);
  seen->backend = backend;
  osbx_list *list = NULL;
  assert_ok(osbx_list_sandboxes(backend, 0, NULL, &list, &error), error);
  assert_int_equal(osbx_list_size(list), 0);
  assert_null(osbx_list_info(list, 0));
  osbx_list_free(list);
  osbx_backend_free(seen->backend);
  scripted_daemon_stop(daemon);
}

static void test_log__callback_may_free_the_backend(void **state) {
  (void)state;
  struct log_seen seen = {NULL, 0, 0, 0, 0};
  log_of_a_foreign_container(OSBX_LOG_WARNING, &seen);
  assert_int_equal(seen.lines, 1);
  assert_int_equal(seen.bad_lines, 0);
  assert_int_equal(seen.lines_after_destroy, 0);
  assert_int_equal(seen.destroyed, 1);
}

static void test_log__lines_below_the_level_are_dropped(void **state) {
  (void)state;
  struct log_seen seen = {NULL, 0, 0, 0, 0};
  log_of_a_foreign_container(OSBX_LOG_ERROR, &seen);
  assert_int_equal(seen.lines, 0);
  assert_int_equal(seen.destroyed, 1);
}

static void ignore_line(void *user_data, uint32_t level, const char *message) {
  (void)user_data;
  (void)level;
  (void)message;
}

static void test_log__user_data_is_destroyed_once(void **state) {
  (void)state;
  int first = 0;
  int second = 0;
  osbx_config *config = osbx_config_new();
  osbx_config_set_log(config, OSBX_LOG_DEBUG, ignore_line, &first, count_destroy);
  osbx_config_set_log(config, OSBX_LOG_DEBUG, ignore_line, &second, count_destroy);
  assert_int_equal(first, 1);
  osbx_config_set_log(config, 0, ignore_line, &first, count_destroy); /* no such level */
  assert_int_equal(first, 2);
  osbx_config_set_log(config, OSBX_LOG_DEBUG, NULL, &first, count_destroy);
  assert_int_equal(first, 3);
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  assert_fails(osbx_backend_new(config, &backend, &error), OSBX_E_INVALID, "log level", error);
  assert_int_equal(second, 0);
  osbx_config_free(config);
  assert_int_equal(second, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_backend__addresses_are_checked),
      cmocka_unit_test(test_backend__other_settings_are_checked),
      cmocka_unit_test(test_backend__environment_is_read_and_config_wins),
      cmocka_unit_test(test_backend__config_serves_many_and_may_be_freed),
      cmocka_unit_test(test_backend__first_bad_setting_sticks),
      cmocka_unit_test(test_backend__nobody_listens),
      cmocka_unit_test(test_backend__socket_refuses_us),
      cmocka_unit_test(test_backend__what_answers_is_no_docker_daemon),
      cmocka_unit_test(test_backend__nonsense_in_an_answer),
      cmocka_unit_test(test_backend__daemon_is_too_old),
      cmocka_unit_test(test_backend__empty_list_is_success),
      cmocka_unit_test(test_backend__leaves_no_descriptor_and_no_thread),
      cmocka_unit_test(test_log__callback_may_free_the_backend),
      cmocka_unit_test(test_log__lines_below_the_level_are_dropped),
      cmocka_unit_test(test_log__user_data_is_destroyed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
