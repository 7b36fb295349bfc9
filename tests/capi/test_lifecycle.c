#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capi_test.h"
#include "support/engine_fixture.h"
#include "support/process_facts.h"

static void test_create__gives_a_running_sandbox(void **state) {
  (void)state;
  const char *name = engine_name();
  osbx_spec *spec = engine_spec();
  osbx_spec_add_label(spec, "b", "2");
  osbx_spec_add_label(spec, "a.b/c \xE2\x82\xAC", "");
  osbx_spec_add_label(spec, "osbx.managed", "mine\nand on");
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  const int64_t before_ms = (int64_t)time(NULL) * 1000;
  assert_ok(osbx_create(engine_backend(), name, spec, NULL, &sandbox, &error), error);
  osbx_spec_free(spec);
  const osbx_info *info = osbx_sandbox_info(sandbox);
  assert_non_null(info);
  assert_string_equal(osbx_info_name(info), name);
  assert_true(strlen(osbx_info_id(info)) >= 12);
  assert_non_null(strstr(osbx_info_image(info), "busybox"));
  assert_int_equal(osbx_info_state(info), OSBX_STATE_RUNNING);
  assert_true(osbx_info_created_ms(info) >= before_ms - 1000);
  assert_true(osbx_info_created_ms(info) <= ((int64_t)time(NULL) + 60) * 1000);
  assert_int_equal(osbx_info_label_count(info), 3);
  assert_string_equal(osbx_info_label_key(info, 0), "a.b/c \xE2\x82\xAC");
  assert_string_equal(osbx_info_label_key(info, 1), "b");
  assert_string_equal(osbx_info_label_key(info, 2), "osbx.managed");
  assert_null(osbx_info_label_key(info, 3));
  assert_string_equal(osbx_info_label(info, "b"), "2");
  assert_string_equal(osbx_info_label(info, "a.b/c \xE2\x82\xAC"), "");
  assert_string_equal(osbx_info_label(info, "osbx.managed"), "mine\nand on");
  assert_null(osbx_info_label(info, "c"));
  assert_null(osbx_info_label(info, NULL));
  osbx_sandbox_free(sandbox);
}

static void test_create__again_gives_the_same(void **state) {
  (void)state;
  osbx_sandbox *first = engine_sandbox();
  osbx_spec *spec = engine_spec();
  osbx_spec_add_label(spec, "ignored", "by an existing one");
  osbx_sandbox *second = NULL;
  osbx_error *error = NULL;
  const char *name = osbx_info_name(osbx_sandbox_info(first));
  assert_ok(osbx_create(engine_backend(), name, spec, NULL, &second, &error), error);
  assert_string_equal(osbx_info_id(osbx_sandbox_info(first)), osbx_info_id(osbx_sandbox_info(second)));
  assert_int_equal(osbx_info_label_count(osbx_sandbox_info(second)), 0);
  osbx_spec_free(spec);
  osbx_sandbox_free(first);
  osbx_sandbox_free(second);
}

struct racing_create {
  const char *name;
  osbx_spec *spec;
  osbx_sandbox *sandbox;
  osbx_error *error;
};

static void *create_in_a_race(void *argument) {
  struct racing_create *race = argument;
  osbx_create(engine_backend(), race->name, race->spec, NULL, &race->sandbox, &race->error);
  return NULL;
}

