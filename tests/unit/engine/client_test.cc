#include "engine/client.h"

#include <gtest/gtest.h>

#include "engine/exec_calls.h"
#include "engine/system_calls.h"
#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;

Call<std::string> EchoBody(const std::string& target) {
  Call<std::string> call;
  call.request.target = target;
  call.parse = [](const transport::Response& response) -> absl::StatusOr<std::string> { return response.body; };
  return call;
}

// The path that a call goes to when the daemon answers the ping with these headers.
std::string NegotiatedPath(std::vector<std::pair<std::string, std::string>> headers) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerPing(std::move(headers));
  connection->AnswerNext(Answer(200, "body"));
  Client client(connection, std::nullopt);
  const absl::StatusOr<std::string> body = client.Run(EchoBody("/x"), base::Context());
  if (!body.ok()) return body.status().ToString();
  return connection->last_request().target;
}

TEST(ApiVersionNumber, IsComparedByNumbersNotByLetters) {
  EXPECT_TRUE((ApiVersion{1, 9} < ApiVersion{1, 44}));
  EXPECT_FALSE((ApiVersion{1, 44} < ApiVersion{1, 9}));
  EXPECT_TRUE((ApiVersion{1, 99} < ApiVersion{2, 0}));
  EXPECT_FALSE((ApiVersion{2, 0} < ApiVersion{1, 99}));
  EXPECT_FALSE((ApiVersion{1, 41} < ApiVersion{1, 41}));
}

TEST(ApiVersionNumber, IsTwoPlainNumbers) {
  const absl::StatusOr<ApiVersion> version = ParseApiVersion("1.51");
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(version->ToString(), "1.51");
  for (const char* bad : {"", "1", "1.", ".41", "v1.41", "1.41.2", "1.4 1", "-1.41", "1.+41", "1.041", "99999.1"}) {
    EXPECT_EQ(base::CodeOf(ParseApiVersion(bad).status()), Code::kInvalid) << bad;
  }
}

TEST(VersionNegotiation, TakesTheDaemonsVersionUpToTheNewestKnown) {
  const struct {
    const char* daemon;
    const char* path;
  } kCases[] = {{"1.41", "/v1.41/x"}, {"1.44", "/v1.44/x"}, {"1.45", "/v1.45/x"}, {"1.51", "/v1.51/x"},
                {"1.52", "/v1.51/x"}, {"1.56", "/v1.51/x"}, {"2.0", "/v1.51/x"}};
  for (const auto& test : kCases) EXPECT_EQ(NegotiatedPath({{"Api-Version", test.daemon}}), test.path) << test.daemon;
}

TEST(VersionNegotiation, FindsTheHeaderInAnySpelling) {
  EXPECT_EQ(NegotiatedPath({{"OSType", "linux"}, {"api-version", "1.44"}}), "/v1.44/x");
}

TEST(VersionNegotiation, AssumesTheOldestWhereTheHeaderIsMissing) {
  EXPECT_EQ(NegotiatedPath({{"Content-Type", "text/plain"}}), "/v1.41/x");
}

TEST(VersionNegotiation, RefusesADaemonThatIsTooOld) {
  for (const char* old : {"1.40", "1.9", "0.99"}) {
    auto connection = std::make_shared<FakeConnection>();
    connection->AnswerPing({{"Api-Version", old}});
    Client client(connection, std::nullopt);
    const absl::Status status = client.Run(EchoBody("/x"), base::Context()).status();
    EXPECT_EQ(base::CodeOf(status), Code::kUnsupported) << old;
    EXPECT_NE(std::string(status.message()).find(old), std::string::npos) << status;
    EXPECT_EQ(connection->requests().size(), 1u) << "nothing but the ping may be sent";
  }
}

TEST(VersionNegotiation, RefusesAHeaderThatIsNoVersion) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerPing({{"Api-Version", "latest"}});
  Client client(connection, std::nullopt);
  EXPECT_EQ(base::CodeOf(client.Negotiate(base::Context())), Code::kBackend);
}

TEST(VersionNegotiation, AsksOnce) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerPing();
  connection->AnswerNext(Answer(200, "a"));
  connection->AnswerNext(Answer(200, "b"));
  Client client(connection, std::nullopt);
  EXPECT_EQ(*client.Run(EchoBody("/a"), base::Context()), "a");
  EXPECT_EQ(*client.Run(EchoBody("/b"), base::Context()), "b");
  const std::vector<transport::Request> requests = connection->requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].target, "/_ping");
  EXPECT_TRUE(requests[0].idempotent);
  EXPECT_EQ(requests[2].target, "/v1.41/b");
}

