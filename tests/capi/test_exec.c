#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "capi_test.h"
#include "support/engine_fixture.h"
#include "support/process_facts.h"

static osbx_result *run(osbx_command *command, osbx_cancel *cancel) {
  osbx_result *result = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_exec(engine_shared_sandbox(), command, cancel, &result, &error), error);
  assert_non_null(result);
  osbx_command_free(command);
  return result;
}

static void assert_output(const osbx_result *result, uint32_t stream, const char *expected) {
  size_t size = 0;
  const uint8_t *bytes = osbx_result_output(result, stream, &size);
  if (size != strlen(expected) || memcmp(bytes, expected, size) != 0) {
    fail_msg("stream %u: \"%.*s\", not \"%s\"", stream, (int)size, (const char *)bytes, expected);
  }
}

static void assert_end(const osbx_result *result, uint32_t reason, int exit_code) {
  if (osbx_result_reason(result) != reason) fail_msg("ended by %s", osbx_end_reason_name(osbx_result_reason(result)));
  assert_int_equal(osbx_result_exit_code(result), exit_code);
}

static void test_exec__streams_stay_apart(void **state) {
  (void)state;
  osbx_result *result = run(engine_shell("echo out; echo err >&2"), NULL);
  assert_end(result, OSBX_END_EXITED, 0);
  assert_int_equal(osbx_result_signal(result), 0);
  assert_output(result, OSBX_STDOUT, "out\n");
  assert_output(result, OSBX_STDERR, "err\n");
  size_t size = 9;
  assert_non_null(osbx_result_output(result, 3, &size));
  assert_int_equal(size, 0);
  assert_non_null(osbx_result_output(result, OSBX_STDOUT, NULL));
  assert_int_equal(osbx_result_truncated(result, OSBX_STDOUT), 0);
  assert_int_equal(osbx_result_truncated(result, 3), 0);
  osbx_result_free(result);
}

static void test_exec__nonzero_exit_is_a_result(void **state) {
  (void)state;
  osbx_result *result = run(engine_shell("exit 124"), NULL);
  assert_end(result, OSBX_END_EXITED, 124);
  osbx_result_free(result);
}

static void test_exec__death_by_signal_is_a_result(void **state) {
  (void)state;
  osbx_result *result = run(engine_shell("kill -9 $$"), NULL);
  assert_end(result, OSBX_END_SIGNALLED, 137);
  assert_int_equal(osbx_result_signal(result), 9);
  osbx_result_free(result);
}

static void test_exec__program_that_cannot_start_is_a_result(void **state) {
  (void)state;
  const char *missing[] = {"/no/such/program"};
  osbx_result *result = run(osbx_command_new(missing, 1), NULL);
  assert_end(result, OSBX_END_EXITED, 127);
  assert_output(result, OSBX_STDOUT, "");
  osbx_result_free(result);
  const char *folder[] = {"/etc"};
  result = run(osbx_command_new(folder, 1), NULL);
  assert_end(result, OSBX_END_EXITED, 126);
  assert_output(result, OSBX_STDOUT, "");
  osbx_result_free(result);
}

static void test_exec__argv_is_not_a_shell_line(void **state) {
  (void)state;
  const char *argv[] = {"printf", "%s|", "$HOME; rm -rf /", "", "a b", "\xE2\x82\xAC'\"\\"};
  osbx_result *result = run(osbx_command_new(argv, 6), NULL);
  assert_output(result, OSBX_STDOUT, "$HOME; rm -rf /||a b|\xE2\x82\xAC'\"\\|");
  osbx_result_free(result);
}

static void test_exec__environment_and_directory(void **state) {
  (void)state;
  osbx_command *command = engine_shell("printf '%s %s' \"$PWD\" \"$KEY\"");
  osbx_command_add_env(command, "KEY", "first");
  osbx_command_add_env(command, "KEY", "a=b c");
  osbx_command_set_directory(command, "/tmp");
  osbx_result *result = run(command, NULL);
  assert_output(result, OSBX_STDOUT, "/tmp a=b c");
  osbx_result_free(result);
  result = run(engine_shell("pwd"), NULL);
  assert_output(result, OSBX_STDOUT, "/workspace\n");
  osbx_result_free(result);
}

