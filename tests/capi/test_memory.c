/* Want of memory is an error code, wherever it strikes: each allocation of a scenario fails once.
 *
 * This program's own malloc stands before the C library's for everything loaded with it, libosbx.so included. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "capi_test.h"
#include "support/scripted_daemon.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

/* Of the calling thread: the allocation that fails, counted from 1; 0 for none. */
static __thread long countdown;
static __thread int struck;

static int fails_now(void) {
  if (countdown == 0 || --countdown != 0) return 0;
  struck = 1;
  errno = ENOMEM;
  return 1;
}

/* Seen by the libraries, though everything else in a program here is hidden. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *malloc(size_t size) { return fails_now() ? NULL : __libc_malloc(size); }
EXPORTED void *calloc(size_t count, size_t size) { return fails_now() ? NULL : __libc_calloc(count, size); }
EXPORTED void *realloc(void *block, size_t size) { return fails_now() ? NULL : __libc_realloc(block, size); }

/* Runs `scenario` with its first, second, ... allocation failing, until it needs no more. */
static void with_each_failure(void (*scenario)(void), long at_least) {
  long n = 1;
  for (;; ++n) {
    countdown = n;
    struck = 0;
    scenario();
    countdown = 0;
    if (!struck) break;
    assert_true(n < 100000);
  }
  if (n <= at_least) fail_msg("only %ld allocations: the failures do not reach the library", n - 1);
}

/* The result of a call under memory shortage: it went well, or says what was wrong; `also` is what it gives with enough
 * memory. cmocka's own asserts allocate, so they come when the shortage is over. */
static void check(osbx_status status, osbx_error *error, osbx_status also) {
  const long left = countdown;
  countdown = 0;
  if (status != also && !(struck && status == OSBX_E_NO_MEMORY)) {
    fail_msg("%s: %s", osbx_status_name(status), osbx_error_message(error));
  }
  assert_int_equal(osbx_error_code(error), status);
  if (status != OSBX_OK) assert_string_not_equal(osbx_error_message(error), "");
  osbx_error_free(error);
  osbx_error_free(status == OSBX_E_NO_MEMORY ? error : NULL); /* static: freeing it does nothing, ever so often */
  countdown = left;
}

static int64_t read_nothing(void *user_data, uint8_t *buffer, size_t capacity) {
  (void)user_data;
  (void)buffer;
  (void)capacity;
  return 0;
}

static int32_t write_nothing(void *user_data, uint32_t stream, const uint8_t *data, size_t size) {
  (void)user_data;
  (void)stream;
  (void)data;
  (void)size;
  return 0;
}

static void ignore_line(void *user_data, uint32_t level, const char *message) {
  (void)user_data;
  (void)level;
  (void)message;
}

static const char long_text[] = "a text that is too long for the small buffer of a string, so that it is allocated";

static void build_and_fail_to_create(void) {
  int destroyed = 0;
  osbx_config *config = osbx_config_new();
  osbx_config_set_docker_host(config, "unix:///nonexistent/a/path/that/is/long/enough/to/be/allocated");
  osbx_config_set_log(config, OSBX_LOG_DEBUG, ignore_line, &destroyed, count_destroy);
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  osbx_status status = osbx_backend_new(config, &backend, &error);
  check(status, error, OSBX_OK);
  osbx_config_free(config);

  osbx_spec *spec = osbx_spec_new();
  osbx_spec_set_image(spec, "registry.example/an/image/with/a/long/name:and-a-tag");
  osbx_spec_add_env(spec, "KEY", long_text);
  osbx_spec_add_env(spec, "KEY", "again");
  osbx_spec_add_label(spec, long_text, long_text);
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_cancel_set_timeout_ms(cancel, 60000);
  if (config != NULL && backend != NULL && spec != NULL) {
    osbx_sandbox *sandbox = NULL;
    error = NULL;
    status = osbx_create(backend, "a sandbox", spec, cancel, &sandbox, &error);
    check(status, error, OSBX_E_UNREACHABLE);
    osbx_sandbox_free(sandbox);
  }
  osbx_cancel_free(cancel);
  osbx_spec_free(spec);
  osbx_backend_free(backend);
  countdown = 0;
  assert_int_equal(destroyed, 1);
}

static void test_memory__create_reports_each_shortage(void **state) {
  (void)state;
  with_each_failure(build_and_fail_to_create, 20);
}

static void build_commands(void) {
  int destroyed = 0;
  const char *argv[] = {"program", long_text};
  osbx_command *command = osbx_command_new(argv, 2);
  osbx_command_add_env(command, "KEY", long_text);
  osbx_command_set_directory(command, "/a/directory/that/is/long/enough/to/be/allocated");
  osbx_command_set_stdin_bytes(command, (const uint8_t *)long_text, sizeof(long_text));
  osbx_command_set_stdin_reader(command, read_nothing, &destroyed, count_destroy);
  osbx_command_set_output(command, write_nothing, &destroyed, count_destroy);
  osbx_command_free(command);
  countdown = 0;
  assert_int_equal(destroyed, 2);
}

static void test_memory__user_data_is_destroyed_once(void **state) {
  (void)state;
  with_each_failure(build_commands, 5);
}

static scripted_daemon *daemon_with_answers;

static void list_from_the_daemon(void) {
  osbx_config *config = osbx_config_new();
  osbx_config_set_docker_host(config, scripted_daemon_uri(daemon_with_answers));
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  osbx_status status = osbx_backend_new(config, &backend, &error);
  check(status, error, OSBX_OK);
  if (config != NULL && backend != NULL) {
    osbx_list *list = NULL;
    error = NULL;
    status = osbx_list_sandboxes(backend, 0, NULL, &list, &error);
    check(status, error, OSBX_OK);
    osbx_list_free(list);
  }
  osbx_backend_free(backend);
  osbx_config_free(config);
}

static void test_memory__list_reports_each_shortage(void **state) {
  (void)state;
  static const scripted_answer script[] = {
      {"/_ping", SCRIPTED_PING},
      {"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"},
      {NULL, NULL}};
  daemon_with_answers = scripted_daemon_start(script);
  with_each_failure(list_from_the_daemon, 20);
  scripted_daemon_stop(daemon_with_answers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory__create_reports_each_shortage),
      cmocka_unit_test(test_memory__user_data_is_destroyed_once),
      cmocka_unit_test(test_memory__list_reports_each_shortage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
