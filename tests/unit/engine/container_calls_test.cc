#include "engine/container_calls.h"

#include <gtest/gtest.h>

#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;

template <typename T>
Code CodeFor(const Call<T>& call, int status, const std::string& body) {
  return base::CodeOf(call.parse(Answer(status, body)).status());
}

TEST(ContainerCalls, CreateGivesIdAndWarnings) {
  const auto call = CreateContainer("n", ContainerConfig());
  const auto created = call.parse(Answer(201, R"({"Id":"1f2e","Warnings":["limits discarded",7]})"));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->id, "1f2e");
  EXPECT_EQ(created->warnings, std::vector<std::string>{"limits discarded"});
  EXPECT_TRUE(call.parse(Answer(201, R"({"Id":"1","Warnings":null})"))->warnings.empty());
}

TEST(ContainerCalls, CreateTellsTheFailuresApart) {
  const auto call = CreateContainer("n", ContainerConfig());
  EXPECT_EQ(CodeFor(call, 404, R"({"message":"No such image: i:latest"})"), Code::kNotFound);
  EXPECT_EQ(CodeFor(call, 400, R"({"message":"Unknown runtime specified nope"})"), Code::kInvalid);
  EXPECT_EQ(CodeFor(call, 409, R"({"message":"Conflict. The container name \"/n\" is already in use by container x"})"),
            Code::kConflict);
  EXPECT_EQ(CodeFor(call, 500,
                    R"({"cause":"that name is already in use","message":"creating container storage: the )"
                    R"(container name \"n\" is already in use by 1: that name is already in use","response":500})"),
            Code::kConflict);
  EXPECT_EQ(CodeFor(call, 500, R"({"cause":"x","message":"unknown mount option \"uid=65534\"","response":500})"),
            Code::kBackend);
}

TEST(ContainerCalls, CreateWithoutAnIdHasFailed) {
  const auto call = CreateContainer("n", ContainerConfig());
  for (const char* body :
       {"", "{}", "null", R"({"Id":null})", R"({"Id":["a"]})", R"({"Id":"a/b"})", R"({"Id":"a b"})"}) {
    EXPECT_EQ(CodeFor(call, 201, body), Code::kBackend) << body;
  }
}

TEST(ContainerCalls, StartAndStopTellWhetherTheyDidIt) {
  const Call<bool> start = StartContainer("c/d");
  EXPECT_EQ(start.request.method, "POST");
  EXPECT_EQ(start.request.target, "/containers/c%2Fd/start");
  EXPECT_TRUE(*start.parse(Answer(204, "")));
  EXPECT_FALSE(*start.parse(Answer(304, "")));
  EXPECT_EQ(CodeFor(start, 400, R"({"message":"OCI runtime create failed: nope"})"), Code::kInvalid);
  EXPECT_EQ(CodeFor(start, 404, R"({"message":"No such container"})"), Code::kNotFound);
  const Call<bool> stop = StopContainer("c", 3);
  EXPECT_EQ(stop.request.target, "/containers/c/stop?t=3");
  EXPECT_TRUE(*stop.parse(Answer(204, "")));
  EXPECT_FALSE(*stop.parse(Answer(304, "")));
}

TEST(ContainerCalls, ChangingCallsAreNeverSentTwice) {
  EXPECT_FALSE(StartContainer("c").request.idempotent);
  EXPECT_FALSE(StopContainer("c", 1).request.idempotent);
  EXPECT_FALSE(KillContainer("c", "KILL").request.idempotent);
  EXPECT_FALSE(RemoveContainer("c", true).request.idempotent);
  EXPECT_FALSE(WaitContainer("c", WaitCondition::kNextExit).request.idempotent);
  EXPECT_TRUE(InspectContainer("c").request.idempotent);
  EXPECT_TRUE(ListContainers({}).request.idempotent);
}

TEST(ContainerCalls, KillUnpauseAndRemoveNameTheirTarget) {
  EXPECT_EQ(KillContainer("c", "SIGUSR1&x").request.target, "/containers/c/kill?signal=SIGUSR1%26x");
  EXPECT_EQ(UnpauseContainer("c").request.target, "/containers/c/unpause");
  EXPECT_EQ(RemoveContainer("c", false).request.target, "/containers/c?v=1");
  const Call<Nothing> remove = RemoveContainer("c", true);
  EXPECT_EQ(remove.request.method, "DELETE");
  EXPECT_EQ(remove.request.target, "/containers/c?force=1&v=1");
  EXPECT_TRUE(remove.parse(Answer(204, "")).ok());
  EXPECT_TRUE(remove.parse(Answer(200, "[]")).ok());
  EXPECT_EQ(CodeFor(remove, 409, R"({"message":"removal of container c is already in progress"})"), Code::kConflict);
  EXPECT_EQ(CodeFor(remove, 500,
                    R"({"cause":"container state improper","message":"cannot remove container c as it is )"
                    R"(running: container state improper","response":500})"),
            Code::kConflict);
}

