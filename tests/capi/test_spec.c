/* What a spec takes and refuses, seen through osbx_create on a daemon that is not there: a good spec gets as far as the
 * socket, a bad one is refused before. */
#include <math.h>

#include "capi_test.h"

static osbx_status create_with(osbx_spec *spec, osbx_error **error) {
  osbx_backend *backend = unreachable_backend();
  osbx_sandbox *sandbox = NULL;
  const osbx_status status = osbx_create(backend, "n", spec, NULL, &sandbox, error);
  assert_null(sandbox);
  osbx_backend_free(backend);
  osbx_spec_free(spec);
  return status;
}

static osbx_spec *good_spec(void) {
  osbx_spec *spec = osbx_spec_new();
  assert_non_null(spec);
  osbx_spec_set_image(spec, "busybox");
  return spec;
}

#define assert_accepted(setter)                                               \
  do {                                                                        \
    osbx_error *error_ = NULL;                                                \
    osbx_spec *spec = good_spec();                                            \
    setter;                                                                   \
    assert_fails(create_with(spec, &error_), OSBX_E_UNREACHABLE, "", error_); \
  } while (0)

#define assert_refused(setter, part)                                          \
  do {                                                                        \
    osbx_error *error_ = NULL;                                                \
    osbx_spec *spec = good_spec();                                            \
    setter;                                                                   \
    assert_fails(create_with(spec, &error_), OSBX_E_INVALID, (part), error_); \
  } while (0)

static void test_spec__image_is_required(void **state) {
  (void)state;
  osbx_error *error = NULL;
  assert_fails(create_with(osbx_spec_new(), &error), OSBX_E_INVALID, "image", error);
  assert_refused(osbx_spec_set_image(spec, NULL), "image is NULL");
  assert_refused(osbx_spec_set_image(spec, ""), "image");
}

static void test_spec__good_values_reach_the_daemon(void **state) {
  (void)state;
  assert_accepted((void)0);
  assert_accepted(osbx_spec_set_runtime(spec, "runc"));
  assert_accepted(osbx_spec_set_user(spec, "1:2147483646"));
  assert_accepted(osbx_spec_set_cpus(spec, 0.01));
  assert_accepted(osbx_spec_set_memory_bytes(spec, 16 << 20));
  assert_accepted(osbx_spec_set_disk_bytes(spec, 1 << 20));
  assert_accepted(osbx_spec_set_max_processes(spec, 1));
  assert_accepted(osbx_spec_set_idle_timeout_ms(spec, -1));
  assert_accepted(osbx_spec_set_max_age_ms(spec, INT64_MAX));
  assert_accepted(osbx_spec_set_default_timeout_ms(spec, 600000));
  assert_accepted(osbx_spec_set_max_timeout_ms(spec, 1));
  assert_accepted(osbx_spec_set_egress(spec, OSBX_EGRESS_UNRESTRICTED));
  assert_accepted(osbx_spec_set_allow_exec(spec, -5));
  assert_accepted(osbx_spec_add_env(spec, "K", ""));
  assert_accepted(osbx_spec_add_label(spec, "osbx.managed", "0"));
}

static void test_spec__limits_that_would_be_unlimited_are_refused(void **state) {
  (void)state;
  assert_refused(osbx_spec_set_cpus(spec, 0), "0.01");
  assert_refused(osbx_spec_set_cpus(spec, 1e-10), "0.01");
  assert_refused(osbx_spec_set_cpus(spec, -1), "0.01");
  assert_refused(osbx_spec_set_cpus(spec, (double)NAN), "0.01");
  assert_refused(osbx_spec_set_cpus(spec, (double)INFINITY), "0.01");
  assert_refused(osbx_spec_set_memory_bytes(spec, 0), "16 MiB");
  assert_refused(osbx_spec_set_memory_bytes(spec, -1), "16 MiB");
  assert_refused(osbx_spec_set_memory_bytes(spec, (16 << 20) - 1), "16 MiB");
  assert_refused(osbx_spec_set_disk_bytes(spec, 0), "1 MiB");
  assert_refused(osbx_spec_set_disk_bytes(spec, 4095), "1 MiB");
  assert_refused(osbx_spec_set_disk_bytes(spec, INT64_MAX), "memory");
  assert_refused(osbx_spec_set_max_processes(spec, 0), "1000000");
  assert_refused(osbx_spec_set_max_processes(spec, 1000001), "1000000");
}

