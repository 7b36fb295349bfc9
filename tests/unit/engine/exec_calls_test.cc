#include "engine/exec_calls.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;

std::string Frame(char stream, const std::string& payload) {
  std::string frame(8, '\0');
  frame[0] = stream;
  for (int i = 0; i < 4; ++i) frame[static_cast<size_t>(4 + i)] = static_cast<char>(payload.size() >> (24 - 8 * i));
  return frame + payload;
}

TEST(ExecCalls, CreateSendsTheWholeConfig) {
  ExecConfig config;
  config.argv = {"sh", "-c", "echo \"\n"};
  config.env = {"A=b=c"};
  config.user = "1000:1000";
  config.working_dir = "/workspace";
  config.attach_stdin = true;
  const Call<std::string> call = CreateExec("c/1", config);
  EXPECT_EQ(call.request.method, "POST");
  EXPECT_EQ(call.request.target, "/containers/c%2F1/exec");
  EXPECT_EQ(call.request.content_type, "application/json");
  EXPECT_FALSE(call.request.idempotent);
  const auto document = base::ParseJson(call.request.body);
  ASSERT_TRUE(document.ok()) << document.status();
  const base::JsonValue root = document->root();
  EXPECT_EQ(root.Members().size(), 9u) << call.request.body;
  EXPECT_EQ(root["AttachStdin"].AsBool(), true);
  EXPECT_EQ(root["AttachStdout"].AsBool(), true);
  EXPECT_EQ(root["AttachStderr"].AsBool(), true);
  EXPECT_EQ(root["Tty"].AsBool(), false);
  EXPECT_EQ(root["Privileged"].AsBool(), false);
  EXPECT_EQ(root["User"].AsString(), "1000:1000");
  EXPECT_EQ(root["WorkingDir"].AsString(), "/workspace");
  ASSERT_EQ(root["Cmd"].Items().size(), 3u);
  EXPECT_EQ(root["Cmd"].Items()[2].AsString(), "echo \"\n");
  ASSERT_EQ(root["Env"].Items().size(), 1u);
  EXPECT_EQ(root["Env"].Items()[0].AsString(), "A=b=c");
}

TEST(ExecCalls, CreateReadsTheIdOrFails) {
  const Call<std::string> call = CreateExec("c", ExecConfig());
  EXPECT_EQ(*call.parse(Answer(201, R"({"Id":"e1"})")), "e1");
  const struct {
    int status;
    const char* body;
    Code code;
  } kCases[] = {
      {201, "{}", Code::kBackend},
      {201, R"({"Id":"e/../1"})", Code::kBackend},
      {201, "Id", Code::kBackend},
      {404, R"({"message":"No such container: c"})", Code::kNotFound},
      {409, R"({"message":"Container c is not running"})", Code::kConflict},
      {500,
       R"({"cause":"container state improper","message":"can only create exec sessions on running containers: )"
       R"(container state improper","response":500})",
       Code::kConflict},
      {500, R"({"message":"No exec command specified"})", Code::kBackend},
  };
  for (const auto& test : kCases)
    EXPECT_EQ(base::CodeOf(call.parse(Answer(test.status, test.body)).status()), test.code);
}

TEST(ExecCalls, StartAsksForTheStreamThatWasCreated) {
  auto connection = std::make_shared<FakeConnection>();
  Client client(connection, ApiVersion{1, 41});
  connection->hijack_answer.response = Answer(500, "");
  EXPECT_FALSE(StartExec(client, "e1", base::Context()).ok());
  EXPECT_EQ(connection->last_request().method, "POST");
  EXPECT_EQ(connection->last_request().target, "/v1.41/exec/e1/start");
  EXPECT_EQ(connection->last_request().body, R"({"Detach":false,"Tty":false})");
  EXPECT_FALSE(StartExec(client, "e1", base::Context(), true).ok());
  EXPECT_EQ(connection->last_request().body, R"({"Detach":false,"Tty":true})");
}

TEST(ExecCalls, RunJoinsBothStreams) {
  const Call<std::string> call = RunExec("e");
  EXPECT_EQ(call.request.target, "/exec/e/start");
  EXPECT_EQ(call.request.body, R"({"Detach":false,"Tty":false})");
  EXPECT_EQ(*call.parse(Answer(200, Frame(1, "out ") + Frame(2, "err ") + Frame(1, "end"))), "out err end");
  EXPECT_EQ(*call.parse(Answer(200, "")), "");
}

TEST(ExecCalls, RunKeepsWhatCameBeforeAnEarlyEnd) {
  const std::string whole = Frame(1, "first") + Frame(1, "second");
  EXPECT_EQ(*RunExec("e").parse(Answer(200, whole.substr(0, whole.size() - 3))), "firstsec");
  EXPECT_EQ(*RunExec("e").parse(Answer(200, whole.substr(0, 16))), "first");
}

TEST(ExecCalls, RunKeepsTheFirst64KiB) {
  std::string body;
  for (int i = 0; i < 5; ++i) body += Frame(1, std::string(20000, static_cast<char>('a' + i)));
  const auto output = RunExec("e").parse(Answer(200, body));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->size(), 65536u);
  EXPECT_EQ(output->back(), 'd');
}

TEST(ExecCalls, RunRefusesWhatIsNotMultiplexed) {
  EXPECT_EQ(base::CodeOf(RunExec("e").parse(Answer(200, "plain text")).status()), Code::kBackend);
  EXPECT_EQ(base::CodeOf(RunExec("e").parse(Answer(404, R"({"message":"No such exec"})")).status()), Code::kNotFound);
}

TEST(ExecCalls, InspectTellsRunningFromEnded) {
  const Call<ExecState> call = InspectExec("e");
  EXPECT_EQ(call.request.target, "/exec/e/json");
  EXPECT_TRUE(call.request.idempotent);
  const auto running = call.parse(Answer(200, R"({"ID":"e","Running":true,"ExitCode":null,"Pid":77})"));
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_TRUE(running->running);
  EXPECT_FALSE(running->exit_code.has_value());
  EXPECT_EQ(running->pid, 77);
  const auto ended = call.parse(Answer(200, R"({"Running":false,"ExitCode":7,"Pid":0})"));
  ASSERT_TRUE(ended.ok());
  EXPECT_FALSE(ended->running);
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_EQ(ended->pid, 0);
}

TEST(ExecCalls, InspectMakesNothingUp) {
  const Call<ExecState> call = InspectExec("e");
  for (const char* body : {R"({"Running":false})", R"({"Running":false,"ExitCode":"0","Pid":"1"})",
                           R"({"Running":false,"ExitCode":0.5,"Pid":null})"}) {
    const auto state = call.parse(Answer(200, body));
    ASSERT_TRUE(state.ok()) << body;
    EXPECT_FALSE(state->exit_code.has_value()) << body;
    EXPECT_EQ(state->pid, -1) << body;
  }
  for (const char* body : {"", "[]", "{}", R"({"Running":"false","ExitCode":0})", R"({"Running":null,"ExitCode":0})"}) {
    EXPECT_EQ(base::CodeOf(call.parse(Answer(200, body)).status()), Code::kBackend) << body;
  }
}

}  // namespace
}  // namespace osbx::engine
