#include "engine/image_calls.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;
using Started = FakeConnection::Started;

class ImagePull : public ::testing::Test {
 protected:
  absl::Status Pull(std::function<void(Started&)> script, const base::Context& context = base::Context(),
                    const PullProgressFunction& progress = nullptr) {
    connection_->on_start = std::move(script);
    return PullImage(client_, "localhost:5000/i", "t", "", context, progress);
  }
  // The daemon answers 200 and sends these pieces, then the stream ends as it should.
  absl::Status PullPieces(const std::vector<std::string>& pieces, const PullProgressFunction& progress = nullptr) {
    return Pull(
        [pieces](Started& call) {
          call.Head(200);
          for (const std::string& piece : pieces) {
            if (!call.Body(piece)) return call.Done(base::Error(Code::kCallback, "the receiver ended the call"));
          }
          call.Done(Answer(200, ""));
        },
        base::Context(), progress);
  }
  // Waits until everything that was posted to the loop before has run.
  void DrainLoop() {
    ASSERT_TRUE(client_.loop()->RunAndWait([] {}).ok());
  }

  std::shared_ptr<FakeConnection> connection_ = std::make_shared<FakeConnection>();
  Client client_{connection_, ApiVersion{1, 41}};
};

TEST_F(ImagePull, NamesImageTagAndCredentials) {
  connection_->on_start = [](Started& call) { call.Done(Answer(200, "")); };
  ASSERT_TRUE(PullImage(client_, "localhost:5000/a/b", "sha256:12&x", "eyJ4Ijp9Cg==", base::Context()).ok());
  const transport::Request request = connection_->last_request();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/v1.41/images/create?fromImage=localhost%3A5000%2Fa%2Fb&tag=sha256%3A12%26x");
  ASSERT_EQ(request.headers.size(), 1u);
  EXPECT_EQ(request.headers[0].first, "X-Registry-Auth");
  EXPECT_EQ(request.headers[0].second, "eyJ4Ijp9Cg==");
  EXPECT_FALSE(request.idempotent);
  ASSERT_TRUE(PullImage(client_, "i", "t", "", base::Context()).ok());
  EXPECT_TRUE(connection_->last_request().headers.empty()) << "no credentials, no header";
}

TEST_F(ImagePull, NeverAsksForAllTags) {
  EXPECT_EQ(base::CodeOf(PullImage(client_, "i", "", "", base::Context())), Code::kInvalid);
  EXPECT_EQ(base::CodeOf(PullImage(client_, "", "t", "", base::Context())), Code::kInvalid);
  EXPECT_TRUE(connection_->requests().empty());
}

TEST_F(ImagePull, SucceedsWithoutAnError) {
  EXPECT_TRUE(PullPieces({"{\"status\":\"Pulling from i\",\"id\":\"t\"}\r\n", "{\"status\":\"Downloaded\"}"}).ok());
  EXPECT_FALSE(connection_->started()->alive()) << "the call is gone before the return";
}

TEST_F(ImagePull, FindsTheErrorInsideThe200) {
  for (const char* error : {R"({"errorDetail":{"message":"denied"},"error":"denied"})", R"({"error":"denied"})",
                            R"({"errorDetail":{"message":"denied"}})",
                            R"({"errorDetail":{"code":1,"message":"denied"},"error":"other"})"}) {
    const absl::Status status =
        PullPieces({"{\"status\":\"Pulling\"}\n", error, "\n{\"status\":\"trailing\"}\n{\"error\":\"second\"}"});
    EXPECT_EQ(base::CodeOf(status), Code::kImageUnavailable) << error;
    EXPECT_EQ(std::string(status.message()), "pull: denied") << error;
  }
  EXPECT_EQ(base::CodeOf(PullPieces({R"({"errorDetail":{}})"})), Code::kImageUnavailable);
  EXPECT_TRUE(PullPieces({R"({"status":"x","error":""})"}).ok()) << "an empty error is none";
}

TEST_F(ImagePull, FindsTheErrorWhereverTheBytesAreCut) {
  const std::string text =
      "{\"status\":\"a\"}\n\n{\"status\":\"b\"}{\"status\":\"c\"}\n{\"errorDetail\":{\"message\":\"denied\"},"
      "\"error\":\"denied\"}";
  for (size_t piece = 1; piece < text.size(); piece += 3) {
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size(); at += piece) pieces.push_back(text.substr(at, piece));
    const absl::Status status = PullPieces(pieces);
    EXPECT_EQ(base::CodeOf(status), Code::kImageUnavailable) << piece;
    EXPECT_EQ(std::string(status.message()), "pull: denied") << piece;
  }
}

