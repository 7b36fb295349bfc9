/* The library leaves the process alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi_test.h"
#include "support/process_facts.h"
#include "support/scripted_daemon.h"

extern char **environ;

#define EMPTY_LIST \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"

static const scripted_answer answering[] = {{"/_ping", SCRIPTED_PING}, {"/containers/json", EMPTY_LIST}, {"", NULL}};
static const scripted_answer silent[] = {{"", NULL}};

/* Calls that succeed, fail, and run into a deadline. */
static void use_the_library(void) {
  scripted_daemon *daemon = scripted_daemon_start(answering);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_backend *nobody = unreachable_backend();
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_spec *spec = osbx_spec_new();
  osbx_spec_set_image(spec, "busybox");
  osbx_spec_set_cpus(spec, 0.5);
  osbx_list *list = NULL;
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_list_sandboxes(backend, 0, NULL, &list, &error), error);
  assert_fails(osbx_create(nobody, "n", spec, NULL, &sandbox, &error), OSBX_E_UNREACHABLE, "", error);
  osbx_cancel_set_timeout_ms(cancel, 50);
  assert_fails(osbx_create(backend, "n", spec, cancel, &sandbox, &error), OSBX_E_TIMEOUT, "", error);
  osbx_list_free(list);
  osbx_spec_free(spec);
  osbx_cancel_free(cancel);
  osbx_backend_free(nobody);
  osbx_backend_free(backend);
  scripted_daemon_stop(daemon);
}

static void test_manners__signals_stay_the_hosts(void **state) {
  (void)state;
  struct sigaction before[65], after[65];
  sigset_t mask_before, mask_after;
  for (int n = 1; n < 65; ++n) sigaction(n, NULL, &before[n]); /* fails for two in the middle, the same both times */
  pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
  use_the_library();
  for (int n = 1; n < 65; ++n) {
    if (sigaction(n, NULL, &after[n]) != 0) continue;
    if (before[n].sa_handler != after[n].sa_handler || before[n].sa_flags != after[n].sa_flags) {
      fail_msg("the disposition of signal %d was changed", n);
    }
  }
  pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
  for (int n = 1; n < 65; ++n) assert_int_equal(sigismember(&mask_before, n), sigismember(&mask_after, n));
}

static void test_manners__surroundings_stay_as_they_are(void **state) {
  (void)state;
  char directory_before[4096], directory_after[4096];
  assert_non_null(getcwd(directory_before, sizeof(directory_before)));
  const mode_t mask_before = umask(0027);
  umask(0027);
  char **environment_before = environ;
  size_t count_before = 0;
  while (environ[count_before] != NULL) ++count_before;
  char **copy = calloc(count_before + 1, sizeof(char *));
  for (size_t i = 0; i < count_before; ++i) copy[i] = strdup(environ[i]);

  use_the_library();

  assert_int_equal(umask(mask_before), 0027);
  assert_non_null(getcwd(directory_after, sizeof(directory_after)));
  assert_string_equal(directory_before, directory_after);
  assert_ptr_equal(environ, environment_before);
  for (size_t i = 0; i < count_before; ++i) {
    assert_string_equal(environ[i], copy[i]);
    free(copy[i]);
  }
  assert_null(environ[count_before]);
  free(copy);
}

static volatile sig_atomic_t child_signals;

static void count_child_signal(int number) {
  (void)number;
  ++child_signals;
}

static void test_manners__children_are_the_hosts(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = count_child_signal};
  struct sigaction before;
  sigaction(SIGCHLD, &action, &before);
  child_signals = 0;
  use_the_library();
  assert_int_equal(child_signals, 0);
  errno = 0;
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);

  /* A child of the host's own is reaped by nobody else. */
  const pid_t child = fork();
  if (child == 0) _exit(7);
  use_the_library();
  int status = 0;
  assert_int_equal(waitpid(-1, &status, 0), child);
  assert_int_equal(WEXITSTATUS(status), 7);
  assert_int_equal(child_signals, 1);
  sigaction(SIGCHLD, &before, NULL);
}

