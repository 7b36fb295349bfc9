// Runs commands through Execution, for tests.
#ifndef OSBX_TESTS_UNIT_CONTRACT_EXECUTION_TEST_SUPPORT_H_
#define OSBX_TESTS_UNIT_CONTRACT_EXECUTION_TEST_SUPPORT_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "base/spawn.h"
#include "contract/execution.h"
#include "unit/base/thread_test_support.h"

namespace osbx::contract::testing {

using base::testing::Event;
using base::testing::Eventually;
using std::chrono::milliseconds;

// A directory of its own, open to every uid, for what commands leave behind.
class TestDirectory {
 public:
  TestDirectory() {
    char path[] = "/tmp/osbx-execution-XXXXXX";
    path_ = mkdtemp(path);
    static_cast<void>(chmod(path_.c_str(), 01777));
  }
  ~TestDirectory() {
    const std::string command = "rm -rf " + path_;
    static_cast<void>(!system(command.c_str()));
  }
  const std::string& path() const { return path_; }
  std::string Read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // The pid that a command wrote there with `echo $$ > name`; waits for it.
  pid_t Pid(const std::string& name) const {
    std::string text;
    const auto written = [&] { return !(text = Read(name)).empty() && text.back() == '\n'; };
    return Eventually(written) ? static_cast<pid_t>(std::stol(text)) : -1;
  }

 private:
  std::string path_;
};

inline bool Alive(pid_t pid) {
  const auto info = base::ReadProcess(pid);
  return info.has_value() && !info->ended();
}

class Runner {
 public:
  enum class Waiter { kDescriptors, kThreads, kReaping };

  explicit Runner(std::string directory, Waiter kind = Waiter::kDescriptors) : directory_(std::move(directory)) {
    services_.loop = base::EventLoop::Create();
    services_.pool = std::make_shared<base::WorkerPool>(2);
    services_.environment = base::CurrentEnvironment();
    OnLoop([&] {
      services_.leftovers = std::make_shared<LeftoverPipes>(services_.loop);
      if (kind == Waiter::kReaping) {
        services_.waiter = base::NewReapingChildWaiter(services_.loop).value();
      } else {
        services_.waiter = base::NewChildWaiter(services_.loop, kind == Waiter::kThreads);
      }
    });
  }
  ~Runner() {
    OnLoop([&] {
      services_.leftovers.reset();
      services_.waiter.reset();
    });
  }

  struct Running {
    std::shared_ptr<Execution> execution;
    std::shared_ptr<Event> over = std::make_shared<Event>();
    std::shared_ptr<ExecutionResult> result = std::make_shared<ExecutionResult>();
    absl::Status status;
  };

  Running Start(const std::string& command, std::optional<milliseconds> timeout = std::nullopt) {
    Running running;
    OnLoop([&] {
      Execution::Options options;
      options.shell = shell_;
      options.command = command;
      options.workspace = directory_;
      options.timeout = timeout;
      auto started = Execution::Start(services_, std::move(options),
                                      [over = running.over, result = running.result](ExecutionResult done) {
                                        *result = std::move(done);
                                        over->Set();
                                      });
      running.status = started.status();
      if (started.ok()) running.execution = *std::move(started);
    });
    return running;
  }

  ExecutionResult Run(const std::string& command, std::optional<milliseconds> timeout = std::nullopt) {
    const Running running = Start(command, timeout);
    EXPECT_TRUE(running.status.ok()) << running.status;
    EXPECT_TRUE(running.over->Wait());
    OnLoop([&] { const_cast<Running&>(running).execution.reset(); });
    return *running.result;
  }

  void OnLoop(const std::function<void()>& task) { ASSERT_TRUE(services_.loop->RunAndWait(task).ok()); }
  size_t Leftovers() {
    size_t count = 0;
    OnLoop([&] { count = services_.leftovers->size(); });
    return count;
  }
  void set_shell(std::string shell) { shell_ = std::move(shell); }

 private:
  const std::string directory_;
  std::string shell_ = "/bin/sh";
  ExecutionServices services_;
};

}  // namespace osbx::contract::testing

#endif  // OSBX_TESTS_UNIT_CONTRACT_EXECUTION_TEST_SUPPORT_H_