TEST_F(ImagePull, FailsWhenTheStreamBreaksOff) {
  EXPECT_EQ(base::CodeOf(PullPieces({"{\"status\":\"a\"}\n{\"sta"})), Code::kImageUnavailable);
  const absl::Status status = Pull([](Started& call) {
    call.Head(200);
    call.Body("{\"status\":\"a\"}\n");
    call.Done(base::Error(Code::kBackend, "the connection was closed"));
  });
  EXPECT_EQ(base::CodeOf(status), Code::kImageUnavailable);
  EXPECT_EQ(std::string(status.message()), "pull: the connection was closed");
}

TEST_F(ImagePull, PrefersTheDaemonsReasonToTheBreak) {
  const absl::Status status = Pull([](Started& call) {
    call.Head(200);
    call.Body("{\"error\":\"no space left on device\"}\n");
    call.Done(base::Error(Code::kBackend, "the connection was closed"));
  });
  EXPECT_EQ(std::string(status.message()), "pull: no space left on device");
}

TEST_F(ImagePull, FailsOnWhatIsNoProgress) {
  EXPECT_EQ(base::CodeOf(PullPieces({"<html>"})), Code::kImageUnavailable);
  EXPECT_EQ(base::CodeOf(PullPieces({"{\"status\":", "]}"})), Code::kImageUnavailable);
  std::vector<std::string> endless(100, std::string(65536, 'x'));
  endless.insert(endless.begin(), "{\"status\":\"");
  EXPECT_EQ(base::CodeOf(PullPieces(endless)), Code::kImageUnavailable);
}

TEST_F(ImagePull, TurnsEveryHttpErrorIntoImageUnavailable) {
  for (int http : {400, 401, 403, 404, 409, 500}) {
    const absl::Status status = Pull([http](Started& call) {
      call.Head(http);
      call.Done(Answer(http, R"({"message":"pull access denied for i"})"));
    });
    EXPECT_EQ(base::CodeOf(status), Code::kImageUnavailable) << http;
    EXPECT_EQ(base::HttpStatusOf(status), http);
    EXPECT_EQ(std::string(status.message()), "pull: pull access denied for i");
  }
}

TEST_F(ImagePull, KeepsUnreachableApart) {
  const absl::Status status = Pull([](Started& call) { call.Done(base::Error(Code::kUnreachable, "no socket")); });
  EXPECT_EQ(base::CodeOf(status), Code::kUnreachable);
}

TEST_F(ImagePull, EndsAtTheDeadlineOfADaemonThatNeverEnds) {
  const base::Context context = base::Context().WithTimeout(std::chrono::milliseconds(50));
  const absl::Status status = Pull([](Started& call) { call.Head(200); }, context);
  EXPECT_EQ(base::CodeOf(status), Code::kTimeout);
  EXPECT_FALSE(connection_->started()->alive());
}

TEST_F(ImagePull, EndsOnCancelAndTouchesNothingAfterwards) {
  auto token = std::make_shared<base::CancelToken>();
  std::promise<void> begun;
  std::thread canceller([&] {
    begun.get_future().wait();
    token->Fire();
  });
  bool progress_after_return = false;
  bool returned = false;
  const absl::Status status = Pull(
      [&begun](Started& call) {
        call.Head(200);
        begun.set_value();
      },
      base::Context(token),
      [&](const PullProgress&) {
        progress_after_return = returned;
        return true;
      });
  returned = true;
  canceller.join();
  EXPECT_EQ(base::CodeOf(status), Code::kCanceled);
  const std::shared_ptr<Started> started = connection_->started();
  EXPECT_FALSE(started->alive());
  ASSERT_TRUE(client_.loop()
                  ->RunAndWait([&] {
                    EXPECT_FALSE(started->Body("{\"status\":\"late\"}\n"));
                    started->Done(Answer(200, ""));
                  })
                  .ok());
  EXPECT_FALSE(progress_after_return);
}

TEST_F(ImagePull, EndsOnACancelAtAnyMoment) {
  for (int round = 0; round < 200; ++round) {
    auto token = std::make_shared<base::CancelToken>();
    std::thread canceller([&token] { token->Fire(); });
    const absl::Status status = Pull([](Started& call) { call.Head(200); }, base::Context(token));
    canceller.join();
    ASSERT_EQ(base::CodeOf(status), Code::kCanceled);
  }
}

TEST_F(ImagePull, ATokenThatHasFiredSendsNothingThatLasts) {
  auto token = std::make_shared<base::CancelToken>();
  token->Fire();
  EXPECT_EQ(base::CodeOf(Pull([](Started& call) { call.Head(200); }, base::Context(token))), Code::kCanceled);
  DrainLoop();
  const std::shared_ptr<Started> started = connection_->started();
  EXPECT_TRUE(started == nullptr || !started->alive());
}

