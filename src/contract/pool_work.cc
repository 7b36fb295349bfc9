#include "contract/pool_work.h"

#include <exception>
#include <memory>
#include <utility>

namespace osbx::contract {
namespace {

struct Work {
  Workers workers;
  std::function<bool()> slice;
  std::function<void(bool)> done;
};

void Finish(Work& work, bool ran) {
  work.slice = nullptr;
  // Moved: were it copied, this thread could be the last to hold it.
  // An error: the loop ends, and nobody is left to tell.
  work.workers.loop->Post([done = std::move(work.done), ran] { done(ran); }).IgnoreError();
}

absl::Status Queue(const std::shared_ptr<Work>& work);

void RunSlice(const std::shared_ptr<Work>& work) {
  bool ended = false;
  try {
    ended = work->slice();
  } catch (const std::exception&) {  // no memory
    return Finish(*work, false);
  }
  if (ended) return Finish(*work, true);
  if (!Queue(work).ok()) Finish(*work, false);
}

absl::Status Queue(const std::shared_ptr<Work>& work) {
  return work->workers.pool->Run([work] { RunSlice(work); });
}

}  // namespace

void RunInPool(const Workers& workers, std::function<bool()> slice, std::function<void(bool ran)> done) {
  const auto work = std::make_shared<Work>(Work{workers, std::move(slice), std::move(done)});
  if (Queue(work).ok()) return;
  work->slice = nullptr;
  work->done(false);
}

}  // namespace osbx::contract
