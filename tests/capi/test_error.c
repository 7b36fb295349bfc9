#include "capi_test.h"
#include "support/scripted_daemon.h"

static void test_error__accessors_take_null(void **state) {
  (void)state;
  assert_int_equal(osbx_error_code(NULL), OSBX_OK);
  assert_string_equal(osbx_error_message(NULL), "");
  assert_int_equal(osbx_error_http_status(NULL), 0);
  osbx_error_free(NULL);
}

static void test_error__may_be_left_out(void **state) {
  (void)state;
  osbx_backend *backend = POISON(osbx_backend);
  osbx_config *config = osbx_config_new();
  osbx_config_set_docker_host(config, "ssh://somewhere");
  assert_int_equal(osbx_backend_new(config, &backend, NULL), OSBX_E_INVALID);
  assert_null(backend);
  osbx_config_free(config);
}

static void test_error__success_clears_it(void **state) {
  (void)state;
  osbx_error *error = POISON(osbx_error);
  osbx_backend *backend = NULL;
  assert_int_equal(osbx_backend_new(NULL, &backend, &error), OSBX_OK);
  assert_null(error);
  assert_non_null(backend);
  osbx_backend_free(backend);
}

static void test_error__failure_clears_out(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_error *error = NULL;
  osbx_sandbox *sandbox = POISON(osbx_sandbox);
  assert_fails(osbx_open(backend, "x", 0, NULL, &sandbox, &error), OSBX_E_UNREACHABLE, "", error);
  assert_null(sandbox);
  osbx_list *list = POISON(osbx_list);
  assert_fails(osbx_list_sandboxes(backend, 0, NULL, &list, &error), OSBX_E_UNREACHABLE, "", error);
  assert_null(list);
  osbx_result *result = POISON(osbx_result);
  assert_fails(osbx_exec(NULL, NULL, NULL, &result, &error), OSBX_E_INVALID, "sandbox is NULL", error);
  assert_null(result);
  osbx_buffer *buffer = POISON(osbx_buffer);
  assert_fails(osbx_file_get(NULL, "/x", 1, 0, NULL, &buffer, &error), OSBX_E_INVALID, "sandbox is NULL", error);
  assert_null(buffer);
  osbx_backend_free(backend);
}

static void test_error__null_arguments_are_named(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_spec *spec = osbx_spec_new();
  osbx_spec_set_image(spec, "busybox");
  osbx_error *error = NULL;
  osbx_sandbox *sandbox = NULL;
  osbx_list *list = NULL;
  assert_fails(osbx_backend_new(NULL, NULL, &error), OSBX_E_INVALID, "out is NULL", error);
  assert_fails(osbx_create(NULL, "n", spec, NULL, &sandbox, &error), OSBX_E_INVALID, "backend is NULL", error);
  assert_fails(osbx_create(backend, NULL, spec, NULL, &sandbox, &error), OSBX_E_INVALID, "name is NULL", error);
  assert_fails(osbx_create(backend, "n", NULL, NULL, &sandbox, &error), OSBX_E_INVALID, "spec is NULL", error);
  assert_fails(osbx_create(backend, "n", spec, NULL, NULL, &error), OSBX_E_INVALID, "out is NULL", error);
  assert_fails(osbx_open(NULL, "n", 0, NULL, &sandbox, &error), OSBX_E_INVALID, "backend is NULL", error);
  assert_fails(osbx_open(backend, NULL, 0, NULL, &sandbox, &error), OSBX_E_INVALID, "name is NULL", error);
  assert_fails(osbx_open(backend, "n", 0, NULL, NULL, &error), OSBX_E_INVALID, "out is NULL", error);
  assert_fails(osbx_list_sandboxes(NULL, 0, NULL, &list, &error), OSBX_E_INVALID, "backend is NULL", error);
  assert_fails(osbx_list_sandboxes(backend, 0, NULL, NULL, &error), OSBX_E_INVALID, "out is NULL", error);
  assert_fails(osbx_destroy(NULL, "n", 0, NULL, &error), OSBX_E_INVALID, "backend is NULL", error);
  assert_fails(osbx_destroy(backend, NULL, 0, NULL, &error), OSBX_E_INVALID, "name is NULL", error);
  assert_fails(osbx_stop(NULL, 0, NULL, &error), OSBX_E_INVALID, "sandbox is NULL", error);
  assert_fails(osbx_file_put(NULL, "/x", 0, NULL, 0, 0, NULL, &error), OSBX_E_INVALID, "sandbox is NULL", error);
  osbx_spec_free(spec);
  osbx_backend_free(backend);
}

