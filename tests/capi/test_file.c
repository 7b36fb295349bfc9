#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "capi_test.h"
#include "support/engine_fixture.h"

static const uint8_t *bytes_of(const char *text) { return (const uint8_t *)text; }

static void put(const char *path, uint32_t mode, const char *text) {
  osbx_error *error = NULL;
  assert_ok(osbx_file_put(engine_shared_sandbox(), path, mode, bytes_of(text), strlen(text), 0, NULL, &error), error);
}

static void assert_content(const char *path, const char *expected) {
  osbx_error *error = NULL;
  osbx_buffer *buffer = NULL;
  size_t size = 0;
  assert_ok(osbx_file_get(engine_shared_sandbox(), path, 1 << 20, 0, NULL, &buffer, &error), error);
  const uint8_t *data = osbx_buffer_data(buffer, &size);
  assert_non_null(osbx_buffer_data(buffer, NULL));
  assert_int_equal(size, strlen(expected));
  assert_memory_equal(data, expected, size);
  osbx_buffer_free(buffer);
}

static void test_file__what_was_put_is_got(void **state) {
  (void)state;
  put("/workspace/a b", 0, "hello");
  assert_content("/workspace/a b", "hello");
  put("/workspace/a b", 0, "");
  assert_content("/workspace/a b", "");
  put("/workspace/new/folder/file", 0, "deep");
  assert_content("/workspace/new/folder/file", "deep");
  put("/tmp/-rf", 0, "x");
  assert_content("/tmp/-rf", "x");
  osbx_error *error = NULL;
  assert_ok(osbx_file_put(engine_shared_sandbox(), "/tmp/empty", 0, NULL, 0, 0, NULL, &error), error);
  assert_content("/tmp/empty", "");
}

static void test_file__mode_is_applied_and_kept(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_shared_sandbox();
  put("/workspace/mode", 0, "x");
  assert_int_equal(engine_run(sandbox, "test $(stat -c %a /workspace/mode) = 644"), 0);
  put("/workspace/mode", 0750, "x");
  assert_int_equal(engine_run(sandbox, "test $(stat -c %a /workspace/mode) = 750"), 0);
  put("/workspace/mode", 0, "y"); /* 0 keeps the old file's */
  assert_int_equal(engine_run(sandbox, "test $(stat -c %a /workspace/mode) = 750"), 0);
  osbx_error *error = NULL;
  static const uint32_t bad[] = {01000, 04755, 0100644, UINT32_MAX};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    assert_fails(osbx_file_put(sandbox, "/workspace/mode", bad[i], NULL, 0, 0, NULL, &error), OSBX_E_INVALID, "mode",
                 error);
  }
  assert_content("/workspace/mode", "y");
}

static void test_file__bad_arguments_are_refused(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_shared_sandbox();
  osbx_error *error = NULL;
  osbx_buffer *buffer = NULL;
  int destroyed = 0;
  static const char *const paths[] = {"", "relative", "/", "/tmp/", "/tmp/..", "/\xff"};
  for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
    assert_fails(osbx_file_put(sandbox, paths[i], 0, NULL, 0, 0, NULL, &error), OSBX_E_INVALID, "path", error);
    assert_fails(osbx_file_get(sandbox, paths[i], 1, 0, NULL, &buffer, &error), OSBX_E_INVALID, "path", error);
  }
  assert_fails(osbx_file_put(sandbox, NULL, 0, NULL, 0, 0, NULL, &error), OSBX_E_INVALID, "path is NULL", error);
  assert_fails(osbx_file_put(sandbox, "/tmp/x", 0, NULL, 1, 0, NULL, &error), OSBX_E_INVALID, "data is NULL", error);
  assert_fails(osbx_file_put(sandbox, "/tmp/x", 0, NULL, 0, 1, NULL, &error), OSBX_E_INVALID, "flags", error);
  assert_fails(osbx_file_get(sandbox, "/tmp/x", 1, 1, NULL, &buffer, &error), OSBX_E_INVALID, "flags", error);
  assert_fails(osbx_file_get(sandbox, "/tmp/x", 1, 0, NULL, NULL, &error), OSBX_E_INVALID, "out is NULL", error);
  assert_fails(osbx_file_put_stream(sandbox, "/tmp/x", 0, NULL, &destroyed, count_destroy, 0, NULL, &error),
               OSBX_E_INVALID, "reader is NULL", error);
  assert_fails(osbx_file_get_stream(sandbox, "/tmp/x", NULL, &destroyed, count_destroy, 0, NULL, &error),
               OSBX_E_INVALID, "writer is NULL", error);
  assert_int_equal(destroyed, 2);
  assert_fails(osbx_file_get(sandbox, "/tmp/x", 1, 0, NULL, &buffer, &error), OSBX_E_NOT_FOUND, "", error);
}

