/* What every program here begins with: cmocka, the public header, and checks for its conventions. */
#ifndef OSBX_TESTS_CAPI_CAPI_TEST_H_
#define OSBX_TESTS_CAPI_CAPI_TEST_H_

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#include "osbx.h"

/* The call succeeded: OSBX_OK, and no error object. */
#define assert_ok(status, err)                                                          \
  do {                                                                                  \
    const osbx_status got_ = (status);                                                  \
    if (got_ != OSBX_OK || (err) != NULL) {                                             \
      fail_msg("%s: %s: %s", #status, osbx_status_name(got_), osbx_error_message(err)); \
    }                                                                                   \
  } while (0)

/* The call failed with `code`, the error says the same in one line that contains `part`; frees the error. */
#define assert_fails(status, code, part, err)                                                             \
  do {                                                                                                    \
    const osbx_status got_ = (status);                                                                    \
    if (got_ != (code)) fail_msg("%s: %s: %s", #status, osbx_status_name(got_), osbx_error_message(err)); \
    assert_non_null(err);                                                                                 \
    assert_int_equal(osbx_error_code(err), (code));                                                       \
    if (strstr(osbx_error_message(err), (part)) == NULL) {                                                \
      fail_msg("%s: the message has no \"%s\": %s", #status, (part), osbx_error_message(err));            \
    }                                                                                                     \
    assert_null(strchr(osbx_error_message(err), '\n'));                                                   \
    osbx_error_free(err);                                                                                 \
    (err) = NULL;                                                                                         \
  } while (0)

/* A pointer that no library hands out: an out parameter must not keep it. */
#define POISON(type) ((type *)(uintptr_t)0x10)

/* Counts how often it was called. */
static inline void count_destroy(void *user_data) { ++*(int *)user_data; }

/* A backend for the daemon at `uri`. */
static inline osbx_backend *backend_at(const char *uri) {
  osbx_config *config = osbx_config_new();
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  osbx_config_set_docker_host(config, uri);
  assert_ok(osbx_backend_new(config, &backend, &error), error);
  osbx_config_free(config);
  return backend;
}

/* Where nobody listens. */
static inline osbx_backend *unreachable_backend(void) { return backend_at("unix:///nonexistent/osbx/daemon"); }

#endif /* OSBX_TESTS_CAPI_CAPI_TEST_H_ */