static void test_create__racing_threads_get_one_sandbox(void **state) {
  (void)state;
  enum { THREADS = 8 };
  struct racing_create races[THREADS];
  pthread_t threads[THREADS];
  const char *name = engine_name();
  osbx_spec *spec = engine_spec(); /* read-only while calls use it, so they may share it */
  for (int i = 0; i < THREADS; ++i) {
    races[i] = (struct racing_create){name, spec, NULL, NULL};
    assert_int_equal(pthread_create(&threads[i], NULL, create_in_a_race, &races[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) {
    if (races[i].sandbox == NULL) fail_msg("create %d: %s", i, osbx_error_message(races[i].error));
    assert_string_equal(osbx_info_id(osbx_sandbox_info(races[0].sandbox)),
                        osbx_info_id(osbx_sandbox_info(races[i].sandbox)));
  }
  for (int i = 0; i < THREADS; ++i) osbx_sandbox_free(races[i].sandbox);
  osbx_spec_free(spec);
}

static void test_create__unknown_runtime_and_image_leave_nothing(void **state) {
  (void)state;
  const char *name = engine_name();
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  osbx_spec *spec = engine_spec();
  osbx_spec_set_runtime(spec, "no-such-runtime");
  assert_fails(osbx_create(engine_backend(), name, spec, NULL, &sandbox, &error), OSBX_E_RUNTIME_UNAVAILABLE,
               "no-such-runtime", error);
  osbx_spec_free(spec);
  spec = engine_spec();
  osbx_spec_set_image(spec, "localhost:1/no/such/image:at-all");
  assert_fails(osbx_create(engine_backend(), name, spec, NULL, &sandbox, &error), OSBX_E_IMAGE_UNAVAILABLE, "", error);
  osbx_spec_free(spec);
  assert_fails(osbx_open(engine_backend(), name, 0, NULL, &sandbox, &error), OSBX_E_NOT_FOUND, "", error);
}

static void test_create__impostor_runtime_is_refused(void **state) {
  (void)state;
  /* An entry whose name says gVisor and which is something else; engines for tests have one. */
  const char *name = engine_name();
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  osbx_spec *spec = engine_spec();
  osbx_spec_set_runtime(spec, "runsc-impostor");
  assert_fails(osbx_create(engine_backend(), name, spec, NULL, &sandbox, &error), OSBX_E_RUNTIME_UNAVAILABLE, "",
               error);
  assert_fails(osbx_open(engine_backend(), name, 0, NULL, &sandbox, &error), OSBX_E_NOT_FOUND, "", error);
  osbx_spec_free(spec);
}

static void test_open__never_makes_one(void **state) {
  (void)state;
  osbx_sandbox *sandbox = POISON(osbx_sandbox);
  osbx_error *error = NULL;
  assert_fails(osbx_open(engine_backend(), engine_name(), 0, NULL, &sandbox, &error), OSBX_E_NOT_FOUND, "", error);
  assert_null(sandbox);
}

static void test_stop__halts_and_create_starts_it_empty(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_sandbox();
  osbx_error *error = NULL;
  char id[128];
  snprintf(id, sizeof(id), "%s", osbx_info_id(osbx_sandbox_info(sandbox)));
  char name[128];
  snprintf(name, sizeof(name), "%s", osbx_info_name(osbx_sandbox_info(sandbox)));
  assert_int_equal(engine_run(sandbox, "echo x > /workspace/file"), 0);
  assert_fails(osbx_stop(sandbox, 1, NULL, &error), OSBX_E_INVALID, "flags", error);
  assert_ok(osbx_stop(sandbox, 0, NULL, &error), error);
  assert_ok(osbx_stop(sandbox, 0, NULL, &error), error);

  osbx_command *command = engine_shell("true");
  osbx_result *result = NULL;
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_NOT_RUNNING, "", error);
  osbx_command_free(command);
  osbx_buffer *buffer = NULL;
  assert_fails(osbx_file_get(sandbox, "/workspace/file", 10, 0, NULL, &buffer, &error), OSBX_E_NOT_RUNNING, "", error);

  osbx_sandbox *opened = NULL;
  assert_ok(osbx_open(engine_backend(), name, 0, NULL, &opened, &error), error);
  assert_int_equal(osbx_info_state(osbx_sandbox_info(opened)), OSBX_STATE_STOPPED);
  assert_int_equal(osbx_info_state(osbx_sandbox_info(sandbox)), OSBX_STATE_RUNNING); /* as it was when created */
  osbx_sandbox_free(opened);

  osbx_spec *spec = engine_spec();
  osbx_sandbox *again = NULL;
  assert_ok(osbx_create(engine_backend(), name, spec, NULL, &again, &error), error);
  osbx_spec_free(spec);
  assert_string_equal(osbx_info_id(osbx_sandbox_info(again)), id);
  assert_int_equal(engine_run(again, "test ! -e /workspace/file"), 0);
  assert_int_equal(engine_run(sandbox, "true"), 0); /* the old handle names the same sandbox */
  osbx_sandbox_free(again);
  osbx_sandbox_free(sandbox);
}

static void test_list__is_sorted_and_outlives_the_backend(void **state) {
  (void)state;
  osbx_sandbox *one = engine_sandbox();
  osbx_sandbox *two = engine_sandbox();
  osbx_backend *backend = NULL;
  osbx_list *list = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_backend_new(NULL, &backend, &error), error);
  assert_ok(osbx_stop(two, 0, NULL, &error), error);
  assert_ok(osbx_list_sandboxes(backend, 0, NULL, &list, &error), error);
  osbx_backend_free(backend);
  int found = 0;
  for (size_t i = 0; i < osbx_list_size(list); ++i) {
    const osbx_info *info = osbx_list_info(list, i);
    if (i > 0) assert_true(strcmp(osbx_info_name(osbx_list_info(list, i - 1)), osbx_info_name(info)) < 0);
    if (strcmp(osbx_info_name(info), osbx_info_name(osbx_sandbox_info(one))) == 0) {
      assert_int_equal(osbx_info_state(info), OSBX_STATE_RUNNING);
      assert_string_equal(osbx_info_id(info), osbx_info_id(osbx_sandbox_info(one)));
      ++found;
    } else if (strcmp(osbx_info_name(info), osbx_info_name(osbx_sandbox_info(two))) == 0) {
      assert_int_equal(osbx_info_state(info), OSBX_STATE_STOPPED);
      ++found;
    }
  }
  assert_int_equal(found, 2);
  assert_null(osbx_list_info(list, osbx_list_size(list)));
  assert_null(osbx_list_info(list, SIZE_MAX));
  osbx_list_free(list);
  osbx_sandbox_free(one);
  osbx_sandbox_free(two);
}

static void test_destroy__is_idempotent_and_gives_a_new_id(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_sandbox();
  const char *name = osbx_info_name(osbx_sandbox_info(sandbox));
  osbx_error *error = NULL;
  assert_ok(osbx_destroy(engine_backend(), name, 0, NULL, &error), error);
  assert_ok(osbx_destroy(engine_backend(), name, 0, NULL, &error), error);
  osbx_command *command = engine_shell("true");
  osbx_result *result = NULL;
  assert_fails(osbx_exec(sandbox, command, NULL, &result, &error), OSBX_E_NOT_FOUND, "", error);
  assert_fails(osbx_stop(sandbox, 0, NULL, &error), OSBX_E_NOT_FOUND, "", error);
  osbx_command_free(command);
  osbx_spec *spec = engine_spec();
  osbx_sandbox *again = NULL;
  assert_ok(osbx_create(engine_backend(), name, spec, NULL, &again, &error), error);
  assert_string_not_equal(osbx_info_id(osbx_sandbox_info(sandbox)), osbx_info_id(osbx_sandbox_info(again)));
  osbx_spec_free(spec);
  osbx_sandbox_free(sandbox);
  osbx_sandbox_free(again);
}

static void test_handles__order_of_frees_does_not_matter(void **state) {
  (void)state;
  osbx_backend *backend = NULL;
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  osbx_spec *spec = engine_spec();
  assert_ok(osbx_backend_new(NULL, &backend, &error), error);
  const char *name = engine_name();
  assert_ok(osbx_create(backend, name, spec, NULL, &sandbox, &error), error);
  osbx_spec_free(spec);
  osbx_backend_free(backend); /* before the sandbox: which keeps it */
  osbx_command *command = engine_shell("echo out");
  osbx_result *result = NULL;
  assert_ok(osbx_exec(sandbox, command, NULL, &result, &error), error);
  osbx_sandbox_free(sandbox);
  osbx_command_free(command);
  size_t size = 0;
  assert_memory_equal(osbx_result_output(result, OSBX_STDOUT, &size), "out\n", 4);
  osbx_result_free(result);
  /* Freeing gave up the handles, not the sandbox. */
  assert_ok(osbx_open(engine_backend(), name, 0, NULL, &sandbox, &error), error);
  assert_int_equal(osbx_info_state(osbx_sandbox_info(sandbox)), OSBX_STATE_RUNNING);
  osbx_sandbox_free(sandbox);
}

static void test_handles__leave_no_descriptor_and_no_thread(void **state) {
  (void)state;
  osbx_sandbox *keeper = engine_sandbox();
  const char *name = osbx_info_name(osbx_sandbox_info(keeper));
  assert_int_equal(engine_run(keeper, "true"), 0);
  const int fds = process_fd_count();
  const int threads = process_thread_count();
  for (int i = 0; i < 3; ++i) {
    osbx_backend *backend = NULL;
    osbx_sandbox *sandbox = NULL;
    osbx_error *error = NULL;
    assert_ok(osbx_backend_new(NULL, &backend, &error), error);
    assert_ok(osbx_open(backend, name, 0, NULL, &sandbox, &error), error);
    assert_int_equal(engine_run(sandbox, "exit 3"), 3);
    osbx_backend_free(backend);
    osbx_sandbox_free(sandbox);
  }
  assert_true(process_thread_count_becomes(threads));
  assert_in_range(process_fd_count(), 0, fds); /* the keeper's own last connection may have been closing above */
  osbx_sandbox_free(keeper);
}

static void test_fork__child_does_not_touch_the_parents_sandbox(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_sandbox();
  assert_int_equal(engine_run(sandbox, "echo kept > /workspace/file"), 0);
  const pid_t child = fork();
  if (child == 0) {
    osbx_sandbox *own = NULL;
    osbx_backend *backend = NULL;
    if (osbx_backend_new(NULL, &backend, NULL) != OSBX_OK) _exit(1);
    if (osbx_open(backend, osbx_info_name(osbx_sandbox_info(sandbox)), 0, NULL, &own, NULL) != OSBX_OK) _exit(2);
    osbx_command *command = engine_shell("exit 5");
    osbx_result *result = NULL;
    if (osbx_exec(own, command, NULL, &result, NULL) != OSBX_OK) _exit(3);
    if (osbx_result_exit_code(result) != 5) _exit(4);
    osbx_result_free(result);
    osbx_command_free(command);
    osbx_sandbox_free(own);
    osbx_backend_free(backend);
    osbx_sandbox_free(sandbox);
    osbx_backend_free(engine_backend());
    _exit(0);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(engine_run(sandbox, "grep -q kept /workspace/file"), 0);
  osbx_sandbox_free(sandbox);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create__gives_a_running_sandbox),
      cmocka_unit_test(test_create__again_gives_the_same),
      cmocka_unit_test(test_create__racing_threads_get_one_sandbox),
      cmocka_unit_test(test_create__unknown_runtime_and_image_leave_nothing),
      cmocka_unit_test(test_create__impostor_runtime_is_refused),
      cmocka_unit_test(test_open__never_makes_one),
      cmocka_unit_test(test_stop__halts_and_create_starts_it_empty),
      cmocka_unit_test(test_list__is_sorted_and_outlives_the_backend),
      cmocka_unit_test(test_destroy__is_idempotent_and_gives_a_new_id),
      cmocka_unit_test(test_handles__order_of_frees_does_not_matter),
      cmocka_unit_test(test_handles__leave_no_descriptor_and_no_thread),
      cmocka_unit_test(test_fork__child_does_not_touch_the_parents_sandbox),
  };
  return cmocka_run_group_tests(tests, engine_setup, engine_teardown);
}
