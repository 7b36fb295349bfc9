/* osbx.h - run code that nobody has read, in sandboxes on your own machine.
 *
 * A sandbox is a container on Docker + gVisor, and the container is the state: this library keeps no database, starts
 * no daemon and needs no init call. The safe value is the default of every option, and nothing ever falls back to
 * something weaker: where the host cannot give the isolation that was asked for, create fails.
 *
 * A whole program (errors left out; examples/hello.c has them):
 *
 *     osbx_backend *backend;  osbx_sandbox *sandbox;  osbx_result *result;
 *     osbx_backend_new(NULL, &backend, NULL);
 *     osbx_spec *spec = osbx_spec_new();
 *     osbx_spec_set_image(spec, "python:3.12-slim");
 *     osbx_create(backend, "job-1", spec, NULL, &sandbox, NULL);
 *     const char *argv[] = {"python3", "-c", "print(6 * 7)"};
 *     osbx_command *command = osbx_command_new(argv, 3);
 *     osbx_exec(sandbox, command, NULL, &result, NULL);
 *     size_t size;  fwrite(osbx_result_output(result, OSBX_STDOUT, &size), 1, size, stdout);
 *
 * CONTENTS
 *   1 Types and constants     2 Version and errors     3 Cancellation     4 Backend     5 Spec
 *   6 Lifecycle               7 Command and exec       8 Files            9 Contract server
 *
 * CONVENTIONS, true of every function unless its own text says otherwise
 *  1. Handles are opaque. Each type has one _free: NULL is fine, any thread may call it, and the order in which handles
 *     are freed never matters (a sandbox keeps its backend alive). Freeing a handle gives up the handle, not what it
 *     names: osbx_sandbox_free leaves the sandbox running. No other thread may be about to enter a call with a handle
 *     that is being freed; a call that is already inside goes on safely.
 *  2. Fallible calls return osbx_status: OSBX_OK (0), or a negative code that never changes its number. On failure an
 *     error object is stored in *err when err is not NULL, and *out is NULL; on success *err is NULL. The caller frees
 *     errors with osbx_error_free. There is no "last error".
 *  3. Strings are NUL-terminated UTF-8; content is pointer and length, any bytes. Inputs are copied before the call
 *     returns; only the callbacks of a blocking call, and their user data, must live until it does. Returned pointers
 *     are borrowed from a handle and die with it.
 *  4. Builders (config, spec, command, contract) take one property a call. Setters return nothing: the first bad value
 *     sticks, and the call that uses the builder reports it as OSBX_E_INVALID. A builder may be used by many calls and
 *     freed after.
 *  5. `uint32_t flags` is 0 in this version; unknown bits are OSBX_E_INVALID.
 *  6. A cancel token may be NULL: no deadline, no cancel. Where one is given, a deadline or a cancel from another
 *     thread ends the waiting within 100 ms, also when the daemon accepts and never answers.
 *  7. Callbacks run on the thread that called the function, unless said; their data is valid only during the callback.
 *     A callback may call any function of the library, but not free what the running call uses. It must return: it may
 *     not throw, longjmp or end the thread.
 *  8. Any function can return OSBX_E_INVALID (a NULL or malformed argument), OSBX_E_NO_MEMORY, OSBX_E_INTERNAL (a
 *     defect of the library), and, if it talks to the daemon: OSBX_E_UNREACHABLE (no daemon, or not a Docker daemon),
 *     OSBX_E_PERMISSION (the socket refuses us), OSBX_E_TIMEOUT, OSBX_E_CANCELED, OSBX_E_BACKEND (the daemon failed or
 *     answered nonsense), OSBX_E_UNSUPPORTED (a daemon older than API 1.41). "Errors" below lists what comes on top.
 *  9. The library never prints, exits, forks the host program or touches its signals, working directory, umask, locale
 *     or environment, and leaves its children and waitpid(-1) alone. It may be loaded twice, unloaded, and used after
 *     fork in the child, where it shares nothing with the parent.
 *
 * THREADS
 *   backend, sandbox, cancel, server         any number of threads at once
 *   config, spec, command, contract          one thread at a time; read-only while a call uses them
 *   result, buffer, list, info, error        immutable: any number of threads
 *
 * Does not support (yet): Windows and macOS hosts, Windows containers, nested handles across processes.
 */
#ifndef OSBX_H
#define OSBX_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; osbx_version() is that of the library in use. */
#define OSBX_VERSION_MAJOR 0
#define OSBX_VERSION_MINOR 1
#define OSBX_VERSION_PATCH 0

