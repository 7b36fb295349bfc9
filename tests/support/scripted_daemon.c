#define _GNU_SOURCE
#include "scripted_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REQUESTS = 256, MAX_LINE = 512, MAX_HELD = 64, MAX_HEAD = 65536 };

struct scripted_daemon {
  const scripted_answer *script;
  char directory[64];
  char path[80];
  char uri[96];
  int listener;
  int stop;
  pthread_t thread;

  pthread_mutex_t mutex;
  pthread_cond_t arrived;
  char lines[MAX_REQUESTS][MAX_LINE]; /* the first line of each request; guarded by mutex */
  int line_count;

  int held[MAX_HELD]; /* connections that are never answered; the thread's own */
  int held_count;
};

static void die(const char *what) {
  perror(what);
  abort();
}

/* 1 when `fd` has something to read (or its end), 0 when the daemon is being stopped. */
static int wait_readable(scripted_daemon *daemon, int fd) {
  struct pollfd fds[2] = {{.fd = daemon->stop, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
  while (poll(fds, 2, -1) < 0) {
    if (errno != EINTR) return 0;
  }
  return fds[0].revents == 0;
}

static void note_request(scripted_daemon *daemon, const char *head) {
  pthread_mutex_lock(&daemon->mutex);
  if (daemon->line_count < MAX_REQUESTS) {
    snprintf(daemon->lines[daemon->line_count++], MAX_LINE, "%.*s", (int)strcspn(head, "\r\n"), head);
  }
  pthread_cond_broadcast(&daemon->arrived);
  pthread_mutex_unlock(&daemon->mutex);
}

static const scripted_answer *find_answer(const scripted_daemon *daemon, const char *head) {
  char line[MAX_LINE];
  snprintf(line, sizeof(line), "%.*s", (int)strcspn(head, "\r\n"), head);
  const scripted_answer *answer = daemon->script;
  while (answer->match != NULL && strstr(line, answer->match) == NULL) ++answer;
  return answer;
}

static void serve(scripted_daemon *daemon, int fd) {
  static char head[MAX_HEAD + 1];
  size_t size = 0;
  head[0] = '\0';
  while (strstr(head, "\r\n\r\n") == NULL && size < MAX_HEAD) {
    if (!wait_readable(daemon, fd)) return;
    const ssize_t count = read(fd, head + size, MAX_HEAD - size);
    if (count <= 0) return;
    size += (size_t)count;
    head[size] = '\0';
  }
  note_request(daemon, head);
  const scripted_answer *answer = find_answer(daemon, head);
  if (answer->match == NULL || answer->response == NULL) {
    if (daemon->held_count < MAX_HELD) daemon->held[daemon->held_count++] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return;
  }
  const char *rest = answer->response;
  while (*rest != '\0') {
    const ssize_t count = send(fd, rest, strlen(rest), MSG_NOSIGNAL);
    if (count <= 0) return;
    rest += count;
  }
}

static void *run(void *argument) {
  scripted_daemon *daemon = argument;
  while (wait_readable(daemon, daemon->listener)) {
    const int fd = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    serve(daemon, fd);
    close(fd);
  }
  for (int i = 0; i < daemon->held_count; ++i) close(daemon->held[i]);
  return NULL;
}

scripted_daemon *scripted_daemon_start(const scripted_answer *script) {
  scripted_daemon *daemon = calloc(1, sizeof(*daemon));
  if (daemon == NULL) die("calloc");
  daemon->script = script;
  strcpy(daemon->directory, "/tmp/osbx-test-XXXXXX");
  if (mkdtemp(daemon->directory) == NULL) die("mkdtemp");
  if (chmod(daemon->directory, 0755) != 0) die("chmod");
  snprintf(daemon->path, sizeof(daemon->path), "%s/daemon", daemon->directory);
  snprintf(daemon->uri, sizeof(daemon->uri), "unix://%s", daemon->path);
  daemon->stop = eventfd(0, EFD_CLOEXEC);
  daemon->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, daemon->path);
  if (daemon->stop < 0 || daemon->listener < 0) die("socket");
  if (bind(daemon->listener, (struct sockaddr *)&address, sizeof(address)) != 0) die("bind");
  if (listen(daemon->listener, 64) != 0) die("listen");

  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&daemon->arrived, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&daemon->mutex, NULL);

  /* Signals are for the test's own threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&daemon->thread, NULL, run, daemon) != 0) die("pthread_create");
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return daemon;
}

const char *scripted_daemon_uri(const scripted_daemon *daemon) { return daemon->uri; }

const char *scripted_daemon_path(const scripted_daemon *daemon) { return daemon->path; }

int scripted_daemon_wait_requests(scripted_daemon *daemon, const char *match, int count) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 10;
  int found = 0;
  int late = 0;
  pthread_mutex_lock(&daemon->mutex);
  for (;;) {
    found = 0;
    for (int i = 0; i < daemon->line_count; ++i) found += strstr(daemon->lines[i], match) != NULL;
    if (found >= count || late) break;
    late = pthread_cond_timedwait(&daemon->arrived, &daemon->mutex, &until) == ETIMEDOUT;
  }
  pthread_mutex_unlock(&daemon->mutex);
  return found >= count;
}

int scripted_daemon_wait_request(scripted_daemon *daemon, const char *match) {
  return scripted_daemon_wait_requests(daemon, match, 1);
}

void scripted_daemon_stop(scripted_daemon *daemon) {
  const uint64_t one = 1;
  if (write(daemon->stop, &one, sizeof(one)) != sizeof(one)) die("write");
  pthread_join(daemon->thread, NULL);
  close(daemon->listener);
  close(daemon->stop);
  unlink(daemon->path);
  rmdir(daemon->directory);
  pthread_cond_destroy(&daemon->arrived);
  pthread_mutex_destroy(&daemon->mutex);
  free(daemon);
}