static void test_error__unknown_flags_are_refused(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_error *error = NULL;
  osbx_sandbox *sandbox = NULL;
  osbx_list *list = NULL;
  static const uint32_t bits[] = {1, 2, UINT32_C(1) << 31, UINT32_MAX};
  for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); ++i) {
    assert_fails(osbx_open(backend, "n", bits[i], NULL, &sandbox, &error), OSBX_E_INVALID, "flags", error);
    assert_fails(osbx_list_sandboxes(backend, bits[i], NULL, &list, &error), OSBX_E_INVALID, "flags", error);
    assert_fails(osbx_destroy(backend, "n", bits[i], NULL, &error), OSBX_E_INVALID, "flags", error);
  }
  osbx_backend_free(backend);
}

static void test_error__http_status_is_the_daemons(void **state) {
  (void)state;
  static const scripted_answer script[] = {
      {"/_ping", SCRIPTED_PING},
      {"/containers/json",
       "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 27\r\nConnection: "
       "close\r\n\r\n{\"message\":\"bo\\nom \\u2028\"}"},
      {NULL, NULL}};
  scripted_daemon *daemon = scripted_daemon_start(script);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  assert_int_equal(osbx_list_sandboxes(backend, 0, NULL, &list, &error), OSBX_E_BACKEND);
  assert_int_equal(osbx_error_http_status(error), 500);
  assert_fails(OSBX_E_BACKEND, OSBX_E_BACKEND, "bo om", error); /* one printable line, whatever the daemon wrote */
  osbx_backend_free(backend);
  scripted_daemon_stop(daemon);

  backend = unreachable_backend();
  assert_int_equal(osbx_list_sandboxes(backend, 0, NULL, &list, &error), OSBX_E_UNREACHABLE);
  assert_int_equal(osbx_error_http_status(error), 0);
  osbx_error_free(error);
  osbx_backend_free(backend);
}

static void test_handles__frees_and_accessors_take_null(void **state) {
  (void)state;
  size_t size = 7;
  osbx_cancel_free(NULL);
  osbx_cancel_fire(NULL);
  osbx_cancel_set_timeout_ms(NULL, 1);
  osbx_config_free(NULL);
  osbx_config_set_docker_host(NULL, "x");
  osbx_config_set_docker_cert_path(NULL, "x");
  osbx_config_set_docker_api_version(NULL, "x");
  osbx_backend_free(NULL);
  osbx_spec_free(NULL);
  osbx_spec_set_image(NULL, "x");
  osbx_spec_set_cpus(NULL, 1);
  osbx_spec_add_env(NULL, "k", "v");
  osbx_sandbox_free(NULL);
  assert_null(osbx_sandbox_info(NULL));
  assert_int_equal(osbx_list_size(NULL), 0);
  assert_null(osbx_list_info(NULL, 0));
  osbx_list_free(NULL);
  assert_string_equal(osbx_info_name(NULL), "");
  assert_string_equal(osbx_info_id(NULL), "");
  assert_string_equal(osbx_info_image(NULL), "");
  assert_int_equal(osbx_info_state(NULL), 0);
  assert_int_equal(osbx_info_created_ms(NULL), 0);
  assert_null(osbx_info_label(NULL, "k"));
  assert_int_equal(osbx_info_label_count(NULL), 0);
  assert_null(osbx_info_label_key(NULL, 0));
  osbx_command_free(NULL);
  osbx_command_add_env(NULL, "k", "v");
  osbx_command_set_output_limit(NULL, 1);
  assert_int_equal(osbx_result_reason(NULL), 0);
  assert_int_equal(osbx_result_exit_code(NULL), -1);
  assert_int_equal(osbx_result_signal(NULL), 0);
  assert_non_null(osbx_result_output(NULL, OSBX_STDOUT, &size));
  assert_int_equal(size, 0);
  assert_non_null(osbx_result_output(NULL, OSBX_STDOUT, NULL));
  assert_int_equal(osbx_result_truncated(NULL, OSBX_STDOUT), 0);
  osbx_result_free(NULL);
  size = 7;
  assert_non_null(osbx_buffer_data(NULL, &size));
  assert_int_equal(size, 0);
  osbx_buffer_free(NULL);
}