static void test_exec__bad_commands_are_refused(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_shared_sandbox();
  osbx_error *error = NULL;
  osbx_result *result = NULL;
  const char *argv[] = {"true", NULL, "\xff", ""};
  char *huge = malloc((1 << 20) + 1);
  memset(huge, 'x', 1 << 20);
  huge[1 << 20] = '\0';
  const char *with_huge[] = {"true", huge};
  const struct {
    osbx_command *command;
    const char *part;
  } table[] = {{osbx_command_new(NULL, 1), "argv is NULL"}, {osbx_command_new(argv, 0), "argv"},
               {osbx_command_new(argv, 2), "argv"},         {osbx_command_new(argv + 3, 1), "argv"},
               {osbx_command_new(argv + 2, 1), "argv"},     {osbx_command_new(with_huge, 2), "1 MiB"}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    assert_fails(osbx_exec(sandbox, table[i].command, NULL, &result, &error), OSBX_E_INVALID, table[i].part, error);
    osbx_command_free(table[i].command);
  }
  free(huge);
  assert_fails(osbx_exec(sandbox, NULL, NULL, &result, &error), OSBX_E_INVALID, "command is NULL", error);

  osbx_command *command = engine_shell("true");
  assert_fails(osbx_exec(sandbox, command, NULL, NULL, &error), OSBX_E_INVALID, "out is NULL", error);
  osbx_command_set_timeout_ms(command, 0);
  osbx_command_set_timeout_ms(command, 1000); /* the first bad value sticks */
  osbx_command_set_directory(command, "relative");
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_INVALID, "timeout", error);
  osbx_command_free(command);
  command = engine_shell("true");
  osbx_command_set_directory(command, "relative");
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_INVALID, "directory", error);
  osbx_command_free(command);
  command = engine_shell("true");
  osbx_command_add_env(command, "A=B", "");
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_INVALID, "environment", error);
  osbx_command_free(command);
  command = engine_shell("true");
  osbx_command_set_stdin_bytes(command, NULL, 1);
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_INVALID, "standard input", error);
  osbx_command_free(command);
  command = engine_shell("true");
  osbx_command_set_output(command, NULL, NULL, NULL);
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_INVALID, "writer is NULL", error);
  osbx_command_free(command);
}

static void test_exec__output_limit_truncates_each_stream(void **state) {
  (void)state;
  osbx_command *command = engine_shell("printf 12345; printf 123456 >&2; exit 3");
  osbx_command_set_output_limit(command, 5);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_EXITED, 3);
  assert_output(result, OSBX_STDOUT, "12345");
  assert_int_equal(osbx_result_truncated(result, OSBX_STDOUT), 0);
  assert_output(result, OSBX_STDERR, "12345");
  assert_int_equal(osbx_result_truncated(result, OSBX_STDERR), 1);
  osbx_result_free(result);

  command = engine_shell("head -c 3000000 /dev/zero"); /* drained past the limit, to a true end */
  osbx_command_set_output_limit(command, 0);
  result = run(command, NULL);
  assert_end(result, OSBX_END_EXITED, 0);
  assert_output(result, OSBX_STDOUT, "");
  assert_int_equal(osbx_result_truncated(result, OSBX_STDOUT), 1);
  osbx_result_free(result);
}

static void test_exec__stdin_bytes_then_the_end(void **state) {
  (void)state;
  const size_t size = 3000000;
  uint8_t *bytes = calloc(1, size);
  osbx_command *command = engine_shell("wc -c");
  osbx_command_set_stdin_bytes(command, bytes, size);
  free(bytes); /* copied */
  osbx_result *result = run(command, NULL);
  assert_output(result, OSBX_STDOUT, "3000000\n");
  osbx_result_free(result);
  result = run(engine_shell("wc -c"), NULL); /* none set: the end at once */
  assert_output(result, OSBX_STDOUT, "0\n");
  osbx_result_free(result);
}

/* Callbacks record what they see; asserts come afterwards, because one would jump out of the library. */
struct seen {
  pthread_t caller;
  int other_thread;
  int reads, reads_until_end, read_result;
  int writes, write_result;
  size_t out_bytes, err_bytes;
  char text[64];
  int destroyed, used_after_destroy;
};