#if defined(__GNUC__)
#define OSBX_API extern __attribute__((visibility("default")))
#else
#define OSBX_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* == 1. Types and constants ================================================================================== */

typedef struct osbx_error osbx_error;       /* why a call failed */
typedef struct osbx_cancel osbx_cancel;     /* a deadline and a cancel, for any number of calls */
typedef struct osbx_config osbx_config;     /* builder: how to reach the daemon */
typedef struct osbx_backend osbx_backend;   /* one daemon */
typedef struct osbx_spec osbx_spec;         /* builder: what a sandbox is made of */
typedef struct osbx_sandbox osbx_sandbox;   /* one sandbox */
typedef struct osbx_info osbx_info;         /* what is known of a sandbox; borrowed */
typedef struct osbx_list osbx_list;         /* several of them */
typedef struct osbx_command osbx_command;   /* builder: a command to run */
typedef struct osbx_result osbx_result;     /* how it ended, and its output */
typedef struct osbx_buffer osbx_buffer;     /* bytes */
typedef struct osbx_contract osbx_contract; /* builder: a contract server */
typedef struct osbx_server osbx_server;     /* a server that runs in this process */

/* Status codes. Append-only: a number never changes its meaning. Handle unknown negative numbers as failure. */
typedef int32_t osbx_status;
enum osbx_status_code {
  OSBX_OK = 0,
  OSBX_E_INTERNAL = -1,            /* a defect of the library */
  OSBX_E_NO_MEMORY = -2,           /* this process is out of memory */
  OSBX_E_INVALID = -3,             /* an argument or option is wrong; the message says which and what is allowed */
  OSBX_E_NOT_FOUND = -4,           /* no such sandbox, file ... */
  OSBX_E_TIMEOUT = -5,             /* the deadline of the cancel token passed */
  OSBX_E_CANCELED = -6,            /* the cancel token was fired */
  OSBX_E_RUNTIME_UNAVAILABLE = -7, /* the host cannot give the isolation or limit that was asked for */
  OSBX_E_IMAGE_UNAVAILABLE = -8,   /* no such image here, and it cannot be pulled */
  OSBX_E_CONFLICT = -9,            /* the name or path is in use by something else */
  OSBX_E_PERMISSION =
      -10, /* refused by the daemon's socket, by the guest's file modes, or by a read-only file system */
  OSBX_E_UNSUPPORTED = -11, /* this engine, image or version cannot do it */
  OSBX_E_TOO_LARGE = -12,   /* more bytes than were allowed */
  OSBX_E_BACKEND = -13,     /* the daemon failed or broke its protocol */
  OSBX_E_CALLBACK = -14,    /* a callback of yours ended the call */
  OSBX_E_AT_CAPACITY = -15, /* the sandbox is at its process limit */
  OSBX_E_NO_SPACE = -16,    /* the sandbox's disk is full */
  OSBX_E_UNREACHABLE = -17, /* no daemon answers */
  OSBX_E_NOT_RUNNING = -18  /* the sandbox is stopped; osbx_create starts it again */
};

/* Output streams of a command. */
enum osbx_stream_id { OSBX_STDOUT = 1, OSBX_STDERR = 2 };

/* States of a sandbox. */
enum osbx_state {
  OSBX_STATE_RUNNING = 1,
  OSBX_STATE_STOPPED = 2, /* osbx_create starts it again; its files are gone */
  OSBX_STATE_ERROR = 3    /* anything else that the engine may report; osbx_create mends it */
};

/* Network access of a sandbox. */
enum osbx_egress_policy {
  OSBX_EGRESS_NONE = 0,        /* loopback only: no resolver, no route */
  OSBX_EGRESS_UNRESTRICTED = 1 /* the daemon's bridge network. SECURITY: reaches whatever the host's network reaches */
};

/* Why a command ended. */
enum osbx_end_reason {
  OSBX_END_EXITED = 1,           /* by itself; see the exit code */
  OSBX_END_SIGNALLED = 2,        /* by a signal that was not ours */
  OSBX_END_TIMED_OUT = 3,        /* its timeout or the token's deadline passed: its tree was killed */
  OSBX_END_CANCELLED = 4,        /* the token was fired: its tree was killed */
  OSBX_END_OUT_OF_MEMORY = 5,    /* the memory limit was hit; under gVisor that ends the whole sandbox */
  OSBX_END_SANDBOX_GONE = 6,     /* the sandbox was stopped, killed or removed meanwhile */
  OSBX_END_CALLBACK_ABORTED = 7, /* a callback of yours returned "give up": its tree was killed */
  OSBX_END_OUTCOME_UNKNOWN = 8   /* the daemon went away: it may not have run, may run on, or may have ended */
};

