#define _GNU_SOURCE
#include "engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "capi/capi_test.h"

enum { MAX_NAMES = 256 };

static osbx_backend *backend;
static osbx_sandbox *shared;
static char *names[MAX_NAMES];
static int name_count;

static const char *from_environment(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0' ? value : fallback;
}

int engine_setup(void **state) {
  (void)state;
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_cancel_set_timeout_ms(cancel, 30000);
  osbx_status status = osbx_backend_new(NULL, &backend, &error);
  if (status == OSBX_OK) status = osbx_list_sandboxes(backend, 0, cancel, &list, &error);
  if (status != OSBX_OK) fprintf(stderr, "no engine for this test: %s\n", osbx_error_message(error));
  osbx_error_free(error);
  osbx_list_free(list);
  osbx_cancel_free(cancel);
  return status == OSBX_OK ? 0 : -1;
}

int engine_teardown(void **state) {
  (void)state;
  int failed = 0;
  osbx_sandbox_free(shared);
  shared = NULL;
  for (int i = 0; i < name_count; ++i) {
    osbx_error *error = NULL;
    if (osbx_destroy(backend, names[i], 0, NULL, &error) != OSBX_OK) {
      fprintf(stderr, "cannot destroy %s: %s\n", names[i], osbx_error_message(error));
      failed = -1;
    }
    osbx_error_free(error);
    free(names[i]);
  }
  name_count = 0;
  osbx_backend_free(backend);
  backend = NULL;
  return failed;
}

osbx_backend *engine_backend(void) { return backend; }

const char *engine_name(void) {
  assert_true(name_count < MAX_NAMES);
  assert_true(asprintf(&names[name_count], "capi %d/%d", (int)getpid(), name_count) > 0);
  return names[name_count++];
}

osbx_spec *engine_spec(void) {
  osbx_spec *spec = osbx_spec_new();
  osbx_spec_set_image(spec, from_environment("OSBX_TEST_BUSYBOX", "osbx/busybox:latest"));
  osbx_spec_set_runtime(spec, from_environment("OSBX_TEST_RUNTIME", "runsc"));
  osbx_spec_set_memory_bytes(spec, 256 << 20);
  return spec;
}

osbx_sandbox *engine_sandbox(void) {
  osbx_spec *spec = engine_spec();
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_create(backend, engine_name(), spec, NULL, &sandbox, &error), error);
  osbx_spec_free(spec);
  return sandbox;
}

osbx_sandbox *engine_shared_sandbox(void) {
  if (shared == NULL) shared = engine_sandbox();
  return shared;
}

osbx_command *engine_shell(const char *script) {
  const char *argv[] = {"sh", "-c", script};
  osbx_command *command = osbx_command_new(argv, 3);
  assert_non_null(command);
  return command;
}

int engine_run(osbx_sandbox *sandbox, const char *script) {
  osbx_command *command = engine_shell(script);
  osbx_result *result = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_exec(sandbox, command, NULL, &result, &error), error);
  if (osbx_result_reason(result) != OSBX_END_EXITED) {
    fail_msg("%s: %s", script, osbx_end_reason_name(osbx_result_reason(result)));
  }
  const int code = osbx_result_exit_code(result);
  osbx_result_free(result);
  osbx_command_free(command);
  return code;
}
