#include "engine/engine_error.h"

#include <gtest/gtest.h>

#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;

std::string Message(int status, const std::string& body) {
  return std::string(ErrorFromResponse(Answer(status, body), "call").message());
}
Code CodeFor(int status, const std::string& body) {
  return base::CodeOf(ErrorFromResponse(Answer(status, body), "call"));
}

TEST(EngineError, MapsTheHttpStatus) {
  const struct {
    int status;
    Code code;
  } kCases[] = {{400, Code::kInvalid},  {401, Code::kPermission},  {403, Code::kPermission}, {404, Code::kNotFound},
                {409, Code::kConflict}, {501, Code::kUnsupported}, {500, Code::kBackend},    {503, Code::kBackend},
                {418, Code::kBackend},  {301, Code::kBackend},     {304, Code::kBackend},    {200, Code::kBackend}};
  for (const auto& test : kCases) {
    const absl::Status status = ErrorFromResponse(Answer(test.status, R"({"message":"m"})"), "call");
    EXPECT_EQ(base::CodeOf(status), test.code) << test.status;
    EXPECT_EQ(base::HttpStatusOf(status), test.status);
  }
}

TEST(EngineError, TakesDockersMessage) {
  EXPECT_EQ(Message(404, "{\"message\":\"No such container: c\"}\n"), "call: No such container: c");
}

TEST(EngineError, TakesPodmansMessageAndItsCauseWhereThatSaysMore) {
  EXPECT_EQ(
      Message(500, R"({"cause":"that name is already in use","message":"creating container storage: the container )"
                   R"(name \"n\" is already in use by 1f: that name is already in use","response":500})"),
      "call: creating container storage: the container name \"n\" is already in use by 1f: that name is already in "
      "use");
  EXPECT_EQ(Message(500, R"({"cause":"disk full","message":"cannot write","response":500})"),
            "call: cannot write: disk full");
  EXPECT_EQ(Message(404, R"({"cause":"no such container","message":"","response":404})"), "call: no such container");
}

TEST(EngineError, KnowsPodmansWordForAConflict) {
  const std::string body = R"({"cause":"container state improper","message":"can only create exec sessions on running )"
                           R"(containers: container state improper","response":500})";
  EXPECT_EQ(CodeFor(500, body), Code::kConflict);
  EXPECT_EQ(CodeFor(400, body), Code::kInvalid) << "only a 500 is reconsidered";
}

TEST(EngineError, TellsAVersionThatIsRefusedFromAnArgumentThatIs) {
  EXPECT_EQ(CodeFor(400, R"({"message":"client version 1.99 is too new. Maximum supported API version is 1.41"})"),
            Code::kUnsupported);
  EXPECT_EQ(CodeFor(400, R"({"message":"invalid: client version 1.9, Maximum supported API version is 1"})"),
            Code::kInvalid);
}

TEST(EngineError, FallsBackToTheFirstLineOfAnythingElse) {
  EXPECT_EQ(Message(502, "\r\n <html>\n<body>Bad gateway</body>"), "call: <html>");
  EXPECT_EQ(Message(500, R"({"message":17})"), R"(call: {"message":17})");
  EXPECT_EQ(Message(500, R"(["message"])"), R"(call: ["message"])");
  EXPECT_EQ(Message(500, R"({"message":"a","message":"b"})"), R"(call: {"message":"a","message":"b"})");
}

TEST(EngineError, NamesTheStatusWhereThereIsNoText) {
  EXPECT_EQ(Message(500, ""), "call: HTTP 500");
  EXPECT_EQ(Message(404, " \n\n"), "call: HTTP 404");
  EXPECT_EQ(Message(502, R"({"message":" \n"})"), R"(call: {"message":" \n"})");
}

TEST(EngineError, IsOneBoundedLineWhateverTheEngineSays) {
  const std::string message = Message(500, R"({"message":"one\ntwo\u001b[31m\r\nthree"})");
  EXPECT_EQ(message.find_first_of("\r\n\x1b"), std::string::npos) << message;
  EXPECT_NE(message.find("three"), std::string::npos);
  EXPECT_LE(Message(500, "{\"message\":\"" + std::string(100000, 'x') + "\"}").size(), 1024u);
  EXPECT_LE(Message(500, std::string(100000, 'x')).size(), 1024u);
}

}  // namespace
}  // namespace osbx::engine