/* Severity of a log line. */
enum osbx_log_level { OSBX_LOG_ERROR = 1, OSBX_LOG_WARNING = 2, OSBX_LOG_INFO = 3, OSBX_LOG_DEBUG = 4 };

/* Fills at most `capacity` (> 0) bytes at `buffer`. Returns how many (> 0), 0 at the end, or a negative number to end
 * the call. */
typedef int64_t (*osbx_read_callback)(void *user_data, uint8_t *buffer, size_t capacity);

/* Takes `size` (> 0) bytes of `stream` (osbx_stream_id; OSBX_STDOUT for a file). Returns 0 to go on; anything else ends
 * the call. Blocking here is back-pressure on the guest. */
typedef int32_t (*osbx_write_callback)(void *user_data, uint32_t stream, const uint8_t *data, size_t size);

/* Takes one line of log, without a line feed, from any thread, possibly from several at once. */
typedef void (*osbx_log_callback)(void *user_data, uint32_t level, const char *message);

/* Called exactly once for each user_data that was handed over, after its last use, also when the call failed. May be
 * NULL. Runs on the thread that gives up the last use. */
typedef void (*osbx_destroy_callback)(void *user_data);

/* == 2. Version and errors =================================================================================== */

/* The version of the library in use: MAJOR * 10000 + MINOR * 100 + PATCH. Any thread. Since 0.1. */
OSBX_API uint32_t osbx_version(void);

/* The name of a status code, such as "OSBX_E_NOT_FOUND"; "OSBX_E_UNKNOWN" for a number that is none of this version's.
 * Static. Any thread. Since 0.1. */
OSBX_API const char *osbx_status_name(osbx_status status);

/* The name of an osbx_end_reason in lower case, such as "timed_out"; "unknown" for any other number. Static. Any
 * thread. Since 0.1. */
OSBX_API const char *osbx_end_reason_name(uint32_t reason);

/* The code of an error, the same as the call returned; OSBX_OK for NULL. Any thread. Since 0.1. */
OSBX_API osbx_status osbx_error_code(const osbx_error *error);

/* One printable line of UTF-8 that says what was wrong and, for bad input, what is allowed. Borrowed from the error; ""
 * for NULL. Any thread. Since 0.1. */
OSBX_API const char *osbx_error_message(const osbx_error *error);

/* The HTTP status with which the daemon refused, 100 to 599; 0 when the failure was not the daemon's answer. Any
 * thread. Since 0.1. */
OSBX_API int32_t osbx_error_http_status(const osbx_error *error);

/* Frees an error. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_error_free(osbx_error *error);

/* == 3. Cancellation ========================================================================================= */

/* A token without deadline that has not been fired, to be freed with osbx_cancel_free; NULL when out of memory. Give it
 * to any number of calls, from any threads. Since 0.1. */
OSBX_API osbx_cancel *osbx_cancel_new(void);

/* Sets one absolute deadline, `timeout_ms` milliseconds from now on the monotonic clock; 0 or less is a deadline that
 * has passed. Replaces an earlier one, also for calls under way. A command started under the token ends with
 * OSBX_END_TIMED_OUT; any other call with OSBX_E_TIMEOUT. Any thread. Since 0.1. */
OSBX_API void osbx_cancel_set_timeout_ms(osbx_cancel *cancel, int64_t timeout_ms);

/* Fires the token: calls under way and to come end with OSBX_E_CANCELED, and a command started under it with
 * OSBX_END_CANCELLED. Never blocks; firing again does nothing. Any thread. Since 0.1. */
OSBX_API void osbx_cancel_fire(osbx_cancel *cancel);

/* Frees the token without firing it. Safe while calls still use it. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_cancel_free(osbx_cancel *cancel);

/* == 4. Backend ============================================================================================== */

/* A configuration that takes everything from the environment, to be freed with osbx_config_free; NULL when out of
 * memory. Since 0.1. */
OSBX_API osbx_config *osbx_config_new(void);

