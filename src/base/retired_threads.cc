#include "base/retired_threads.h"

#include <errno.h>
#include <unistd.h>

#include <atomic>

namespace osbx::base {
namespace {

// Without a mutex, because a child forked while another thread held it could never take it.
std::atomic<RetiredThread*> retired_threads{nullptr};

}  // namespace

void AddRetiredThread(RetiredThread* entry) {
  entry->next = retired_threads.load(std::memory_order_relaxed);
  while (!retired_threads.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                                std::memory_order_relaxed)) {
  }
}

void JoinRetired(bool wait) {
  RetiredThread* entry = retired_threads.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    RetiredThread* const next = entry->next;
    if (entry->process != getpid()) {
      // The thread stayed behind in the parent; there is nothing to join in this child.
      delete entry;
    } else if (!wait && pthread_tryjoin_np(entry->thread, nullptr) == EBUSY) {
      AddRetiredThread(entry);
    } else {
      if (wait) pthread_join(entry->thread, nullptr);
      delete entry;
    }
    entry = next;
  }
}

}  // namespace osbx::base
