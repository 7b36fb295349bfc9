#include "capi_test.h"

static void test_version__is_that_of_the_header(void **state) {
  (void)state;
  assert_int_equal(osbx_version(), OSBX_VERSION_MAJOR * 10000 + OSBX_VERSION_MINOR * 100 + OSBX_VERSION_PATCH);
}

static void test_status_name__each_code_has_its_own(void **state) {
  (void)state;
  static const struct {
    osbx_status status;
    const char *name;
  } table[] = {{OSBX_OK, "OSBX_OK"},
               {OSBX_E_INTERNAL, "OSBX_E_INTERNAL"},
               {OSBX_E_NO_MEMORY, "OSBX_E_NO_MEMORY"},
               {OSBX_E_INVALID, "OSBX_E_INVALID"},
               {OSBX_E_NOT_FOUND, "OSBX_E_NOT_FOUND"},
               {OSBX_E_TIMEOUT, "OSBX_E_TIMEOUT"},
               {OSBX_E_CANCELED, "OSBX_E_CANCELED"},
               {OSBX_E_RUNTIME_UNAVAILABLE, "OSBX_E_RUNTIME_UNAVAILABLE"},
               {OSBX_E_IMAGE_UNAVAILABLE, "OSBX_E_IMAGE_UNAVAILABLE"},
               {OSBX_E_CONFLICT, "OSBX_E_CONFLICT"},
               {OSBX_E_PERMISSION, "OSBX_E_PERMISSION"},
               {OSBX_E_UNSUPPORTED, "OSBX_E_UNSUPPORTED"},
               {OSBX_E_TOO_LARGE, "OSBX_E_TOO_LARGE"},
               {OSBX_E_BACKEND, "OSBX_E_BACKEND"},
               {OSBX_E_CALLBACK, "OSBX_E_CALLBACK"},
               {OSBX_E_AT_CAPACITY, "OSBX_E_AT_CAPACITY"},
               {OSBX_E_NO_SPACE, "OSBX_E_NO_SPACE"},
               {OSBX_E_UNREACHABLE, "OSBX_E_UNREACHABLE"},
               {OSBX_E_NOT_RUNNING, "OSBX_E_NOT_RUNNING"}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    assert_int_equal(table[i].status, -(int)i); /* the numbers are the ABI */
    assert_string_equal(osbx_status_name(table[i].status), table[i].name);
  }
}

static void test_status_name__other_numbers_are_unknown(void **state) {
  (void)state;
  static const osbx_status others[] = {1, -19, -1000, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
    assert_string_equal(osbx_status_name(others[i]), "OSBX_E_UNKNOWN");
  }
}

static void test_end_reason_name__each_reason_has_its_own(void **state) {
  (void)state;
  static const char *const names[] = {"unknown",      "exited",           "signalled",
                                      "timed_out",    "cancelled",        "out_of_memory",
                                      "sandbox_gone", "callback_aborted", "outcome_unknown"};
  for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    assert_string_equal(osbx_end_reason_name(i), names[i]);
  }
  assert_int_equal(OSBX_END_OUTCOME_UNKNOWN, 8);
  assert_string_equal(osbx_end_reason_name(9), "unknown");
  assert_string_equal(osbx_end_reason_name(UINT32_MAX), "unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_version__is_that_of_the_header),
      cmocka_unit_test(test_status_name__each_code_has_its_own),
      cmocka_unit_test(test_status_name__other_numbers_are_unknown),
      cmocka_unit_test(test_end_reason_name__each_reason_has_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