/* Where the daemon listens, as DOCKER_HOST: "unix:///path" (at most 107 bytes of path) or "tcp://host:port". Wins over
 * the environment. Since 0.1. Source: docker(1), DOCKER_HOST. */
OSBX_API void osbx_config_set_docker_host(osbx_config *config, const char *uri);

/* A folder with ca.pem, cert.pem and key.pem: the connection is TLS, the daemon must prove itself to ca.pem, and we to
 * it. Wins over DOCKER_TLS_VERIFY and DOCKER_CERT_PATH. Since 0.1. */
OSBX_API void osbx_config_set_docker_cert_path(osbx_config *config, const char *directory);

/* A fixed API version, such as "1.43", in place of a negotiated one. Wins over DOCKER_API_VERSION. At least 1.41.
 * Since 0.1. */
OSBX_API void osbx_config_set_docker_api_version(osbx_config *config, const char *version);

/* Gives log lines of `level` and more severe ones (osbx_log_level) to `callback`, from any thread; without it nothing
 * is logged. Lines hold no file content, no environment values and no credentials. Replaces an earlier one. Since 0.1.
 */
OSBX_API void osbx_config_set_log(osbx_config *config, uint32_t level, osbx_log_callback callback, void *user_data,
                                  osbx_destroy_callback destroy);

/* Frees the builder. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_config_free(osbx_config *config);

/* Makes a backend from `config`, or from the environment alone when it is NULL: DOCKER_HOST (unset or empty:
 * unix:///var/run/docker.sock), DOCKER_TLS_VERIFY, DOCKER_CERT_PATH, DOCKER_API_VERSION. Checks their syntax and does
 * no I/O: the first call that needs the daemon connects. To be freed with osbx_backend_free. Errors: OSBX_E_INVALID.
 * Since 0.1. */
OSBX_API osbx_status osbx_backend_new(const osbx_config *config, osbx_backend **out, osbx_error **err);

/* Gives up the handle; sandboxes go on running, and handles of them go on working. NULL is fine. Any thread; in a log
 * callback too. Since 0.1. */
OSBX_API void osbx_backend_free(osbx_backend *backend);

/* == 5. Spec ================================================================================================= */

/* A spec with every option at its safe default, to be freed with osbx_spec_free; NULL when out of memory. The image is
 * the one option without default. Options hold when a sandbox is made; osbx_create of an existing one ignores them.
 * Since 0.1. */
OSBX_API osbx_spec *osbx_spec_new(void);

/* Required. A reference as Docker's: "python:3.12-slim", "localhost:5000/a/b:tag", "name@sha256:...". Pulled when it is
 * not there; a digest is exact, a tag is what was first pulled. The image gives files, PATH and environment; its
 * entrypoint, user, volumes, health check, stop signal and working directory are ignored. Needs a /bin/sh and the
 * programs listed in docs/images.md. Since 0.1. */
OSBX_API void osbx_spec_set_image(osbx_spec *spec, const char *reference);

/* A runtime registered with the daemon; default "runsc". A name that begins with "runsc" is verified to be gVisor.
 * SECURITY: anything else than gVisor shares the host's kernel with the guest. Since 0.1. */
OSBX_API void osbx_spec_set_runtime(osbx_spec *spec, const char *name);

/* Who commands run as: "uid", "uid:gid" (plain decimal, 1 to 2147483646), or "name", "name:group" as the image's
 * /etc/passwd and /etc/group have it; default "1000:1000". Root is refused in every spelling. Since 0.1. */
OSBX_API void osbx_spec_set_user(osbx_spec *spec, const char *user);

/* CPU time in processors, 0.01 to 1000000; default 2. Since 0.1. */
OSBX_API void osbx_spec_set_cpus(osbx_spec *spec, double cpus);

/* Memory limit in bytes, files in the sandbox included, no swap on top; 16 MiB to 1 PiB; default 2 GiB. Since 0.1. */
OSBX_API void osbx_spec_set_memory_bytes(osbx_spec *spec, int64_t bytes);

/* Writable space in bytes, taken from the memory: a quarter for /tmp, the rest for /workspace. At least 1 MiB, at most
 * the memory; default 1 GiB, or half of the memory where that is less. Since 0.1. */
OSBX_API void osbx_spec_set_disk_bytes(osbx_spec *spec, int64_t bytes);

/* Processes and threads at once, 1 to 1000000; default 256. At the limit fork fails inside with EAGAIN and the sandbox
 * lives on. A few more are granted for the library's own. Since 0.1. */
