/* Runs a Python program in a sandbox and prints what it printed.
 *
 *   cc -std=c99 hello.c $(pkg-config --cflags --libs osbx) -o hello
 *   ./hello IMAGE             an image with python3
 *   ./hello IMAGE --kernel    prints how the guest's kernel names itself as well: gVisor says so in its log
 */
#include <osbx.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what, osbx_error *error) {
  fprintf(stderr, "%s: %s: %s\n", what, osbx_status_name(osbx_error_code(error)), osbx_error_message(error));
  osbx_error_free(error);
  return 1;
}

/* Runs argv and copies its output. Returns 0 when the program ended by itself with exit code 0. */
static int run(osbx_sandbox *sandbox, const char *const *argv, size_t argc) {
  osbx_error *error;
  osbx_result *result;
  size_t out_size, err_size;

  osbx_command *command = osbx_command_new(argv, argc);
  osbx_status status = osbx_exec(sandbox, command, NULL, &result, &error);
  osbx_command_free(command); /* NULL is fine, here and in the call above, which reports it */
  if (status != OSBX_OK) return failed("exec", error);

  const uint8_t *out = osbx_result_output(result, OSBX_STDOUT, &out_size);
  const uint8_t *err = osbx_result_output(result, OSBX_STDERR, &err_size);
  fwrite(out, 1, out_size, stdout);
  fwrite(err, 1, err_size, stderr);

  uint32_t reason = osbx_result_reason(result);
  int32_t code = osbx_result_exit_code(result);
  if (code != 0) fprintf(stderr, "%s: %s, exit code %d\n", argv[0], osbx_end_reason_name(reason), (int)code);
  osbx_result_free(result);
  return code != 0; /* -1 unless it exited or was signalled */
}

int main(int argc, char **argv) {
  static const char *const name = "osbx-example-hello";
  static const char *const python[] = {"python3", "-c", "print(6 * 7)"};
  static const char *const kernel[] = {"sh", "-c", "cat /proc/version; dmesg | grep -m 1 gVisor"};
  osbx_error *error;
  osbx_backend *backend;
  osbx_sandbox *sandbox;

  if (argc < 2) {
    fprintf(stderr, "usage: %s IMAGE [--kernel]\n", argv[0]);
    return 2;
  }
  if (osbx_backend_new(NULL, &backend, &error) != OSBX_OK) return failed("backend", error);

  osbx_spec *spec = osbx_spec_new();
  osbx_spec_set_image(spec, argv[1]);
  osbx_spec_set_memory_bytes(spec, (int64_t)256 << 20);
  osbx_spec_set_disk_bytes(spec, (int64_t)64 << 20);
  osbx_status status = osbx_create(backend, name, spec, NULL, &sandbox, &error);
  osbx_spec_free(spec);
  int exit_code = status == OSBX_OK ? run(sandbox, python, 3) : failed("create", error);
  if (exit_code == 0 && argc > 2 && strcmp(argv[2], "--kernel") == 0) exit_code = run(sandbox, kernel, 3);

  osbx_sandbox_free(sandbox); /* NULL after a failed create */
  if (osbx_destroy(backend, name, 0, NULL, &error) != OSBX_OK) exit_code = failed("destroy", error);
  osbx_backend_free(backend);
  return exit_code;
}
