/* What a process can tell of itself, so that tests can compare before and after. */
#ifndef OSBX_TESTS_SUPPORT_PROCESS_FACTS_H_
#define OSBX_TESTS_SUPPORT_PROCESS_FACTS_H_

#include <stddef.h>
#include <stdint.h>

/* Open descriptors, without the one that counting takes. */
int process_fd_count(void);
int process_thread_count(void);
/* Waits at most ten seconds until the process has `count` threads: one that was joined leaves /proc a moment later. */
int process_thread_count_becomes(int count);
/* Resident memory in KiB. */
long process_resident_kib(void);
/* 1 when a mapping of this process has `name` in its path. */
int process_maps(const char *name);
/* Milliseconds on the monotonic clock. */
int64_t monotonic_ms(void);

#endif /* OSBX_TESTS_SUPPORT_PROCESS_FACTS_H_ */