OSBX_API void osbx_spec_set_max_processes(osbx_spec *spec, int64_t count);

/* Milliseconds without use after which the sandbox may be reaped. 0 keeps the default, 15 minutes; negative: never.
 * Since 0.1. */
OSBX_API void osbx_spec_set_idle_timeout_ms(osbx_spec *spec, int64_t ms);

/* Milliseconds of life after which the sandbox may be reaped, used or not. 0 keeps the default, 2 hours; negative:
 * never. Since 0.1. */
OSBX_API void osbx_spec_set_max_age_ms(osbx_spec *spec, int64_t ms);

/* Timeout in milliseconds of a command that sets none. 0 keeps the default, 60 s, or the ceiling where that is less;
 * more than the ceiling is OSBX_E_INVALID. Since 0.1. */
OSBX_API void osbx_spec_set_default_timeout_ms(osbx_spec *spec, int64_t ms);

/* Ceiling in milliseconds of every command's timeout; a longer one is clamped to it. 0 keeps the default, 10 minutes.
 * Since 0.1. */
OSBX_API void osbx_spec_set_max_timeout_ms(osbx_spec *spec, int64_t ms);

/* An osbx_egress_policy; default OSBX_EGRESS_NONE. A sandbox is what was asked for, both ways: where the runtime has no
 * network to give, or the daemon no bridge, create fails with OSBX_E_RUNTIME_UNAVAILABLE. Since 0.1. */
OSBX_API void osbx_spec_set_egress(osbx_spec *spec, uint32_t policy);

/* Not 0: files in /workspace and /tmp may be executed; default 0, they are mounted noexec. Since 0.1. */
OSBX_API void osbx_spec_set_allow_exec(osbx_spec *spec, int32_t allow);

/* One environment variable of every command; the key not empty and without '='. A later call with the same key replaces
 * the earlier. At most 1 MiB altogether. Visible to anyone with access to the daemon. Since 0.1. */
OSBX_API void osbx_spec_add_env(osbx_spec *spec, const char *key, const char *value);

/* One label of the caller's, read back with osbx_info_label; the key 1 to 255 bytes without control characters. A later
 * call with the same key replaces the earlier. At most 64 KiB altogether. Any other process that lists sandboxes sees
 * it. Since 0.1. */
OSBX_API void osbx_spec_add_label(osbx_spec *spec, const char *key, const char *value);

/* Frees the builder. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_spec_free(osbx_spec *spec);

/* == 6. Lifecycle ============================================================================================ */

/* Gives a *running* sandbox called `name` (1 to 255 bytes of UTF-8 without control characters): made from `spec` if
 * absent, started if stopped, returned if running. Calls that race, from threads or processes, all get the same one.
 * The name is visible to anyone with access to the daemon. When the call makes the sandbox and fails, or is cancelled
 * before the start was sent, nothing is left behind; cancelled after that, the sandbox stays, for the next create or
 * the idle bound. *out is freed with osbx_sandbox_free. Errors: OSBX_E_RUNTIME_UNAVAILABLE (runtime not registered, not
 * what its name says, or a limit that the host cannot hold), OSBX_E_IMAGE_UNAVAILABLE, OSBX_E_UNSUPPORTED (the image
 * lacks a program that is needed, or the sandbox was made by a newer version), OSBX_E_CONFLICT (a container that is not
 * ours has the name). Since 0.1. */
OSBX_API osbx_status osbx_create(osbx_backend *backend, const char *name, const osbx_spec *spec, osbx_cancel *cancel,
                                 osbx_sandbox **out, osbx_error **err);

/* Gives the sandbox called `name`, running or not; never makes or starts one. `flags`: 0.
 * Errors: OSBX_E_NOT_FOUND, OSBX_E_UNSUPPORTED (made by a newer version). Since 0.1. */
OSBX_API osbx_status osbx_open(osbx_backend *backend, const char *name, uint32_t flags, osbx_cancel *cancel,
                               osbx_sandbox **out, osbx_error **err);

/* Lists all sandboxes of the daemon, running or not, whoever made them, sorted by name. `flags`: 0. *out is freed with
 * osbx_list_free. Since 0.1. */
OSBX_API osbx_status osbx_list_sandboxes(osbx_backend *backend, uint32_t flags, osbx_cancel *cancel, osbx_list **out,
                                         osbx_error **err);

