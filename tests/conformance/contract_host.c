/* The contract server in the process of somebody else, through the C API: configured and behaving as the program
 * `sandbox`, so that the same suite can be run against it. */
#define _GNU_SOURCE
#include <errno.h>
#include <osbx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value != NULL ? value : otherwise;
}

int main(void) {
  char listen[64];
  char *end = NULL;
  const char *port = setting("SANDBOX_PORT", "3000");
  const unsigned long number = strtoul(port, &end, 10);
  const char *workspace = setting("SANDBOX_WORKSPACE", "/workspace");
  const char *shell = setting("SANDBOX_SHELL", "/bin/sh");
  if (*port < '0' || *port > '9' || *end != '\0' || number > 65535) {
    fprintf(stderr, "contract_host: SANDBOX_PORT must be a number from 0 to 65535\n");
    return 2;
  }
  if (*workspace != '/' || *shell != '/') {
    fprintf(stderr, "contract_host: %s must be an absolute path\n",
            *workspace != '/' ? "SANDBOX_WORKSPACE" : "SANDBOX_SHELL");
    return 2;
  }
  snprintf(listen, sizeof listen, ":%lu", number);

  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, NULL);

  osbx_contract *contract = osbx_contract_new();
  osbx_contract_set_workspace(contract, workspace);
  osbx_contract_set_shell(contract, shell);
  osbx_contract_set_listen(contract, listen);
  osbx_server *server = NULL;
  osbx_error *error = NULL;
  if (osbx_contract_start(contract, &server, &error) != OSBX_OK) {
    fprintf(stderr, "contract_host: %s\n", osbx_error_message(error));
    osbx_error_free(error);
    osbx_contract_free(contract);
    return 1;
  }
  osbx_contract_free(contract);
  printf("listening on %s\n", osbx_server_address(server));
  fflush(stdout);

  int signal = 0;
  while (sigwait(&ends, &signal) == EINTR) continue;
  osbx_server_stop(server, 5000);
  osbx_server_free(server);
  return 0;
}
