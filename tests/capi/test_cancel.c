#include <pthread.h>

#include "capi_test.h"
#include "support/process_facts.h"
#include "support/scripted_daemon.h"

static const scripted_answer silent[] = {{"", NULL}};

/* Far above the documented 100 ms, and far below "for ever": a loaded machine must not turn the test red. */
enum { BOUND_MS = 5000 };

static void test_cancel__fired_before_the_call(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_spec *spec = osbx_spec_new();
  osbx_spec_set_image(spec, "busybox");
  osbx_sandbox *sandbox = NULL;
  osbx_list *list = NULL;
  osbx_error *error = NULL;
  osbx_cancel_fire(cancel);
  osbx_cancel_fire(cancel);
  assert_fails(osbx_list_sandboxes(backend, 0, cancel, &list, &error), OSBX_E_CANCELED, "", error);
  assert_fails(osbx_create(backend, "n", spec, cancel, &sandbox, &error), OSBX_E_CANCELED, "", error);
  assert_fails(osbx_open(backend, "n", 0, cancel, &sandbox, &error), OSBX_E_CANCELED, "", error);
  assert_fails(osbx_destroy(backend, "n", 0, cancel, &error), OSBX_E_CANCELED, "", error);
  osbx_spec_free(spec);
  osbx_cancel_free(cancel);
  osbx_backend_free(backend);
}

static void test_cancel__deadline_that_has_passed(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  static const int64_t past[] = {0, -1, INT64_MIN};
  for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); ++i) {
    osbx_cancel *cancel = osbx_cancel_new();
    osbx_cancel_set_timeout_ms(cancel, past[i]);
    assert_fails(osbx_list_sandboxes(backend, 0, cancel, &list, &error), OSBX_E_TIMEOUT, "", error);
    osbx_cancel_free(cancel);
  }
  osbx_backend_free(backend);
}

static void test_cancel__deadline_may_be_moved_away(void **state) {
  (void)state;
  osbx_backend *backend = unreachable_backend();
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  osbx_cancel_set_timeout_ms(cancel, 0);
  osbx_cancel_set_timeout_ms(cancel, INT64_MAX);
  assert_fails(osbx_list_sandboxes(backend, 0, cancel, &list, &error), OSBX_E_UNREACHABLE, "", error);
  osbx_cancel_free(cancel);
  osbx_backend_free(backend);
}

static void test_cancel__deadline_ends_a_silent_daemons_call(void **state) {
  (void)state;
  scripted_daemon *daemon = scripted_daemon_start(silent);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  const int64_t start = monotonic_ms();
  osbx_cancel_set_timeout_ms(cancel, 200);
  assert_fails(osbx_list_sandboxes(backend, 0, cancel, &list, &error), OSBX_E_TIMEOUT, "", error);
  assert_true(monotonic_ms() - start >= 200);
  assert_true(monotonic_ms() - start < BOUND_MS);
  osbx_cancel_free(cancel);
  osbx_backend_free(backend);
  scripted_daemon_stop(daemon);
}

struct fire_when_asked {
  scripted_daemon *daemon;
  osbx_cancel *cancel;
  int came;
  int free_token;
  int shorten;
};

static void *fire_when_asked(void *argument) {
  struct fire_when_asked *fire = argument;
  fire->came = scripted_daemon_wait_request(fire->daemon, "/_ping");
  if (fire->shorten) {
    osbx_cancel_set_timeout_ms(fire->cancel, 0);
  } else {
    osbx_cancel_fire(fire->cancel);
  }
  if (fire->free_token) osbx_cancel_free(fire->cancel);
  return NULL;
}

static void run_until_fired(int shorten, osbx_status expected) {
  scripted_daemon *daemon = scripted_daemon_start(silent);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  struct fire_when_asked fire = {daemon, osbx_cancel_new(), 0, 1, shorten};
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fire_when_asked, &fire), 0);
  /* Freed by the other thread while the call still uses it. */
  assert_fails(osbx_list_sandboxes(backend, 0, fire.cancel, &list, &error), expected, "", error);
  pthread_join(thread, NULL);
  assert_true(fire.came);
  osbx_backend_free(backend);
  scripted_daemon_stop(daemon);
}

static void test_cancel__fired_by_another_thread(void **state) {
  (void)state;
  run_until_fired(0, OSBX_E_CANCELED);
}

static void test_cancel__deadline_moved_near_by_another_thread(void **state) {
  (void)state;
  run_until_fired(1, OSBX_E_TIMEOUT);
}

struct shared_call {
  osbx_backend *backend;
  osbx_cancel *cancel;
  osbx_status status;
};

static void *list_with_shared_token(void *argument) {
  struct shared_call *call = argument;
  osbx_list *list = NULL;
  call->status = osbx_list_sandboxes(call->backend, 0, call->cancel, &list, NULL);
  osbx_list_free(list);
  return NULL;
}

static void test_cancel__one_token_ends_many_calls(void **state) {
  (void)state;
  enum { CALLS = 8 };
  scripted_daemon *daemon = scripted_daemon_start(silent);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_cancel *cancel = osbx_cancel_new();
  struct shared_call calls[CALLS];
  pthread_t threads[CALLS];
  for (int i = 0; i < CALLS; ++i) {
    calls[i] = (struct shared_call){backend, cancel, OSBX_OK};
    assert_int_equal(pthread_create(&threads[i], NULL, list_with_shared_token, &calls[i]), 0);
  }
  assert_true(scripted_daemon_wait_requests(daemon, "/_ping", CALLS)); /* all are inside */
  osbx_backend_free(backend);                                          /* and go on */
  osbx_cancel_fire(cancel);
  for (int i = 0; i < CALLS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(calls[i].status, OSBX_E_CANCELED);
  }
  osbx_cancel_free(cancel);
  scripted_daemon_stop(daemon);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cancel__fired_before_the_call),
      cmocka_unit_test(test_cancel__deadline_that_has_passed),
      cmocka_unit_test(test_cancel__deadline_may_be_moved_away),
      cmocka_unit_test(test_cancel__deadline_ends_a_silent_daemons_call),
      cmocka_unit_test(test_cancel__fired_by_another_thread),
      cmocka_unit_test(test_cancel__deadline_moved_near_by_another_thread),
      cmocka_unit_test(test_cancel__one_token_ends_many_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