static int64_t seen_read(void *user_data, uint8_t *buffer, size_t capacity) {
  struct seen *seen = user_data;
  seen->other_thread += !pthread_equal(seen->caller, pthread_self());
  seen->used_after_destroy += seen->destroyed;
  if (seen->read_result < 0) return seen->read_result;
  if (++seen->reads > seen->reads_until_end) return 0;
  memset(buffer, 'x', capacity);
  return (int64_t)capacity;
}

static int32_t seen_write(void *user_data, uint32_t stream, const uint8_t *data, size_t size) {
  struct seen *seen = user_data;
  seen->other_thread += !pthread_equal(seen->caller, pthread_self());
  seen->used_after_destroy += seen->destroyed;
  ++seen->writes;
  const size_t used = strlen(seen->text);
  if (used + size < sizeof(seen->text)) memcpy(seen->text + used, data, size);
  *(stream == OSBX_STDERR ? &seen->err_bytes : &seen->out_bytes) += size;
  return seen->write_result;
}

static void seen_destroy(void *user_data) { ++((struct seen *)user_data)->destroyed; }

static void test_exec__reader_and_writer_run_on_the_calling_thread(void **state) {
  (void)state;
  struct seen seen = {.caller = pthread_self(), .reads_until_end = 50};
  osbx_command *command = engine_shell("tee /dev/stderr | wc -c >/dev/null; exit 4");
  osbx_command_set_stdin_reader(command, seen_read, &seen, NULL);
  osbx_command_set_output(command, seen_write, &seen, seen_destroy);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_EXITED, 4);
  assert_int_equal(seen.other_thread, 0);
  assert_int_equal(seen.reads, 51);
  assert_int_equal(seen.out_bytes, 0);
  assert_int_equal(seen.err_bytes % 50, 0);
  assert_true(seen.err_bytes > 0);
  assert_output(result, OSBX_STDERR, ""); /* went to the callback */
  assert_int_equal(seen.destroyed, 1);
  assert_int_equal(seen.used_after_destroy, 0);
  osbx_result_free(result);
}

static void test_exec__writer_that_gives_up_kills_the_tree(void **state) {
  (void)state;
  struct seen seen = {.caller = pthread_self(), .write_result = 1};
  osbx_command *command = engine_shell("echo first; while :; do echo more; done");
  osbx_command_set_output(command, seen_write, &seen, seen_destroy);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_CALLBACK_ABORTED, -1);
  assert_int_equal(seen.writes, 1);
  assert_int_equal(seen.destroyed, 1);
  osbx_result_free(result);
  assert_int_equal(engine_run(engine_shared_sandbox(), "! grep -l 'echo [m]ore' /proc/[0-9]*/cmdline 2>/dev/null"), 0);
}

static void test_exec__reader_that_gives_up_kills_the_tree(void **state) {
  (void)state;
  struct seen seen = {.caller = pthread_self(), .read_result = -7};
  osbx_command *command = engine_shell("cat; sleep 1000");
  osbx_command_set_stdin_reader(command, seen_read, &seen, seen_destroy);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_CALLBACK_ABORTED, -1);
  assert_int_equal(seen.destroyed, 1);
  osbx_result_free(result);
}

static void test_exec__reader_is_not_called_after_the_end(void **state) {
  (void)state;
  struct seen seen = {.caller = pthread_self(), .reads_until_end = 1 << 20};
  osbx_command *command = engine_shell("exit 6"); /* reads nothing of 64 GiB */
  osbx_command_set_stdin_reader(command, seen_read, &seen, seen_destroy);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_EXITED, 6);
  assert_int_equal(seen.used_after_destroy, 0);
  assert_true(seen.reads < 1000);
  osbx_result_free(result);
}

static void test_exec__timeout_is_a_result_with_the_output_so_far(void **state) {
  (void)state;
  osbx_command *command = engine_shell("trap '' TERM; echo so far; sleep 1000");
  osbx_command_set_timeout_ms(command, 1500);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_TIMED_OUT, -1);
  assert_int_equal(osbx_result_signal(result), 0);
  assert_output(result, OSBX_STDOUT, "so far\n");
  osbx_result_free(result);
}

static void test_exec__deadline_of_the_token_is_timed_out(void **state) {
  (void)state;
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_cancel_set_timeout_ms(cancel, 1500);
  osbx_result *result = run(engine_shell("sleep 1000"), cancel);
  assert_end(result, OSBX_END_TIMED_OUT, -1);
  osbx_result_free(result);
  osbx_cancel_free(cancel);
}