TEST(ContainerCalls, WaitReadsTheCodeOrFails) {
  const Call<int64_t> wait = WaitContainer("c", WaitCondition::kNextExit);
  EXPECT_EQ(wait.request.method, "POST");
  EXPECT_EQ(wait.request.target, "/containers/c/wait?condition=next-exit");
  EXPECT_EQ(WaitContainer("c", WaitCondition::kNotRunning).request.target, "/containers/c/wait?condition=not-running");
  EXPECT_EQ(WaitContainer("c", WaitCondition::kRemoved).request.target, "/containers/c/wait?condition=removed");
  EXPECT_EQ(*wait.parse(Answer(200, R"({"StatusCode":137})")), 137);
  EXPECT_EQ(*wait.parse(Answer(200, R"({"StatusCode":0,"Error":null})")), 0);
  EXPECT_EQ(*wait.parse(Answer(200, R"({"Error":{"Message":""},"StatusCode":-1})")), -1);
  EXPECT_EQ(CodeFor(wait, 200, R"({"StatusCode":0,"Error":{"Message":"context canceled"}})"), Code::kBackend);
  for (const char* body : {"", "{}", R"({"StatusCode":null})", R"({"StatusCode":"0"})", R"({"StatusCode":0.5})"}) {
    EXPECT_EQ(CodeFor(wait, 200, body), Code::kBackend) << body;
  }
  EXPECT_EQ(CodeFor(wait, 404, R"({"message":"No such container: c"})"), Code::kNotFound);
}

TEST(ContainerCalls, AttachAsksForOutputOnly) {
  auto connection = std::make_shared<FakeConnection>();
  Client client(connection, ApiVersion{1, 41});
  connection->hijack_answer.response = Answer(409, R"({"message":"container is paused"})");
  EXPECT_EQ(base::CodeOf(AttachContainer(client, "c", base::Context()).status()), Code::kConflict);
  EXPECT_EQ(connection->last_request().method, "POST");
  EXPECT_EQ(connection->last_request().target, "/v1.41/containers/c/attach?stream=1&stdout=1&stderr=1");
}

TEST(ContainerCalls, ArchiveIsBounded) {
  const Call<std::string> call = GetArchive("c", "/etc/pass wd&x", 10);
  EXPECT_EQ(call.request.target, "/containers/c/archive?path=%2Fetc%2Fpass%20wd%26x");
  EXPECT_GE(call.request.max_response, 10u);
  EXPECT_EQ(*call.parse(Answer(200, "0123456789")), "0123456789");
  EXPECT_EQ(CodeFor(call, 200, "0123456789+"), Code::kTooLarge);
  EXPECT_EQ(CodeFor(call, 404, R"({"message":"Could not find the file /etc/passwd in container c"})"), Code::kNotFound);
  EXPECT_EQ(GetArchive("c", "/", size_t{5} << 20).request.max_response, size_t{5} << 20);
}

TEST(ContainerList, FiltersByAllLabels) {
  const auto call = ListContainers({"osbx.managed=1", "a\"&b"});
  const std::string prefix = "/containers/json?all=1&filters=";
  ASSERT_EQ(call.request.target.substr(0, prefix.size()), prefix);
  const std::string encoded = call.request.target.substr(prefix.size());
  EXPECT_EQ(encoded.find_first_of("{}[]\"&= "), std::string::npos) << encoded;
  EXPECT_EQ(PercentDecoded(encoded), R"({"label":["osbx.managed=1","a\"&b"]})");
}

TEST(ContainerList, ReadsItsRows) {
  const auto list = ListContainers({}).parse(Answer(200, R"([
      {"Id":"a1","Names":["/other/alias","/osbx-1"],"Image":"i","State":"running","Labels":{"k":"v","bad":7}},
      {"Id":"a2","Names":null,"Labels":null},
      {"Id":"a3","Names":"x","Image":4,"State":[],"Labels":[]}])"));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].id, "a1");
  EXPECT_EQ((*list)[0].name, "osbx-1");
  EXPECT_EQ((*list)[0].image, "i");
  EXPECT_EQ((*list)[0].state, "running");
  EXPECT_EQ((*list)[0].labels, (std::map<std::string, std::string>{{"k", "v"}}));
  for (size_t i : {1, 2}) {
    EXPECT_EQ((*list)[i].name, "");
    EXPECT_EQ((*list)[i].state, "");
    EXPECT_TRUE((*list)[i].labels.empty());
  }
}

TEST(ContainerList, RefusesWhatIsNoListOfContainers) {
  for (const char* body : {"", "{}", "null", "[1]", "[null]", "[{}]", R"([{"Id":7}])", R"([{"Id":"a"},])", "[[]]"}) {
    EXPECT_EQ(CodeFor(ListContainers({}), 200, body), Code::kBackend) << body;
  }
}

TEST(ContainerList, HoldsTenThousandContainers) {
  std::string body = "[";
  const std::string filler(1500, 'x');
  for (int i = 0; i < 10000; ++i) {
    if (i > 0) body += ",";
    body += R"({"Id":"c)" + std::to_string(i) + R"(","Names":["/n)" + std::to_string(i) +
            R"("],"State":"running","Labels":{"osbx.managed":"1","filler":")" + filler + "\"}}";
  }
  body += "]";
  const auto call = ListContainers({"osbx.managed=1"});
  ASSERT_LE(body.size(), call.request.max_response);
  const auto list = call.parse(Answer(200, body));
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 10000u);
  EXPECT_EQ(list->back().name, "n9999");
}

TEST(ContainerList, RefusesAListBeyondItsBound) {
  const auto call = ListContainers({});
  EXPECT_EQ(CodeFor(call, 200, "[" + std::string(call.request.max_response, ' ') + "]"), Code::kBackend);
}

}  // namespace
}  // namespace osbx::engine