TEST_F(ImagePull, FollowsADeadlineThatTheTokenMovesUp) {
  auto token = std::make_shared<base::CancelToken>();
  const absl::Status status = Pull(
      [token](Started& call) {
        call.Head(200);
        token->SetDeadline(base::Clock::now());
      },
      base::Context(token));
  EXPECT_EQ(base::CodeOf(status), Code::kTimeout);
}

TEST_F(ImagePull, TellsProgressOnTheCallersThread) {
  std::vector<std::string> seen;
  const std::thread::id caller = std::this_thread::get_id();
  bool elsewhere = false;
  const absl::Status status =
      PullPieces({"{\"status\":\"Downloading\",\"id\":\"l1\",\"progressDetail\":{\"current\":5,\"total\":9}}\n",
                  "{\"status\":7,\"progressDetail\":[]}\n{\"status\":\"Pull complete\",\"id\":\"l1\"}"},
                 [&](const PullProgress& progress) {
                   elsewhere = elsewhere || std::this_thread::get_id() != caller;
                   seen.push_back(progress.id + "|" + progress.status + "|" + std::to_string(progress.current) + "|" +
                                  std::to_string(progress.total));
                   return true;
                 });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(elsewhere);
  EXPECT_EQ(seen, (std::vector<std::string>{"l1|Downloading|5|9", "||0|0", "l1|Pull complete|0|0"}));
}

TEST_F(ImagePull, EndsWhenTheProgressCallbackSaysSo) {
  int calls = 0;
  const absl::Status status = Pull(
      [](Started& call) {
        call.Head(200);
        call.Body("{\"status\":\"a\"}\n{\"status\":\"b\"}\n");
      },
      base::Context(), [&calls](const PullProgress&) { return ++calls < 2; });
  EXPECT_EQ(base::CodeOf(status), Code::kCallback);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(connection_->started()->alive());
}

TEST_F(ImagePull, HoldsABoundedNumberOfProgressLines) {
  std::string flood;
  for (int i = 0; i < 5000; ++i) flood += "{\"status\":\"" + std::to_string(i) + "\"}\n";
  std::promise<void> flooded;
  std::vector<std::string> seen;
  const absl::Status status = Pull(
      [&](Started& call) {
        call.Head(200);
        call.Body("{\"status\":\"first\"}\n");
        call.Body(flood);
        flooded.set_value();
        call.Done(Answer(200, ""));
      },
      base::Context(),
      [&, ready = std::make_shared<std::future<void>>(flooded.get_future())](const PullProgress& progress) {
        if (seen.empty()) ready->wait();
        seen.push_back(progress.status);
        return true;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LE(seen.size(), 600u) << "what came while the callback was busy is bounded";
  EXPECT_EQ(seen.back(), "4999");
}

TEST(ImageInspect, ReadsEnvVolumesAndLabels) {
  const Call<ImageDetails> call = InspectImage("localhost:5000/a/b:t");
  EXPECT_EQ(call.request.target, "/images/localhost%3A5000%2Fa%2Fb%3At/json");
  EXPECT_TRUE(call.request.idempotent);
  const auto image = call.parse(Answer(200, R"({"Id":"sha256:1f","Architecture":"amd64","Config":{"Env":["PATH=/bin"],
      "Volumes":{"/data":{},"/var/x":{}},"Labels":{"a":"b"}}})"));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->id, "sha256:1f");
  EXPECT_EQ(image->architecture, "amd64");
  EXPECT_EQ(image->env, std::vector<std::string>{"PATH=/bin"});
  EXPECT_EQ(image->volumes, (std::vector<std::string>{"/data", "/var/x"}));
  EXPECT_EQ(image->labels, (std::map<std::string, std::string>{{"a", "b"}}));
}

TEST(ImageInspect, TakesNullsForNone) {
  for (const char* body : {R"({"Id":"x","Config":null})", R"({"Id":"x","Config":{}})",
                           R"({"Id":"x","Config":{"Volumes":null,"Env":null,"Labels":null}})"}) {
    const auto image = InspectImage("i").parse(Answer(200, body));
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_TRUE(image->volumes.empty() && image->env.empty() && image->labels.empty());
  }
}

TEST(ImageInspect, RefusesAnswersThatCouldHideAVolume) {
  for (const char* body : {R"({"Id":"x"})", R"({"Id":"x","Config":[]})", R"({"Id":"x","Config":{"Volumes":["/data"]}})",
                           R"({"Config":{}})", R"({"Id":"","Config":{}})", R"({"Id":3,"Config":{}})", "[]", ""}) {
    EXPECT_EQ(base::CodeOf(InspectImage("i").parse(Answer(200, body)).status()), Code::kBackend) << body;
  }
  EXPECT_EQ(base::CodeOf(InspectImage("i").parse(Answer(404, R"({"message":"No such image: i"})")).status()),
            Code::kNotFound);
}

}  // namespace
}  // namespace osbx::engine
