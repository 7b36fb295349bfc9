// POST /execute: the request, the answer, and how the command runs.
#include "contract_case.h"

namespace osbx::conformance {
namespace {

class Execute : public Case {
 protected:
  static Response Post(const std::string& body) { return Call(server(), "POST", "/execute", body); }
  // A command that leaves a file, and whether it did.
  std::string Trace() const { return "echo >'" + Disk("ran") + "'"; }
  bool HasRun() const { return ReadDisk(Disk("ran")) != "(no such file)"; }
  // `body` is refused with `status`, and nothing has run.
  void ExpectRefused(const std::string& body, int status = 400) {
    const Response response = Post(body);
    EXPECT_TRUE(Refused(response, status)) << body.substr(0, 200);
    EXPECT_FALSE(HasRun()) << body.substr(0, 200);
  }
  std::string Body(const std::string& more) const { return ExecuteBody(Trace(), more); }
};

CONTRACT(Execute, TheShellsCode, "`exitCode` is the shell's.",
         "The answer is 200 and always has all five fields: `exitCode`, `stdout`, `stderr`, `durationMillis` and "
         "`truncated`.",
         "`exitCode` and `durationMillis` are whole numbers, `stdout` and `stderr` are strings, `truncated` is true or "
         "false.") {
  for (const int code : {0, 1, 3, 124, 255}) {
    const Ran ran = Shell("printf out; printf err >&2; exit " + std::to_string(code));
    EXPECT_TRUE(ran.complete) << ran;
    EXPECT_EQ(ran.exit_code, code);
    EXPECT_EQ(ran.out, "out");
    EXPECT_EQ(ran.err, "err");
    EXPECT_FALSE(ran.truncated);
  }
  const Ran silent = Shell(":");
  EXPECT_TRUE(silent.complete && silent.exit_code == 0 && silent.out.empty() && silent.err.empty()) << silent;
}

CONTRACT(Execute, KilledBySignal, "A command that signal n killed has the exit code 128 + n.") {
  EXPECT_EQ(Shell("kill -9 $$").exit_code, 137);
  EXPECT_EQ(Shell("kill -15 $$").exit_code, 143);
  EXPECT_EQ(Shell("kill -10 $$").exit_code, 138);
}

CONTRACT(Execute, TheRequest,
         "The body is one JSON object: `command` is a string, and `timeoutSeconds`, a number, may be left out.",
         "`Content-Type` is not required.", "Fields that are not known are ignored.") {
  EXPECT_EQ(ParseRan(Post("{\"command\":\"printf a\"}")).out, "a");
  EXPECT_EQ(
      ParseRan(Post(" \r\n\t{ \"timeoutSeconds\" : 20 , \"command\" : \"printf \\u00e9\\ud83d\\ude00\" } \n")).out,
      "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(ParseRan(Post("{\"command\":\"printf c\",\"x\":[{\"command\":1}],\"Command\":null}")).out, "c");
  for (const char* type : {"text/plain", "application/json; charset=utf-8", "application/x-www-form-urlencoded"}) {
    Connection connection(server());
    connection.Send(Message("POST", "/execute", ExecuteBody("printf d"), {{"Content-Type", type}}));
    EXPECT_EQ(ParseRan(connection.Receive()).out, "d") << type;
  }
}

CONTRACT(Execute, BadCommand, "A `command` that is missing, empty or not a string is 400.",
         "A `command` with a NUL or a lone surrogate is 400.") {
  for (const char* body :
       {"{}", "{\"timeoutSeconds\":1}", "{\"command\":\"\"}", "{\"command\":1}", "{\"command\":null}",
        "{\"command\":true}", "{\"command\":[\"ls\"]}", "{\"command\":{}}", "{\"Command\":\"ls\"}"}) {
    ExpectRefused(body);
  }
  const std::string begin = "{\"command\":\"" + Trace();
  for (const char* rest :
       {"\\u0000", " # \\u0000 x", " # \\ud800", " # \\udc00", " # \\ud800\\u0041", " # \\udc00\\ud800"}) {
    ExpectRefused(begin + rest + "\"}");
  }
  ExpectRefused(begin + std::string(1, '\0') + "\"}");
}

CONTRACT(Execute, StrictJson,
         "A body that is not one JSON object is 400: other JSON, no JSON, or anything behind the object.",
         "A key that stands twice in one object is 400.", "When the answer is 400 or 413, nothing has run.") {
  const std::string good = Body("");
  const std::string members = good.substr(1, good.size() - 2);
  const std::vector<std::string> bodies = {
      "",
      " ",
      "null",
      "[" + good + "]",
      Quoted(good),
      members,
      good.substr(0, good.size() - 1),
      good + "x",
      good + good,
      good + ",",
      "{" + members + ",}",
      "{," + members + "}",
      "{" + members + "} // no comment",
      "{'command':'true'}",
      "{command:\"true\"}",
      "{" + members + ",\"a\":01}",
      "{" + members + ",\"a\":+1}",
      "{" + members + ",\"a\":.5}",
      "{" + members + ",\"a\":NaN}",
      "{" + members + ",\"a\":tru}",
      "{" + members + ",\"a\":\"\\x\"}",
      "{" + members + ",\"a\":\"\\u12g4\"}",
      "{" + members + ",\"a\":\"line\nfeed\"}",
      "{" + members + ",\"a\":[1,]}",
      "{" + members + "," + members + "}",
      "{" + members + ",\"timeoutSeconds\":1,\"timeoutSeconds\":1}",
      "{" + members + ",\"x\":1,\"x\":2}",
      "{" + members + ",\"x\":1,\"\\u0078\":2}",
      "{" + members + ",\"x\":{\"y\":1,\"y\":1}}",
      "{" + members + ",\"\\u0063ommand\":\"ls\"}",
      "\xef\xbb\xbf" + good,
      good + std::string(1, '\0'),
      "{" + members + ",\"a\":\"\xff\"}",
  };
  for (const std::string& body : bodies) ExpectRefused(body);
  EXPECT_EQ(ParseRan(Post(good)).exit_code, 0);
  EXPECT_TRUE(HasRun());
}

CONTRACT(Execute, Nesting, "Nesting deeper than 64 is 400.") {
  const auto nested = [&](size_t depth) {  // the body itself is one level
    return Body(", \"x\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']'));
  };
  ExpectRefused(nested(65));
  ExpectRefused(nested(100'000));
  std::string objects;
  for (int i = 0; i < 64; ++i) objects += "{\"a\":";
  ExpectRefused(Body(", \"x\": " + objects + "1" + std::string(64, '}')));
  EXPECT_EQ(ParseRan(Post(nested(64))).exit_code, 0);
}

CONTRACT(Execute, BadTimeout, "A `timeoutSeconds` that is negative, not finite or not a number is 400.") {
  for (const char* value :
       {"-1", "-0.001", "-1e400", "1e400", "NaN", "Infinity", "\"5\"", "null", "true", "[]", "{}"}) {
    ExpectRefused(Body(std::string(", \"timeoutSeconds\": ") + value));
  }
}

CONTRACT(Execute, GoodTimeout, "`timeoutSeconds` of 0 is no limit.", "`timeoutSeconds` may have a fraction.",
         "A huge `timeoutSeconds` is no limit.") {
  for (const char* value : {"0", "0.0", "30.5", "1e300", "9223372036854775807", "9223372037", "18446744073709551616",
                            "1.7976931348623157e308", "123456789012345678901234567890"}) {
    const Ran ran = Shell("printf x", std::string(", \"timeoutSeconds\": ") + value);
    EXPECT_EQ(ran.exit_code, 0) << value << " " << ran;
    EXPECT_EQ(ran.out, "x") << value;
  }
  EXPECT_EQ(Shell("exec " + Helper("nap '" + Disk("pid") + "'"), ", \"timeoutSeconds\": 0.25").exit_code, 124);
}

CONTRACT(Execute, BodyLimit, "A body of more than 16 MiB is 413.", "When the answer is 400 or 413, nothing has run.") {
  const size_t limit = size_t{16} << 20;
  const auto sized = [&](size_t size) {
    std::string body = Body(", \"pad\": \"\"");
    body.insert(body.size() - 2, size - body.size(), 'p');
    return body;
  };
  ExpectRefused(sized(limit + 1), 413);
  for (const size_t size : {limit + 1, limit + (size_t{8} << 20)}) {
    Connection chunked(server());
    chunked.Send(Head("POST", "/execute", {{"Transfer-Encoding", "chunked"}}));
    chunked.Send(Chunked(sized(size), 100'000));
    EXPECT_TRUE(Refused(chunked.Receive(), 413)) << size;
    EXPECT_FALSE(HasRun()) << size;
  }
  Connection announced(server());
  announced.Send(Head("POST", "/execute", {{"Content-Length", "999999999999999999"}}));
  EXPECT_TRUE(Refused(announced.Receive(), 413));
  EXPECT_EQ(ParseRan(Post(sized(limit))).exit_code, 0);
  EXPECT_TRUE(HasRun());
}

CONTRACT(Execute, CommandLimit, "A `command` of 128 KiB or more, which no kernel takes as one argument, is 413.") {
  const auto sized = [](size_t size) {
    std::string command = ": ";
    command.append(size - command.size(), 'x');
    return "{\"command\":\"" + command + "\"}";
  };
  EXPECT_TRUE(Refused(Post(sized(size_t{128} << 10)), 413));
  EXPECT_EQ(ParseRan(Post(sized((size_t{128} << 10) - 1))).exit_code, 0);
}

CONTRACT(Execute, ItsPlace, "The command is run as `$SANDBOX_SHELL -c command`, in the workspace.") {
  const Ran ran = Shell("pwd -P; printf %s \"$0$#\"");
  char* const real = realpath(SharedServer().workspace().c_str(), nullptr);
  ASSERT_NE(real, nullptr);
  EXPECT_EQ(ran.out.substr(0, ran.out.find('\n')), real);
  free(real);
  EXPECT_EQ(ran.out.back(), '0') << "no argument behind the command: " << ran.out;
}

CONTRACT(Execute, ItsEnvironment, "Its environment is the server's, and the variable `SANDBOX_EXECUTION`.") {
  EXPECT_FALSE(Shell("printf %s \"$SANDBOX_EXECUTION\"").out.empty());
  NEEDS(kOwnServer);
  StartOptions options;
  options.variables["CONFORMANCE_HANDED_ON"] = "as it is";
  OwnServer own(options);
  EXPECT_EQ(ShellOn(own.address(), "printf %s \"$CONFORMANCE_HANDED_ON\"").out, "as it is");
}

CONTRACT(Execute, WhatItIsGiven, "The command has a session and a process group of its own.",
         "Its stdin is `/dev/null`.", "All signals have their default dispositions, and none is blocked.",
         "No descriptor of the server is inherited.") {
  // With other connections and an upload under way, so that there is something to inherit.
  Connection idle(server());
  Connection upload(server());
  upload.Send(Head("PUT", Url("upload"), {{"Content-Length", "1000000"}}) + std::string(500'000, 'x'));
  EXPECT_EQ(Call(server(), "GET", "/healthz").status, 200);
  const Ran ran = Shell("exec " + Helper("state"));
  EXPECT_EQ(ran.out, "session own\ngroup own\nstdin null\n") << ran;
}

}  // namespace
}  // namespace osbx::conformance