static int32_t fire_on_output(void *user_data, uint32_t stream, const uint8_t *data, size_t size) {
  (void)stream;
  (void)data;
  (void)size;
  osbx_cancel_fire(user_data);
  return 0;
}

static void test_exec__fired_token_is_cancelled(void **state) {
  (void)state;
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_command *command = engine_shell("echo started; sleep 1000");
  osbx_command_set_output(command, fire_on_output, cancel, NULL); /* a callback may call the library */
  osbx_result *result = run(command, cancel);
  assert_end(result, OSBX_END_CANCELLED, -1);
  osbx_result_free(result);
  /* Fired before: nothing ran, so it is an error. */
  osbx_error *error = NULL;
  command = engine_shell("true");
  assert_fails(osbx_exec(engine_shared_sandbox(), command, cancel, &result, &error), OSBX_E_CANCELED, "", error);
  assert_null(result);
  osbx_command_free(command);
  osbx_cancel_free(cancel);
}

static int32_t exec_inside(void *user_data, uint32_t stream, const uint8_t *data, size_t size) {
  (void)stream;
  (void)data;
  (void)size;
  osbx_command *inner = engine_shell("exit 9");
  osbx_result *result = NULL;
  if (osbx_exec(engine_shared_sandbox(), inner, NULL, &result, NULL) == OSBX_OK) {
    *(int *)user_data = osbx_result_exit_code(result);
  }
  osbx_result_free(result);
  osbx_command_free(inner);
  return 0;
}

static void test_exec__callback_may_run_another(void **state) {
  (void)state;
  int inner_code = 0;
  osbx_command *command = engine_shell("echo x");
  osbx_command_set_output(command, exec_inside, &inner_code, NULL);
  osbx_result *result = run(command, NULL);
  assert_end(result, OSBX_END_EXITED, 0);
  assert_int_equal(inner_code, 9);
  osbx_result_free(result);
}

struct threaded_exec {
  int number, code;
};

static void *exec_in_thread(void *argument) {
  struct threaded_exec *exec = argument;
  char script[64];
  snprintf(script, sizeof(script), "exit %d", exec->number);
  const char *argv[] = {"sh", "-c", script};
  osbx_command *command = osbx_command_new(argv, 3);
  osbx_result *result = NULL;
  osbx_exec(engine_shared_sandbox(), command, NULL, &result, NULL);
  exec->code = osbx_result_exit_code(result);
  osbx_result_free(result);
  osbx_command_free(command);
  return NULL;
}