static void test_spec__root_is_refused_in_every_spelling(void **state) {
  (void)state;
  static const char *const users[] = {"0",   "00",   "+0",   "-0",     "0:0",    "0:5",
                                      "5:0", "5:00", "root", "root:x", "x:root", ""};
  for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); ++i) {
    assert_refused(osbx_spec_set_user(spec, users[i]), "user");
  }
  assert_refused(osbx_spec_set_user(spec, NULL), "user is NULL");
}

static void test_spec__other_bad_values_are_refused(void **state) {
  (void)state;
  assert_refused(osbx_spec_set_runtime(spec, NULL), "runtime is NULL");
  assert_refused(osbx_spec_set_runtime(spec, "a b"), "runtime");
  assert_refused(osbx_spec_set_default_timeout_ms(spec, 600001), "default timeout");
  assert_refused(osbx_spec_set_default_timeout_ms(spec, -1), "default timeout");
  assert_refused(osbx_spec_set_max_timeout_ms(spec, -1), "maximum timeout");
  assert_refused(osbx_spec_set_egress(spec, 2), "egress");
  assert_refused(osbx_spec_add_env(spec, "", "v"), "environment");
  assert_refused(osbx_spec_add_env(spec, "A=B", "v"), "environment");
  assert_refused(osbx_spec_add_env(spec, NULL, "v"), "environment");
  assert_refused(osbx_spec_add_env(spec, "A", NULL), "environment");
  assert_refused(osbx_spec_add_env(spec, "A", "\xff"), "environment");
  assert_refused(osbx_spec_add_label(spec, "", "v"), "label");
  assert_refused(osbx_spec_add_label(spec, "a\nb", "v"), "label");
  assert_refused(osbx_spec_add_label(spec, NULL, "v"), "label");
  assert_refused(osbx_spec_add_label(spec, "k", NULL), "label");
}

static void test_spec__first_bad_value_sticks(void **state) {
  (void)state;
  assert_refused(
      {
        osbx_spec_set_cpus(spec, 0);
        osbx_spec_set_memory_bytes(spec, 0);
        osbx_spec_set_cpus(spec, 1);
      },
      "cpus");
}

static void test_spec__serves_many_calls(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_spec *spec = good_spec();
  osbx_error *error = NULL;
  osbx_sandbox *sandbox = NULL;
  for (int i = 0; i < 3; ++i) {
    assert_fails(osbx_create(backend, "n", spec, NULL, &sandbox, &error), OSBX_E_UNREACHABLE, "", error);
  }
  osbx_spec_free(spec);
  osbx_backend_free(backend);
}

static void test_name__is_checked_before_the_daemon_is_asked(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_error *error = NULL;
  osbx_sandbox *sandbox = NULL;
  char long_name[257];
  memset(long_name, 'n', 256);
  long_name[256] = '\0';
  const char *const bad[] = {"", "a\nb", "\x7f", "\xff", "\xc2\x85", long_name};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    assert_fails(osbx_open(backend, bad[i], 0, NULL, &sandbox, &error), OSBX_E_INVALID, "255", error);
    assert_fails(osbx_destroy(backend, bad[i], 0, NULL, &error), OSBX_E_INVALID, "255", error);
  }
  long_name[255] = '\0';
  assert_fails(osbx_open(backend, long_name, 0, NULL, &sandbox, &error), OSBX_E_UNREACHABLE, "", error);
  assert_fails(osbx_open(backend, "../\xF0\x9F\x90\xB3 %2f", 0, NULL, &sandbox, &error), OSBX_E_UNREACHABLE, "", error);
  osbx_backend_free(backend);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spec__image_is_required),
      cmocka_unit_test(test_spec__good_values_reach_the_daemon),
      cmocka_unit_test(test_spec__limits_that_would_be_unlimited_are_refused),
      cmocka_unit_test(test_spec__root_is_refused_in_every_spelling),
      cmocka_unit_test(test_spec__other_bad_values_are_refused),
      cmocka_unit_test(test_spec__first_bad_value_sticks),
      cmocka_unit_test(test_spec__serves_many_calls),
      cmocka_unit_test(test_name__is_checked_before_the_daemon_is_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