/* Removes the sandbox called `name` with everything in it; none of that name is success. Commands that run in it end
 * with OSBX_END_SANDBOX_GONE. Returns when it is gone. `flags`: 0. Since 0.1. */
OSBX_API osbx_status osbx_destroy(osbx_backend *backend, const char *name, uint32_t flags, osbx_cancel *cancel,
                                  osbx_error **err);

/* Halts the sandbox and keeps its name; stopped already is success. Its files and processes are gone: osbx_create
 * starts it empty. `flags`: 0. Errors: OSBX_E_NOT_FOUND. Since 0.1. */
OSBX_API osbx_status osbx_stop(osbx_sandbox *sandbox, uint32_t flags, osbx_cancel *cancel, osbx_error **err);

/* What was known of the sandbox when it was created or opened. Borrowed from the handle; NULL for NULL. Any thread.
 * Since 0.1. */
OSBX_API const osbx_info *osbx_sandbox_info(const osbx_sandbox *sandbox);

/* Gives up the handle; the sandbox goes on running, and calls under way go on. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_sandbox_free(osbx_sandbox *sandbox);

/* Number of items. Any thread. Since 0.1. */
OSBX_API size_t osbx_list_size(const osbx_list *list);

/* Item `index`, borrowed from the list; NULL when there is none. Any thread. Since 0.1. */
OSBX_API const osbx_info *osbx_list_info(const osbx_list *list, size_t index);

/* Frees the list and what was borrowed from it. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_list_free(osbx_list *list);

/* The name, exactly as it was given to osbx_create. Borrowed. Any thread. Since 0.1. */
OSBX_API const char *osbx_info_name(const osbx_info *info);

/* The container's id: another one when a sandbox was destroyed and made again. Borrowed. Any thread. Since 0.1. */
OSBX_API const char *osbx_info_id(const osbx_info *info);

/* The image reference it was made from. Borrowed. Any thread. Since 0.1. */
OSBX_API const char *osbx_info_image(const osbx_info *info);

/* An osbx_state. Any thread. Since 0.1. */
OSBX_API uint32_t osbx_info_state(const osbx_info *info);

/* When it was made: milliseconds since 1970 UTC on the clock of the host that made it. Any thread. Since 0.1. */
OSBX_API int64_t osbx_info_created_ms(const osbx_info *info);

/* The value of one of the caller's labels; NULL when there is none of that key. Borrowed. Any thread. Since 0.1. */
OSBX_API const char *osbx_info_label(const osbx_info *info, const char *key);

/* Number of the caller's labels. Any thread. Since 0.1. */
OSBX_API size_t osbx_info_label_count(const osbx_info *info);

/* Key of label `index`, in the order of the keys' bytes; NULL when there is none. Borrowed. Any thread. Since 0.1. */
OSBX_API const char *osbx_info_label_key(const osbx_info *info, size_t index);

/* == 7. Command and exec ===================================================================================== */

/* A command: `argc` strings, argv[0] the program, executed directly and never through a shell. To be freed with
 * osbx_command_free; NULL when out of memory. argv, environment and directory are at most 1 MiB together.
 * Since 0.1. */
OSBX_API osbx_command *osbx_command_new(const char *const *argv, size_t argc);

/* One environment variable, over the sandbox's; the key not empty and without '='. A later call with the same key wins.
 * Since 0.1. */
OSBX_API void osbx_command_add_env(osbx_command *command, const char *key, const char *value);

/* The working directory, absolute; default "/workspace". Since 0.1. */
OSBX_API void osbx_command_set_directory(osbx_command *command, const char *path);

/* Milliseconds until the command's tree is killed, > 0; default: the sandbox's, and never above its ceiling.
 * Since 0.1. */
OSBX_API void osbx_command_set_timeout_ms(osbx_command *command, int64_t ms);

/* Bytes to be read from its standard input, then the end. Default: the end at once. Replaces a reader. Since 0.1. */
OSBX_API void osbx_command_set_stdin_bytes(osbx_command *command, const uint8_t *data, size_t size);

/* Standard input as it is read from `reader`, which is called only when there is room for more, and no more once the
 * command has ended. Replaces bytes. Since 0.1. */
OSBX_API void osbx_command_set_stdin_reader(osbx_command *command, osbx_read_callback reader, void *user_data,
                                            osbx_destroy_callback destroy);

/* Output as it arrives, in place of buffering it in the result: any amount, in constant memory. Since 0.1. */
OSBX_API void osbx_command_set_output(osbx_command *command, osbx_write_callback writer, void *user_data,
                                      osbx_destroy_callback destroy);

