#include "contract/unsent_answers.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace osbx::contract {
namespace {

// A client that takes nothing until it is told to.
class SlowClient : public http::Exchange {
 public:
  const http::Request& request() const override { return request_; }
  void ReadBody(BodyCallback) override {}
  void OnClientGone(std::function<void()>) override {}
  void Respond(http::Answer answer) override { whole_ = std::move(answer.body); }
  void BeginAnswer(int, http::Headers, uint64_t content_length) override { announced_ = content_length; }
  void WriteBody(std::string piece, WriteCallback done) override {
    written_ = piece.size();
    done_ = std::move(done);
  }
  void Abort() override {}

  void Take(bool written) { std::exchange(done_, nullptr)(written); }

  http::Request request_{"GET", "/files/", 11, {}, {}};
  std::string whole_;
  uint64_t announced_ = 0;
  size_t written_ = 0;

 private:
  WriteCallback done_;
};

http::Answer AnswerOf(size_t size) { return {200, {}, std::string(size, 'x')}; }

TEST(UnsentAnswers, CountsWhatClientsHaveNotTaken) {
  UnsentAnswers unsent;
  const auto first = std::make_shared<SlowClient>();
  const auto second = std::make_shared<SlowClient>();
  unsent.Send(first, AnswerOf(size_t{40} << 20));
  EXPECT_EQ(first->announced_, size_t{40} << 20);
  EXPECT_EQ(first->written_, size_t{40} << 20);
  EXPECT_FALSE(unsent.full());
  unsent.Send(second, AnswerOf(size_t{24} << 20));
  EXPECT_TRUE(unsent.full());
  first->Take(true);
  EXPECT_FALSE(unsent.full());
  second->Take(false);
  EXPECT_FALSE(unsent.full());
}

TEST(UnsentAnswers, AnAnswerMayOutliveThem) {
  const auto client = std::make_shared<SlowClient>();
  {
    UnsentAnswers unsent;
    unsent.Send(client, AnswerOf(size_t{1} << 20));
  }
  client->Take(false);
}

TEST(UnsentAnswers, SmallOnesAndThoseOfHeadAreSentAtOnce) {
  UnsentAnswers unsent;
  const auto client = std::make_shared<SlowClient>();
  unsent.Send(client, AnswerOf(100));
  EXPECT_EQ(client->whole_.size(), 100u);
  client->request_.method = "HEAD";
  unsent.Send(client, AnswerOf(size_t{1} << 20));
  EXPECT_EQ(client->whole_.size(), size_t{1} << 20);  // the exchange measures it and sends none of it
  EXPECT_EQ(client->written_, 0u);
}

TEST(UnsentAnswers, RefusesWith503) { EXPECT_EQ(UnsentAnswers::Refusal().status, 503); }

}  // namespace
}  // namespace osbx::contract