TEST(VersionNegotiation, AsksAgainAfterAFailure) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerNext(base::Error(Code::kUnreachable, "no daemon"));
  connection->AnswerPing();
  Client client(connection, std::nullopt);
  EXPECT_EQ(base::CodeOf(client.Negotiate(base::Context())), Code::kUnreachable);
  EXPECT_TRUE(client.Negotiate(base::Context()).ok());
}

TEST(VersionNegotiation, PassesTheDaemonsErrorOn) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerNext(Answer(503, R"({"message":"starting up"})"));
  Client client(connection, std::nullopt);
  const absl::Status status = client.Negotiate(base::Context());
  EXPECT_EQ(base::CodeOf(status), Code::kBackend);
  EXPECT_EQ(std::string(status.message()), "ping the engine: starting up");
}

TEST(VersionNegotiation, UsesAFixedVersionWithoutAsking) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerNext(Answer(200, "x"));
  Client client(connection, ApiVersion{1, 60});
  ASSERT_TRUE(client.Run(EchoBody("/x"), base::Context()).ok());
  ASSERT_EQ(connection->requests().size(), 1u);
  EXPECT_EQ(connection->last_request().target, "/v1.60/x");
}

TEST(VersionNegotiation, RefusesAFixedVersionThatIsTooOld) {
  auto connection = std::make_shared<FakeConnection>();
  Client client(connection, ApiVersion{1, 9});
  EXPECT_EQ(base::CodeOf(client.Run(EchoBody("/x"), base::Context()).status()), Code::kUnsupported);
  EXPECT_TRUE(connection->requests().empty());
}

TEST(VersionNegotiation, SurfacesTheTextOfADaemonThatFindsUsTooOld) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerNext(Answer(400, R"({"message":"client version 1.43 is too old. Minimum supported API version )"
                                     R"(is 1.44, please upgrade your client to a newer version"})"));
  Client client(connection, ApiVersion{1, 43});
  const absl::Status status = client.Run(InspectExec("e"), base::Context()).status();
  EXPECT_EQ(base::CodeOf(status), Code::kUnsupported);
  EXPECT_NE(std::string(status.message()).find("Minimum supported API version is 1.44"), std::string::npos);
}

TEST(ClientCall, HonoursAContextThatHasFired) {
  auto connection = std::make_shared<FakeConnection>();
  Client client(connection, std::nullopt);
  auto token = std::make_shared<base::CancelToken>();
  token->Fire();
  EXPECT_EQ(base::CodeOf(client.Run(EchoBody("/x"), base::Context(token)).status()), Code::kCanceled);
}

TEST(ClientHijack, TurnsAnHttpErrorIntoAnError) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerPing();
  connection->hijack_answer.response = Answer(404, R"({"message":"No such exec instance: e"})");
  Client client(connection, std::nullopt);
  const auto stream = StartExec(client, "e", base::Context());
  EXPECT_EQ(base::CodeOf(stream.status()), Code::kNotFound);
  EXPECT_EQ(base::HttpStatusOf(stream.status()), 404);
  EXPECT_EQ(std::string(stream.status().message()), "start exec: No such exec instance: e");
}

TEST(ClientStart, ParsesOnTheLoop) {
  auto connection = std::make_shared<FakeConnection>();
  connection->AnswerPing();
  Client client(connection, std::nullopt);
  ASSERT_TRUE(client.Negotiate(base::Context()).ok());
  base::Mutex mutex;
  base::CondVar changed;
  absl::StatusOr<std::string> result = base::Error(Code::kInternal, "not yet");
  int head = 0;
  bool done = false;
  connection->on_start = [](FakeConnection::Started& call) {
    call.Head(200);
    call.Done(Answer(200, "body"));
  };
  std::unique_ptr<transport::PendingCall> pending;
  ASSERT_TRUE(client.loop()
                  ->RunAndWait([&] {
                    pending = client.Start<std::string>(
                        EchoBody("/x"), base::TimePoint::max(),
                        [&](absl::StatusOr<std::string> body) {
                          base::MutexLock lock(mutex);
                          result = std::move(body);
                          done = true;
                          changed.NotifyAll();
                        },
                        [&](int status) { head = status; });
                  })
                  .ok());
  {
    base::MutexLock lock(mutex);
    const base::TimePoint bound = base::Clock::now() + std::chrono::seconds(20);
    while (!done && base::Clock::now() < bound) changed.WaitUntil(mutex, bound);
    ASSERT_TRUE(done);
    EXPECT_EQ(*result, "body");
    EXPECT_EQ(head, 200);
  }
  EXPECT_EQ(connection->last_request().target, "/v1.41/x");
  ASSERT_TRUE(client.loop()->RunAndWait([&] { pending.reset(); }).ok());
}

}  // namespace
}  // namespace osbx::engine