/* Most bytes of each stream that the result keeps; default 16 MiB. What comes after is read and dropped, and
 * osbx_result_truncated tells. Without effect when output is streamed. Since 0.1. */
OSBX_API void osbx_command_set_output_limit(osbx_command *command, size_t bytes);

/* Frees the builder. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_command_free(osbx_command *command);

/* Runs `command` in the sandbox and waits for its end. From the moment that it may have started the call returns
 * OSBX_OK and a result, whatever ended it; an error means that nothing ran. At its timeout, at the token's deadline,
 * when the token is fired and when a callback gives up, the command's whole tree in the sandbox is killed, and the
 * sandbox and its files live on. It ends when its main process ends: background children do not hold it up and live on.
 * A program that cannot be started is a result too: exit code 127 (not found) or 126 (not executable). Standard input,
 * standard output and callbacks: see the setters. *out is freed with osbx_result_free. Errors: OSBX_E_NOT_FOUND (the
 * sandbox is gone), OSBX_E_NOT_RUNNING, OSBX_E_AT_CAPACITY (the sandbox is at its process limit: tried for five
 * seconds, or once where a reader gives the input). Since 0.1. Source: Docker Engine API 1.41, "Exec". */
OSBX_API osbx_status osbx_exec(osbx_sandbox *sandbox, const osbx_command *command, osbx_cancel *cancel,
                               osbx_result **out, osbx_error **err);

/* An osbx_end_reason. Any thread. Since 0.1. */
OSBX_API uint32_t osbx_result_reason(const osbx_result *result);

/* The exit code when the reason is exited, 128 + n when it is signalled, else -1. Any thread. Since 0.1. */
OSBX_API int32_t osbx_result_exit_code(const osbx_result *result);

/* The number n of the signal when the reason is signalled, else 0. Any thread. Since 0.1. Source: signal(7). */
OSBX_API int32_t osbx_result_signal(const osbx_result *result);

/* The bytes kept of a stream (osbx_stream_id), their number in *size (which may be NULL). Never NULL; not
 * NUL-terminated. Nothing for a stream that was given to a callback. Borrowed from the result. Any thread. Since 0.1.
 */
OSBX_API const uint8_t *osbx_result_output(const osbx_result *result, uint32_t stream, size_t *size);

/* 1 when the stream had more bytes than the output limit, or than this process had memory for, else 0. Any thread.
 * Since 0.1. */
OSBX_API int32_t osbx_result_truncated(const osbx_result *result, uint32_t stream);

/* Frees the result and what was borrowed from it. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_result_free(osbx_result *result);

/* == 8. Files ================================================================================================ */
/* Paths are absolute UTF-8 of at most 4095 bytes, in the sandbox. Only /workspace and /tmp are writable, unless the
 * image or a mode says less. Everything happens with the rights of the sandbox user. Common errors: OSBX_E_NOT_RUNNING,
 * OSBX_E_PERMISSION (modes, or a read-only file system), OSBX_E_AT_CAPACITY (the sandbox is at its process limit). */

/* Replaces the file at `path` by `size` bytes, whole or not at all: a failure, a full disk, a cancel or the end of this
 * process leave the old file. Missing folders are made (0755). A symbolic link at `path` is replaced, not followed.
 * `mode` is 0001 to 0777; 0 keeps the old file's, or is 0644. `flags`: 0. Errors: OSBX_E_INVALID (the path is a folder,
 * or lies below a file), OSBX_E_NO_SPACE. Since 0.1. */
OSBX_API osbx_status osbx_file_put(osbx_sandbox *sandbox, const char *path, uint32_t mode, const uint8_t *data,
                                   size_t size, uint32_t flags, osbx_cancel *cancel, osbx_error **err);

/* The same from `reader`, in constant memory, for any size. A negative return of the reader is OSBX_E_CALLBACK and
 * leaves the old file. Since 0.1. */
OSBX_API osbx_status osbx_file_put_stream(osbx_sandbox *sandbox, const char *path, uint32_t mode,
                                          osbx_read_callback reader, void *user_data, osbx_destroy_callback destroy,
                                          uint32_t flags, osbx_cancel *cancel, osbx_error **err);

/* Reads the regular file at `path`, at most `max` bytes. A symbolic link is followed. `flags`: 0. *out is freed with
 * osbx_buffer_free.
 * Errors: OSBX_E_NOT_FOUND, OSBX_E_INVALID (a folder, FIFO, socket or device), OSBX_E_TOO_LARGE. Since 0.1. */