static void test_file__maximum_of_get(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_shared_sandbox();
  osbx_error *error = NULL;
  osbx_buffer *buffer = POISON(osbx_buffer);
  put("/tmp/five", 0, "12345");
  assert_ok(osbx_file_get(sandbox, "/tmp/five", 5, 0, NULL, &buffer, &error), error);
  osbx_buffer_free(buffer);
  assert_ok(osbx_file_get(sandbox, "/tmp/five", SIZE_MAX, 0, NULL, &buffer, &error), error);
  osbx_buffer_free(buffer);
  assert_fails(osbx_file_get(sandbox, "/tmp/five", 4, 0, NULL, &buffer, &error), OSBX_E_TOO_LARGE, "4", error);
  assert_null(buffer);
  assert_fails(osbx_file_get(sandbox, "/tmp/five", 0, 0, NULL, &buffer, &error), OSBX_E_TOO_LARGE, "0", error);
  put("/tmp/none", 0, "");
  assert_ok(osbx_file_get(sandbox, "/tmp/none", 0, 0, NULL, &buffer, &error), error);
  osbx_buffer_free(buffer);
}

static void test_file__what_is_no_regular_file(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_shared_sandbox();
  osbx_error *error = NULL;
  osbx_buffer *buffer = NULL;
  assert_int_equal(engine_run(sandbox,
                              "mkdir -p /tmp/folder && mkfifo /tmp/fifo && ln -s /tmp/target /tmp/link && echo t > "
                              "/tmp/target && echo s > /tmp/secret && chmod 0 /tmp/secret"),
                   0);
  assert_fails(osbx_file_get(sandbox, "/tmp/folder", 9, 0, NULL, &buffer, &error), OSBX_E_INVALID, "", error);
  assert_fails(osbx_file_get(sandbox, "/tmp/fifo", 9, 0, NULL, &buffer, &error), OSBX_E_INVALID, "", error);
  assert_fails(osbx_file_get(sandbox, "/dev/zero", 9, 0, NULL, &buffer, &error), OSBX_E_INVALID, "", error);
  assert_fails(osbx_file_get(sandbox, "/tmp/nothing", 9, 0, NULL, &buffer, &error), OSBX_E_NOT_FOUND, "", error);
  assert_fails(osbx_file_get(sandbox, "/tmp/secret", 9, 0, NULL, &buffer, &error), OSBX_E_PERMISSION, "", error);
  assert_content("/tmp/link", "t\n"); /* followed by get */
  put("/tmp/link", 0, "replaced");    /* and replaced by put */
  assert_content("/tmp/link", "replaced");
  assert_content("/tmp/target", "t\n");
  assert_fails(osbx_file_put(sandbox, "/tmp/folder", 0, NULL, 0, 0, NULL, &error), OSBX_E_INVALID, "", error);
  assert_fails(osbx_file_put(sandbox, "/tmp/target/below", 0, NULL, 0, 0, NULL, &error), OSBX_E_INVALID, "", error);
  assert_fails(osbx_file_put(sandbox, "/etc/osbx", 0, NULL, 0, 0, NULL, &error), OSBX_E_PERMISSION, "", error);
}