/* User data that was handed over is given back exactly once, also by a call that refuses everything else. */
static void test_user_data__is_destroyed_also_when_refused(void **state) {
  (void)state;
  osbx_error *error = NULL;
  int destroyed = 0;
  assert_fails(osbx_file_put_stream(NULL, "/x", 0, NULL, &destroyed, count_destroy, 0, NULL, &error), OSBX_E_INVALID,
               "sandbox is NULL", error);
  assert_int_equal(destroyed, 1);
  assert_fails(osbx_file_get_stream(NULL, "/x", NULL, &destroyed, count_destroy, 0, NULL, &error), OSBX_E_INVALID,
               "sandbox is NULL", error);
  assert_int_equal(destroyed, 2);
  assert_int_equal(osbx_file_put_stream(NULL, NULL, 0, NULL, NULL, NULL, 9, NULL, NULL), OSBX_E_INVALID);
  osbx_command_set_stdin_reader(NULL, NULL, &destroyed, count_destroy);
  assert_int_equal(destroyed, 3);
  osbx_command_set_output(NULL, NULL, &destroyed, count_destroy);
  assert_int_equal(destroyed, 4);
  osbx_config_set_log(NULL, OSBX_LOG_DEBUG, NULL, &destroyed, count_destroy);
  assert_int_equal(destroyed, 5);
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

static void test_user_data__is_destroyed_by_replacement_and_with_the_builder(void **state) {
  (void)state;
  int first = 0;
  int second = 0;
  int output = 0;
  const char *argv[] = {"true"};
  osbx_command *command = osbx_command_new(argv, 1);
  osbx_command_set_stdin_reader(command, read_nothing, &first, count_destroy);
  assert_int_equal(first, 0);
  osbx_command_set_stdin_reader(command, read_nothing, &second, count_destroy);
  assert_int_equal(first, 1);
  osbx_command_set_stdin_bytes(command, (const uint8_t *)"x", 1);
  assert_int_equal(second, 1);
  osbx_command_set_output(command, write_nothing, &output, count_destroy);
  osbx_command_set_output(command, write_nothing, NULL, NULL);
  assert_int_equal(output, 1);
  osbx_command_set_output(command, write_nothing, &output, count_destroy);
  osbx_command_set_output(command, NULL, &first, count_destroy); /* refused, and given back at once */
  assert_int_equal(first, 2);
  assert_int_equal(output, 1);
  osbx_command_free(command);
  assert_int_equal(output, 2);
  assert_int_equal(second, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error__accessors_take_null),
      cmocka_unit_test(test_error__may_be_left_out),
      cmocka_unit_test(test_error__success_clears_it),
      cmocka_unit_test(test_error__failure_clears_out),
      cmocka_unit_test(test_error__null_arguments_are_named),
      cmocka_unit_test(test_error__unknown_flags_are_refused),
      cmocka_unit_test(test_error__http_status_is_the_daemons),
      cmocka_unit_test(test_handles__frees_and_accessors_take_null),
      cmocka_unit_test(test_user_data__is_destroyed_also_when_refused),
      cmocka_unit_test(test_user_data__is_destroyed_by_replacement_and_with_the_builder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
