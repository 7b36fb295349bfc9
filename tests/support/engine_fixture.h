/* Sandboxes on a real engine for tests in C. From the environment: DOCKER_HOST and friends, as osbx_backend_new reads
 * them; OSBX_TEST_BUSYBOX, the image (osbx/busybox:latest); OSBX_TEST_RUNTIME, the runtime (runsc). */
#ifndef OSBX_TESTS_SUPPORT_ENGINE_FIXTURE_H_
#define OSBX_TESTS_SUPPORT_ENGINE_FIXTURE_H_

#include "osbx.h"

/* cmocka's group setup and teardown: a backend, and a failure (no skip) where no engine answers. The teardown destroys
 * every sandbox that a test named with engine_name(). */
int engine_setup(void **state);
int engine_teardown(void **state);

osbx_backend *engine_backend(void);
/* A fresh name, of this process alone; borrowed until the teardown. */
const char *engine_name(void);
/* A spec with the image and runtime of the environment; freed by the caller. */
osbx_spec *engine_spec(void);
/* A new running sandbox; freed by the caller. Fails the test where there is none. */
osbx_sandbox *engine_sandbox(void);
/* One that is shared by the tests of a program, made on first use; borrowed. */
osbx_sandbox *engine_shared_sandbox(void);
/* `sh -c script` as a command; freed by the caller. */
osbx_command *engine_shell(const char *script);
/* The exit code of `sh -c script`; fails the test when it did not exit. */
int engine_run(osbx_sandbox *sandbox, const char *script);

#endif /* OSBX_TESTS_SUPPORT_ENGINE_FIXTURE_H_ */