struct transfer {
  pthread_t caller;
  int other_thread;
  size_t left;    /* bytes that the reader still has */
  size_t give_up; /* the call with this number (from 1) gives up */
  size_t calls, bytes;
  int wrong_bytes, wrong_stream, over_capacity;
  int destroyed, used_after_destroy;
};

static int64_t transfer_read(void *user_data, uint8_t *buffer, size_t capacity) {
  struct transfer *transfer = user_data;
  transfer->other_thread += !pthread_equal(transfer->caller, pthread_self());
  transfer->used_after_destroy += transfer->destroyed;
  if (++transfer->calls == transfer->give_up) return transfer->over_capacity ? (int64_t)capacity + 1 : -1;
  const size_t count = transfer->left < capacity ? transfer->left : capacity;
  for (size_t i = 0; i < count; ++i) buffer[i] = (uint8_t)((transfer->bytes + i) % 251);
  transfer->bytes += count;
  transfer->left -= count;
  return (int64_t)count;
}

static int32_t transfer_write(void *user_data, uint32_t stream, const uint8_t *data, size_t size) {
  struct transfer *transfer = user_data;
  transfer->other_thread += !pthread_equal(transfer->caller, pthread_self());
  transfer->used_after_destroy += transfer->destroyed;
  transfer->wrong_stream += stream != OSBX_STDOUT;
  for (size_t i = 0; i < size; ++i) transfer->wrong_bytes += data[i] != (uint8_t)((transfer->bytes + i) % 251);
  transfer->bytes += size;
  return ++transfer->calls == transfer->give_up ? 5 : 0;
}

static void transfer_destroy(void *user_data) { ++((struct transfer *)user_data)->destroyed; }

static void test_file_stream__every_byte_there_and_back(void **state) {
  (void)state;
  enum { SIZE = 5000000 };
  osbx_error *error = NULL;
  struct transfer up = {.caller = pthread_self(), .left = SIZE};
  assert_ok(osbx_file_put_stream(engine_shared_sandbox(), "/workspace/big", 0, transfer_read, &up, transfer_destroy, 0,
                                 NULL, &error),
            error);
  assert_int_equal(up.bytes, SIZE);
  assert_int_equal(up.other_thread, 0);
  assert_int_equal(up.destroyed, 1);
  assert_int_equal(up.used_after_destroy, 0);
  struct transfer down = {.caller = pthread_self()};
  assert_ok(osbx_file_get_stream(engine_shared_sandbox(), "/workspace/big", transfer_write, &down, transfer_destroy, 0,
                                 NULL, &error),
            error);
  assert_int_equal(down.bytes, SIZE);
  assert_int_equal(down.wrong_bytes, 0);
  assert_int_equal(down.wrong_stream, 0);
  assert_int_equal(down.other_thread, 0);
  assert_int_equal(down.destroyed, 1);
  assert_int_equal(down.used_after_destroy, 0);
}

static void test_file_stream__reader_that_gives_up_leaves_the_old_file(void **state) {
  (void)state;
  osbx_sandbox *sandbox = engine_shared_sandbox();
  put("/workspace/old", 0, "old");
  for (int over_capacity = 0; over_capacity < 2; ++over_capacity) {
    osbx_error *error = NULL;
    struct transfer up = {.caller = pthread_self(), .left = 50000000, .give_up = 20, .over_capacity = over_capacity};
    assert_fails(
        osbx_file_put_stream(sandbox, "/workspace/old", 0, transfer_read, &up, transfer_destroy, 0, NULL, &error),
        OSBX_E_CALLBACK, "reader", error);
    assert_int_equal(up.calls, 20);
    assert_int_equal(up.destroyed, 1);
    assert_content("/workspace/old", "old");
  }
  assert_int_equal(engine_run(sandbox, "test \"$(find /workspace -name '*.osbx*' -o -name '.*tmp*' | wc -l)\" = 0"), 0);
}