static void test_manners__peer_that_closes_is_no_sigpipe(void **state) {
  (void)state;
  static const scripted_answer closing[] = {{"", ""}, {NULL, NULL}};
  assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
  scripted_daemon *daemon = scripted_daemon_start(closing);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  for (int i = 0; i < 20; ++i) {
    assert_true(osbx_list_sandboxes(backend, 0, NULL, &list, &error) != OSBX_OK);
    osbx_error_free(error);
  }
  osbx_backend_free(backend);
  scripted_daemon_stop(daemon);
}

static int without_cloexec;

static void count_without_cloexec(void) {
  without_cloexec = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++without_cloexec;
  }
}

struct waiting_call {
  osbx_backend *backend;
  osbx_cancel *cancel;
  osbx_status status;
};

static void *list_until_canceled(void *argument) {
  struct waiting_call *call = argument;
  osbx_list *list = NULL;
  call->status = osbx_list_sandboxes(call->backend, 0, call->cancel, &list, NULL);
  return NULL;
}

static void test_manners__descriptors_are_closed_on_exec(void **state) {
  (void)state;
  count_without_cloexec();
  const int before = without_cloexec;
  scripted_daemon *daemon = scripted_daemon_start(silent);
  struct waiting_call call = {backend_at(scripted_daemon_uri(daemon)), osbx_cancel_new(), OSBX_OK};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, list_until_canceled, &call), 0);
  assert_true(scripted_daemon_wait_request(daemon, "/_ping")); /* now the library is connected */
  count_without_cloexec();
  assert_int_equal(without_cloexec, before);
  osbx_cancel_fire(call.cancel);
  pthread_join(thread, NULL);
  assert_int_equal(call.status, OSBX_E_CANCELED);
  osbx_cancel_free(call.cancel);
  osbx_backend_free(call.backend);
  scripted_daemon_stop(daemon);
}

/* A locale with a decimal comma, made for this test: no machine has to have it. */
static void use_german_locale(char *directory) {
  char command[256];
  strcpy(directory, "/tmp/osbx-test-locale-XXXXXX");
  assert_non_null(mkdtemp(directory));
  snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", directory);
  assert_int_equal(system(command), 0);
  setenv("LOCPATH", directory, 1);
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  assert_non_null(setlocale(LC_ALL, ""));
  char number[16];
  snprintf(number, sizeof(number), "%.1f", 1.5);
  assert_string_equal(number, "1,5");
}

static void test_manners__locale_of_the_host_neither_changes_nor_matters(void **state) {
  (void)state;
  char directory[64], command[128], before[256];
  use_german_locale(directory);
  strcpy(before, setlocale(LC_ALL, NULL));
  use_the_library();
  osbx_config *config = osbx_config_new();
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  osbx_config_set_docker_api_version(config, "1.43");
  assert_ok(osbx_backend_new(config, &backend, &error), error);
  osbx_backend_free(backend);
  osbx_config_free(config);
  assert_string_equal(setlocale(LC_ALL, NULL), before);
  setlocale(LC_ALL, "C");
  unsetenv("LC_ALL");
  unsetenv("LOCPATH");
  snprintf(command, sizeof(command), "rm -rf %s", directory);
  assert_int_equal(system(command), 0);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int number) {
  (void)number;
  ++alarms;
}

