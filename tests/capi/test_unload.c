/* The library can be loaded, used and unloaded again and again. Usage: capi_unload LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "capi_test.h"
#include "support/process_facts.h"
#include "support/scripted_daemon.h"

#define EMPTY_LIST \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"

static const char *library;

/* Only what is used here; the types are the header's. */
struct functions {
  void *handle;
  __typeof__(osbx_config_new) *config_new;
  __typeof__(osbx_config_set_docker_host) *config_set_docker_host;
  __typeof__(osbx_config_free) *config_free;
  __typeof__(osbx_backend_new) *backend_new;
  __typeof__(osbx_backend_free) *backend_free;
  __typeof__(osbx_list_sandboxes) *list_sandboxes;
  __typeof__(osbx_list_free) *list_free;
  __typeof__(osbx_error_free) *error_free;
};

static void *symbol(void *handle, const char *name) {
  void *address = dlsym(handle, name);
  if (address == NULL) fail_msg("%s", dlerror());
  return address;
}

#define LOAD(table, name) *(void **)&(table).name = symbol((table).handle, "osbx_" #name)

static struct functions load(void) {
  struct functions table = {0};
  table.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (table.handle == NULL) fail_msg("%s", dlerror());
  LOAD(table, config_new);
  LOAD(table, config_set_docker_host);
  LOAD(table, config_free);
  LOAD(table, backend_new);
  LOAD(table, backend_free);
  LOAD(table, list_sandboxes);
  LOAD(table, list_free);
  LOAD(table, error_free);
  return table;
}

static osbx_status use(const struct functions *osbx, const char *uri) {
  osbx_config *config = osbx->config_new();
  osbx_backend *backend = NULL;
  osbx_list *list = NULL;
  osbx_error *error = NULL;
  osbx->config_set_docker_host(config, uri);
  osbx_status status = osbx->backend_new(config, &backend, NULL);
  if (status == OSBX_OK) status = osbx->list_sandboxes(backend, 0, NULL, &list, &error);
  osbx->error_free(error);
  osbx->list_free(list);
  osbx->backend_free(backend);
  osbx->config_free(config);
  return status;
}

/* A sanitizer keeps what is freed, to catch its use, and what is unloaded, to name it; its own library cannot be loaded
 * into a second namespace. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void round_of(const char *uri, osbx_status expected) {
  struct functions osbx = load();
  assert_int_equal(use(&osbx, uri), expected);
  assert_int_equal(process_maps("libosbx.so"), 1);
  assert_int_equal(dlclose(osbx.handle), 0);
  assert_int_equal(process_maps("libosbx.so"), 0);
}

static void test_unload__mapping_goes_and_nothing_grows(void **state) {
  (void)state;
  static const scripted_answer script[] = {{"/_ping", SCRIPTED_PING}, {"", EMPTY_LIST}, {NULL, NULL}};
  scripted_daemon *daemon = scripted_daemon_start(script);
  const char *uri = scripted_daemon_uri(daemon);
  for (int i = 0; i < 20; ++i) round_of(uri, OSBX_OK); /* what libraries below keep for good, they have then */
  const long kib = process_resident_kib();
  const int fds = process_fd_count();
  const int threads = process_thread_count();
  for (int i = 0; i < 100; ++i) {
    round_of(uri, OSBX_OK);
    round_of("unix:///nonexistent/daemon", OSBX_E_UNREACHABLE);
  }
  const long grown = process_resident_kib() - kib;
  if (!SANITIZED && grown >= 1024) fail_msg("200 rounds cost %ld KiB", grown);
  assert_int_equal(process_fd_count(), fds);
  assert_true(process_thread_count_becomes(threads));
  scripted_daemon_stop(daemon);
}

static void test_unload__may_be_loaded_twice(void **state) {
  (void)state;
  struct functions one = load();
  struct functions two = load();
  assert_int_equal(use(&one, "unix:///nonexistent/daemon"), OSBX_E_UNREACHABLE);
  assert_int_equal(dlclose(one.handle), 0);
  assert_int_equal(use(&two, "unix:///nonexistent/daemon"), OSBX_E_UNREACHABLE);
  assert_int_equal(dlclose(two.handle), 0);
  assert_int_equal(process_maps("libosbx.so"), 0);

  if (SANITIZED) return;
  /* And in a namespace of its own, beside the first. */
  one = load();
  two = one;
  two.handle = dlmopen(LM_ID_NEWLM, library, RTLD_NOW | RTLD_LOCAL);
  if (two.handle == NULL) fail_msg("%s", dlerror());
  assert_true(dlsym(two.handle, "osbx_version") != dlsym(one.handle, "osbx_version"));
  assert_int_equal(use(&one, "unix:///nonexistent/daemon"), OSBX_E_UNREACHABLE);
  assert_int_equal(dlclose(two.handle), 0);
  assert_int_equal(dlclose(one.handle), 0);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  library = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unload__mapping_goes_and_nothing_grows),
      cmocka_unit_test(test_unload__may_be_loaded_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