static void test_exec__many_threads_share_a_sandbox(void **state) {
  (void)state;
  enum { THREADS = 6 };
  struct threaded_exec execs[THREADS];
  pthread_t threads[THREADS];
  engine_shared_sandbox();
  for (int i = 0; i < THREADS; ++i) {
    execs[i] = (struct threaded_exec){10 + i, -1};
    assert_int_equal(pthread_create(&threads[i], NULL, exec_in_thread, &execs[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) assert_int_equal(execs[i].code, 10 + i);
}

static void test_exec__command_serves_many_calls(void **state) {
  (void)state;
  struct seen seen = {.caller = pthread_self()};
  osbx_command *command = engine_shell("echo x");
  osbx_command_set_output(command, seen_write, &seen, seen_destroy);
  for (int i = 0; i < 3; ++i) {
    osbx_result *result = NULL;
    osbx_error *error = NULL;
    assert_ok(osbx_exec(engine_shared_sandbox(), command, NULL, &result, &error), error);
    osbx_result_free(result);
    assert_int_equal(seen.destroyed, 0);
  }
  osbx_command_free(command);
  assert_int_equal(seen.out_bytes, 6);
  assert_int_equal(seen.destroyed, 1);
}

struct destroyer {
  const char *name;
  osbx_status status;
};

static void *destroy_in_thread(void *argument) {
  struct destroyer *destroyer = argument;
  destroyer->status = osbx_destroy(engine_backend(), destroyer->name, 0, NULL, NULL);
  return NULL;
}

struct destroy_on_output {
  pthread_t thread;
  struct destroyer destroyer;
  int started;
};

static int32_t start_destroy(void *user_data, uint32_t stream, const uint8_t *data, size_t size) {
  (void)stream;
  (void)data;
  (void)size;
  struct destroy_on_output *destroy = user_data;
  if (!destroy->started) {
    destroy->started = pthread_create(&destroy->thread, NULL, destroy_in_thread, &destroy->destroyer) == 0;
  }
  return 0;
}

static void test_exec__destroyed_sandbox_is_gone(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_sandbox();
  struct destroy_on_output destroy = {.destroyer = {osbx_info_name(osbx_sandbox_info(sandbox)), OSBX_E_INTERNAL}};
  osbx_command *command = engine_shell("echo started; sleep 1000");
  osbx_command_set_output(command, start_destroy, &destroy, NULL);
  osbx_result *result = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_exec(sandbox, command, NULL, &result, &error), error);
  assert_true(destroy.started);
  pthread_join(destroy.thread, NULL);
  assert_int_equal(destroy.destroyer.status, OSBX_OK);
  assert_end(result, OSBX_END_SANDBOX_GONE, -1);
  osbx_result_free(result);
  osbx_command_free(command);
  osbx_sandbox_free(sandbox);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int number) {
  (void)number;
  ++alarms;
}

static void test_exec__interrupted_calls_go_on(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = count_alarm};
  struct sigaction before;
  const struct itimerval storm = {{0, 1000}, {0, 1000}};
  const struct itimerval calm = {{0, 0}, {0, 0}};
  osbx_sandbox *sandbox = engine_shared_sandbox();
  uint8_t *bytes = malloc(1000000);
  memset(bytes, 'x', 1000000);
  osbx_command *command = engine_shell("cat");
  osbx_command_set_stdin_bytes(command, bytes, 1000000);
  osbx_result *result = NULL;
  osbx_error *error = NULL;
  osbx_error *put_error = NULL;
  alarms = 0;
  sigaction(SIGALRM, &action, &before);
  setitimer(ITIMER_REAL, &storm, NULL);
  const osbx_status status = osbx_exec(sandbox, command, NULL, &result, &error);
  const osbx_status put = osbx_file_put(sandbox, "/tmp/storm", 0, bytes, 1000000, 0, NULL, &put_error);
  setitimer(ITIMER_REAL, &calm, NULL);
  sigaction(SIGALRM, &before, NULL);
  assert_ok(status, error);
  assert_ok(put, put_error);
  assert_end(result, OSBX_END_EXITED, 0);
  size_t size = 0;
  osbx_result_output(result, OSBX_STDOUT, &size);
  assert_int_equal(size, 1000000);
  assert_true(alarms > 10);
  osbx_result_free(result);
  osbx_command_free(command);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec__streams_stay_apart),
      cmocka_unit_test(test_exec__nonzero_exit_is_a_result),
      cmocka_unit_test(test_exec__death_by_signal_is_a_result),
      cmocka_unit_test(test_exec__program_that_cannot_start_is_a_result),
      cmocka_unit_test(test_exec__argv_is_not_a_shell_line),
      cmocka_unit_test(test_exec__environment_and_directory),
      cmocka_unit_test(test_exec__bad_commands_are_refused),
      cmocka_unit_test(test_exec__output_limit_truncates_each_stream),
      cmocka_unit_test(test_exec__stdin_bytes_then_the_end),
      cmocka_unit_test(test_exec__reader_and_writer_run_on_the_calling_thread),
      cmocka_unit_test(test_exec__writer_that_gives_up_kills_the_tree),
      cmocka_unit_test(test_exec__reader_that_gives_up_kills_the_tree),
      cmocka_unit_test(test_exec__reader_is_not_called_after_the_end),
      cmocka_unit_test(test_exec__timeout_is_a_result_with_the_output_so_far),
      cmocka_unit_test(test_exec__deadline_of_the_token_is_timed_out),
      cmocka_unit_test(test_exec__fired_token_is_cancelled),
      cmocka_unit_test(test_exec__callback_may_run_another),
      cmocka_unit_test(test_exec__many_threads_share_a_sandbox),
      cmocka_unit_test(test_exec__command_serves_many_calls),
      cmocka_unit_test(test_exec__destroyed_sandbox_is_gone),
      cmocka_unit_test(test_exec__interrupted_calls_go_on),
  };
  return cmocka_run_group_tests(tests, engine_setup, engine_teardown);
}