static void test_file_stream__writer_that_gives_up_is_a_callback_error(void **state) {
  (void)state;
  osbx_error *error = NULL;
  assert_int_equal(engine_run(engine_shared_sandbox(), "head -c 3000000 /dev/zero > /workspace/zeros"), 0);
  struct transfer down = {.caller = pthread_self(), .give_up = 2};
  assert_fails(osbx_file_get_stream(engine_shared_sandbox(), "/workspace/zeros", transfer_write, &down,
                                    transfer_destroy, 0, NULL, &error),
               OSBX_E_CALLBACK, "writer", error);
  assert_int_equal(down.calls, 2);
  assert_int_equal(down.destroyed, 1);
}

static void test_file__full_disk_leaves_the_old_file(void **state) {
  (void)state;
  osbx_spec *spec = engine_spec();
  osbx_spec_set_disk_bytes(spec, 4 << 20);
  osbx_sandbox *sandbox = NULL;
  osbx_error *error = NULL;
  assert_ok(osbx_create(engine_backend(), engine_name(), spec, NULL, &sandbox, &error), error);
  osbx_spec_free(spec);
  assert_ok(osbx_file_put(sandbox, "/workspace/f", 0, bytes_of("old"), 3, 0, NULL, &error), error);
  uint8_t *large = calloc(1, 8 << 20);
  assert_fails(osbx_file_put(sandbox, "/workspace/f", 0, large, 8 << 20, 0, NULL, &error), OSBX_E_NO_SPACE, "", error);
  free(large);
  osbx_buffer *buffer = NULL;
  assert_ok(osbx_file_get(sandbox, "/workspace/f", 10, 0, NULL, &buffer, &error), error);
  size_t size = 0;
  assert_memory_equal(osbx_buffer_data(buffer, &size), "old", 3);
  assert_int_equal(size, 3);
  osbx_buffer_free(buffer);
  osbx_sandbox_free(sandbox);
}

struct canceling_read {
  struct transfer transfer;
  osbx_cancel *cancel;
};

static int64_t read_and_fire(void *user_data, uint8_t *buffer, size_t capacity) {
  struct canceling_read *read = user_data;
  if (read->transfer.calls == 5) osbx_cancel_fire(read->cancel);
  return transfer_read(&read->transfer, buffer, capacity);
}

static void test_file__cancel_leaves_the_old_file(void **state) {
  (void)state;
  osbx_error *error = NULL;
  put("/workspace/kept", 0, "old");
  struct canceling_read read = {{.caller = pthread_self(), .left = SIZE_MAX}, osbx_cancel_new()};
  assert_fails(osbx_file_put_stream(engine_shared_sandbox(), "/workspace/kept", 0, read_and_fire, &read, NULL, 0,
                                    read.cancel, &error),
               OSBX_E_CANCELED, "", error);
  osbx_cancel_free(read.cancel);
  assert_content("/workspace/kept", "old");
  osbx_cancel *late = osbx_cancel_new();
  osbx_cancel_set_timeout_ms(late, 0);
  osbx_buffer *buffer = NULL;
  assert_fails(osbx_file_get(engine_shared_sandbox(), "/workspace/kept", 9, 0, late, &buffer, &error), OSBX_E_TIMEOUT,
               "", error);
  osbx_cancel_free(late);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file__what_was_put_is_got),
      cmocka_unit_test(test_file__mode_is_applied_and_kept),
      cmocka_unit_test(test_file__bad_arguments_are_refused),
      cmocka_unit_test(test_file__maximum_of_get),
      cmocka_unit_test(test_file__what_is_no_regular_file),
      cmocka_unit_test(test_file_stream__every_byte_there_and_back),
      cmocka_unit_test(test_file_stream__reader_that_gives_up_leaves_the_old_file),
      cmocka_unit_test(test_file_stream__writer_that_gives_up_is_a_callback_error),
      cmocka_unit_test(test_file__full_disk_leaves_the_old_file),
      cmocka_unit_test(test_file__cancel_leaves_the_old_file),
  };
  return cmocka_run_group_tests(tests, engine_setup, engine_teardown);
}
