// POST /execute: one command at a time, from a request's body to its answer.
#ifndef OSBX_CONTRACT_EXECUTE_HANDLER_H_
#define OSBX_CONTRACT_EXECUTE_HANDLER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "contract/configuration.h"
#include "contract/execution.h"
#include "contract/unsent_answers.h"
#include "http/exchange.h"

namespace osbx::contract {

// Loop thread only. It outlives every exchange and execution of it.
class ExecuteHandler {
 public:
  ExecuteHandler(ExecutionServices services, const Configuration& configuration, std::shared_ptr<UnsentAnswers> unsent,
                 base::LogFunction log);

  void Handle(std::shared_ptr<http::Exchange> exchange);

  // Ends the running command, if there is one, and answers it with 503; so is every request from now on. `over` runs
  // when there is none.
  void Stop(std::function<void()> over);
  bool running() const { return running_ != nullptr; }

 private:
  // A body under way. What all of them hold together is bounded.
  struct Upload {
    explicit Upload(size_t& total) : total_held(total) {}
    ~Upload() { total_held -= body.size(); }
    size_t& total_held;
    std::shared_ptr<http::Exchange> exchange;
    std::string body;
  };

  void ReadOn(const std::shared_ptr<Upload>& upload);
  void Run(const std::shared_ptr<http::Exchange>& exchange, const std::string& body);
  void Finish(const ExecutionResult& result);

  const ExecutionServices services_;
  const Configuration& configuration_;
  const std::shared_ptr<UnsentAnswers> unsent_;
  const base::LogFunction log_;
  size_t held_ = 0;  // bytes of all bodies under way
  bool stopping_ = false;
  std::function<void()> over_;
  // The seat: taken while a command runs, and until its tree has ended.
  std::shared_ptr<Execution> running_;
  std::shared_ptr<http::Exchange> waiting_;  // for the running command's answer
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_EXECUTE_HANDLER_H_
