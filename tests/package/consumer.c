/* What an embedder's first program needs to link: a call without arguments, one that allocates, one that fails. */
#include <osbx.h>
#include <stdio.h>

int main(void) {
  osbx_backend *backend = NULL;
  osbx_error *error = NULL;
  uint32_t header = OSBX_VERSION_MAJOR * 10000 + OSBX_VERSION_MINOR * 100 + OSBX_VERSION_PATCH;
  if (osbx_version() != header) return 1;
  if (osbx_backend_new(NULL, NULL, &error) != OSBX_E_INVALID) return 2;
  osbx_error_free(error);
  if (osbx_backend_new(NULL, &backend, &error) != OSBX_OK) {
    fprintf(stderr, "%s\n", osbx_error_message(error));
    return 3;
  }
  osbx_backend_free(backend);
  return 0;
}
