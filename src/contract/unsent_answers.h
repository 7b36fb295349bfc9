// Large answers until their clients have taken them: what all of them hold together is bounded.
#ifndef OSBX_CONTRACT_UNSENT_ANSWERS_H_
#define OSBX_CONTRACT_UNSENT_ANSWERS_H_

#include <cstddef>
#include <memory>

#include "http/exchange.h"

namespace osbx::contract {

// Loop thread only.
class UnsentAnswers {
 public:
  // Whether so much is waiting that no request should be begun whose answer may be large.
  bool full() const { return *bytes_ >= kMostBytes; }
  // 503, for such a request.
  static http::Answer Refusal();

  void Send(const std::shared_ptr<http::Exchange>& exchange, http::Answer answer);

 private:
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // Shared with answers under way, which may outlive this.
  const std::shared_ptr<size_t> bytes_ = std::make_shared<size_t>(0);
};

}  // namespace osbx::contract

#endif  // OSBX_CONTRACT_UNSENT_ANSWERS_H_