OSBX_API osbx_status osbx_file_get(osbx_sandbox *sandbox, const char *path, size_t max, uint32_t flags,
                                   osbx_cancel *cancel, osbx_buffer **out, osbx_error **err);

/* The same to `writer`, in constant memory, for any size. OSBX_OK only when every byte was delivered; a writer that
 * gives up is OSBX_E_CALLBACK. Since 0.1. */
OSBX_API osbx_status osbx_file_get_stream(osbx_sandbox *sandbox, const char *path, osbx_write_callback writer,
                                          void *user_data, osbx_destroy_callback destroy, uint32_t flags,
                                          osbx_cancel *cancel, osbx_error **err);

/* The bytes, their number in *size (which may be NULL). Never NULL; not NUL-terminated. Borrowed. Any thread.
 * Since 0.1. */
OSBX_API const uint8_t *osbx_buffer_data(const osbx_buffer *buffer, size_t *size);

/* Frees the buffer. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_buffer_free(osbx_buffer *buffer);

/* == 9. Contract server ====================================================================================== */
/* The HTTP server that makes its surroundings a sandbox to be driven from outside: POST /execute, /files/{path},
 * GET /healthz (docs/contract.md). It gives a shell and the workspace's files to whoever reaches its port, and isolates
 * nothing itself: run it where its clients may do anything. The program `sandbox` is the same server. */

/* A contract server's configuration, to be freed with osbx_contract_free; NULL when out of memory. Since 0.1. */
OSBX_API osbx_contract *osbx_contract_new(void);

/* The directory of commands and files, an absolute path; default /workspace. Since 0.1. */
OSBX_API void osbx_contract_set_workspace(osbx_contract *contract, const char *path);

/* The shell that runs commands, as SHELL -c COMMAND: an absolute path; default /bin/sh. Since 0.1. */
OSBX_API void osbx_contract_set_shell(osbx_contract *contract, const char *path);

/* Where to listen: "ADDRESS:PORT", "[IPV6-ADDRESS]:PORT", or ":PORT" for every interface. Port 0 is any free one. The
 * default, "127.0.0.1:0", is reached from this machine alone. Names are not looked up. Since 0.1. */
OSBX_API void osbx_contract_set_listen(osbx_contract *contract, const char *address);

/* Gives log lines to `callback`, as osbx_config_set_log does. Since 0.1. */
OSBX_API void osbx_contract_set_log(osbx_contract *contract, uint32_t level, osbx_log_callback callback,
                                    void *user_data, osbx_destroy_callback destroy);

/* Starts a server that answers requests when this returns, on threads of its own. Commands are children of this
 * process: it starts them without touching its signals, and waits for those alone. What a command leaves behind (a
 * daemon) becomes a child of whoever adopts orphans here. Where this process ignores SIGCHLD or waits for any child,
 * a command's exit code can be lost, and its answer is 500. *out is freed with osbx_server_free. Errors:
 * OSBX_E_NOT_FOUND (no such workspace or shell), OSBX_E_PERMISSION (of the workspace or the port), OSBX_E_CONFLICT (the
 * port is taken). Any thread. Since 0.1. */
OSBX_API osbx_status osbx_contract_start(const osbx_contract *contract, osbx_server **out, osbx_error **err);

/* Frees the builder. NULL is fine. Any thread. Since 0.1. */
OSBX_API void osbx_contract_free(osbx_contract *contract);

/* Where the server listens, with the port that it has: "127.0.0.1:40123"; "" for NULL. Borrowed. Any
 * thread. Since 0.1. */
OSBX_API const char *osbx_server_address(const osbx_server *server);

/* Takes no new request and lets those under way end for `grace_ms` (0 to 86400000, more is cut to it; negative is 0);
 * then a running command is killed with its tree and answered with 503. Returns when nothing of the server runs any
 * more, at the latest about seven seconds after the grace. A second call does nothing. Any thread but the server's
 * own (where the log callback runs). Since 0.1. */
OSBX_API void osbx_server_stop(osbx_server *server, int64_t grace_ms);

/* Stops the server without a grace and frees it. NULL is fine. Any thread but the server's own. Since 0.1. */
OSBX_API void osbx_server_free(osbx_server *server);

#ifdef __cplusplus
}
#endif
#endif /* OSBX_H */
