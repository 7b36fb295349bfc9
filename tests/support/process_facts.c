#define _GNU_SOURCE
#include "process_facts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int count_entries(const char *directory) {
  DIR *entries = opendir(directory);
  if (entries == NULL) return -1;
  int count = 0;
  for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(entries);
  return count;
}

int process_fd_count(void) { return count_entries("/proc/self/fd") - 1; }

int process_thread_count(void) { return count_entries("/proc/self/task"); }

int process_thread_count_becomes(int count) {
  const int64_t until = monotonic_ms() + 10000;
  while (process_thread_count() != count) {
    if (monotonic_ms() > until) return 0;
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
  return 1;
}

long process_resident_kib(void) {
  FILE *file = fopen("/proc/self/status", "re");
  if (file == NULL) return -1;
  char line[256];
  long kib = -1;
  while (kib < 0 && fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, "VmRSS:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  }
  fclose(file);
  return kib;
}

int process_maps(const char *name) {
  FILE *file = fopen("/proc/self/maps", "re");
  if (file == NULL) return -1;
  char line[4096];
  int found = 0;
  while (!found && fgets(line, sizeof(line), file) != NULL) found = strstr(line, name) != NULL;
  fclose(file);
  return found;
}

int64_t monotonic_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
