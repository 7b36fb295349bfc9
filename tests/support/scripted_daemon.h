/* A daemon on a unix socket for tests in C: each connection carries one request, and its answer is looked up in a
 * table.
 *
 *   static const scripted_answer script[] = {{"/_ping", SCRIPTED_PING}, {"/containers/json", "HTTP/1.1 500 ..."}, {0}};
 *   scripted_daemon *daemon = scripted_daemon_start(script);
 *   osbx_config_set_docker_host(config, scripted_daemon_uri(daemon));
 *
 * Linked with the support code only, never with the library: it must not share a defect with what it tests. */
#ifndef OSBX_TESTS_SUPPORT_SCRIPTED_DAEMON_H_
#define OSBX_TESTS_SUPPORT_SCRIPTED_DAEMON_H_

typedef struct scripted_answer {
  const char *match;    /* found in the first line of the request; NULL ends the table, "" matches all */
  const char *response; /* sent as it stands, then the connection is closed; NULL: never answered */
} scripted_answer;

typedef struct scripted_daemon scripted_daemon;

/* A daemon of API 1.41 answers a ping so. */
#define SCRIPTED_PING \
  "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nOstype: linux\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK"

/* The table must outlive the daemon. Ends the test program when there is no socket to be had. */
scripted_daemon *scripted_daemon_start(const scripted_answer *script);
/* "unix:///..." */
const char *scripted_daemon_uri(const scripted_daemon *daemon);
/* The path of the socket. */
const char *scripted_daemon_path(const scripted_daemon *daemon);
/* Waits at most ten seconds until `count` requests have arrived whose first line has `match` in it; 0 when fewer came.
 */
int scripted_daemon_wait_requests(scripted_daemon *daemon, const char *match, int count);
int scripted_daemon_wait_request(scripted_daemon *daemon, const char *match);
/* Breaks all connections, and removes the socket. */
void scripted_daemon_stop(scripted_daemon *daemon);

#endif /* OSBX_TESTS_SUPPORT_SCRIPTED_DAEMON_H_ */