static void test_manners__interrupted_calls_go_on(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = count_alarm}; /* without SA_RESTART: every blocking call gives EINTR */
  struct sigaction before;
  sigaction(SIGALRM, &action, &before);
  const struct itimerval storm = {{0, 1000}, {0, 1000}};
  const struct itimerval calm = {{0, 0}, {0, 0}};
  scripted_daemon *daemon = scripted_daemon_start(answering);
  scripted_daemon *mute = scripted_daemon_start(silent);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_backend *waiting = backend_at(scripted_daemon_uri(mute));
  alarms = 0;
  setitimer(ITIMER_REAL, &storm, NULL);
  osbx_error *error = NULL;
  osbx_list *list = NULL;
  osbx_status worst = OSBX_OK;
  for (int i = 0; i < 30 && worst == OSBX_OK; ++i) {
    worst = osbx_list_sandboxes(backend, 0, NULL, &list, NULL);
    osbx_list_free(list);
  }
  osbx_cancel *cancel = osbx_cancel_new();
  const int64_t start = monotonic_ms();
  osbx_cancel_set_timeout_ms(cancel, 300);
  const osbx_status timed_out = osbx_list_sandboxes(waiting, 0, cancel, &list, &error);
  const int64_t waited = monotonic_ms() - start;
  setitimer(ITIMER_REAL, &calm, NULL);
  sigaction(SIGALRM, &before, NULL);
  assert_int_equal(worst, OSBX_OK);
  assert_fails(timed_out, OSBX_E_TIMEOUT, "", error);
  assert_true(waited >= 300);
  assert_true(alarms > 50);
  osbx_cancel_free(cancel);
  osbx_backend_free(backend);
  osbx_backend_free(waiting);
  scripted_daemon_stop(daemon);
  scripted_daemon_stop(mute);
}

static void test_manners__child_after_fork_uses_and_frees(void **state) {
  (void)state;
  scripted_daemon *daemon = scripted_daemon_start(answering);
  osbx_backend *backend = backend_at(scripted_daemon_uri(daemon));
  osbx_cancel *cancel = osbx_cancel_new();
  osbx_list *list = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_list_sandboxes(backend, 0, cancel, &list, &error), error);
  const pid_t child = fork();
  if (child == 0) {
    osbx_list *another = NULL;
    osbx_cancel_set_timeout_ms(cancel, 20000);
    if (osbx_list_sandboxes(backend, 0, cancel, &another, NULL) != OSBX_OK) _exit(1);
    osbx_list_free(another);
    osbx_list_free(list);
    osbx_cancel_fire(cancel); /* the parent's token is not this one any more */
    osbx_cancel_free(cancel);
    osbx_backend_free(backend);
    osbx_backend *own = backend_at(scripted_daemon_uri(daemon));
    if (osbx_list_sandboxes(own, 0, NULL, &another, NULL) != OSBX_OK) _exit(2);
    osbx_list_free(another);
    osbx_backend_free(own);
    _exit(0);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  osbx_list_free(list);
  assert_ok(osbx_list_sandboxes(backend, 0, cancel, &list, &error), error);
  osbx_list_free(list);
  osbx_cancel_free(cancel);
  osbx_backend_free(backend);
  scripted_daemon_stop(daemon);
}

static void test_manners__prints_nothing(void **state) {
  (void)state;
  char path[] = "/tmp/osbx-test-output-XXXXXX";
  const int captured = mkstemp(path);
  assert_true(captured >= 0);
  unlink(path);
  fflush(NULL);
  const int saved_out = dup(1);
  const int saved_err = dup(2);
  dup2(captured, 1);
  dup2(captured, 2);
  use_the_library();
  fflush(NULL);
  dup2(saved_out, 1);
  dup2(saved_err, 2);
  close(saved_out);
  close(saved_err);
  assert_int_equal(lseek(captured, 0, SEEK_END), 0);
  close(captured);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_manners__signals_stay_the_hosts),
      cmocka_unit_test(test_manners__surroundings_stay_as_they_are),
      cmocka_unit_test(test_manners__children_are_the_hosts),
      cmocka_unit_test(test_manners__peer_that_closes_is_no_sigpipe),
      cmocka_unit_test(test_manners__descriptors_are_closed_on_exec),
      cmocka_unit_test(test_manners__locale_of_the_host_neither_changes_nor_matters),
      cmocka_unit_test(test_manners__interrupted_calls_go_on),
      cmocka_unit_test(test_manners__child_after_fork_uses_and_frees),
      cmocka_unit_test(test_manners__prints_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
