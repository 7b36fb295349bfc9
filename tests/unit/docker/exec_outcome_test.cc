#include "docker/exec_outcome.h"

#include <gtest/gtest.h>

namespace osbx::docker {
namespace {

// What reached the caller, and what the end said.
struct Seen {
  std::string out, err;
  std::optional<int32_t> code;
};

Seen Filter(const std::vector<std::pair<uint32_t, std::string>>& output, int64_t exit_code) {
  Seen seen;
  StartFailureFilter filter;
  auto sink = [&seen](uint32_t stream, std::string_view bytes) {
    (stream == core::kStdout ? seen.out : seen.err) += bytes;
  };
  for (const auto& [stream, bytes] : output) filter.Feed(stream, bytes, sink);
  seen.code = filter.Conclude(exit_code, sink);
  return seen;
}

const char kRuncNotFound[] =
    "OCI runtime exec failed: exec failed: unable to start container process: exec: \"/nope\": stat /nope: no such "
    "file "
    "or directory: unknown\r\n";
const char kRunscDenied[] =
    "OCI runtime exec failed: executing processes for container: executing command \"/etc\" in sandbox: failed to load "
    "/etc: permission denied: unknown\r\n";
const char kMisleadingName[] =
    "OCI runtime exec failed: exec failed: unable to start container process: exec: \"/no such file or directory\": "
    "permission denied: unknown\r\n";

TEST(StartFailure, NotFoundIs127AndNothingIsShown) {
  Seen seen = Filter({{core::kStdout, kRuncNotFound}}, 126);
  EXPECT_EQ(seen.code, 127);
  EXPECT_EQ(seen.out, "");
}

TEST(StartFailure, NotExecutableIs126) {
  EXPECT_EQ(Filter({{core::kStdout, kRunscDenied}}, 126).code, 126);
  EXPECT_EQ(Filter({{core::kStdout, kRunscDenied}}, 127).code, 126);
}

TEST(StartFailure, TheReasonIsReadBehindTheNameThatTheGuestChose) {
  EXPECT_EQ(Filter({{core::kStdout, kMisleadingName}}, 126).code, 126);
}

TEST(StartFailure, WhatIsNotTheProgramsFaultIsTold) {
  const auto conclude = [](std::string_view text) {
    StartFailureFilter filter;
    const auto nothing = [](uint32_t, std::string_view) {};
    filter.Feed(core::kStdout, text, nothing);
    EXPECT_TRUE(filter.Conclude(126, nothing).has_value()) << text;
    return filter;
  };
  const StartFailureFilter dead = conclude("cannot exec in a stopped state: unknown\r\n");
  EXPECT_TRUE(dead.not_running());
  EXPECT_FALSE(dead.runtime_failed());
  const StartFailureFilter crashed =
      conclude("OCI runtime exec failed: /usr/bin/runsc did not terminate successfully: exit status 128: unknown\r\n");
  EXPECT_TRUE(crashed.runtime_failed());
  EXPECT_FALSE(crashed.not_running());
  const StartFailureFilter denied = conclude(kRunscDenied);
  EXPECT_FALSE(denied.runtime_failed());
  EXPECT_FALSE(denied.not_running());
}

TEST(StartFailure, TheSentenceMayComeInAnySplit) {
  const std::string text = kRuncNotFound;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    Seen seen = Filter({{core::kStdout, text.substr(0, cut)}, {core::kStdout, text.substr(cut)}}, 126);
    ASSERT_EQ(seen.code, 127) << cut;
    ASSERT_EQ(seen.out, "") << cut;
  }
}

TEST(StartFailure, AProgramThatPrintsTheSentenceAndSucceedsIsPassedThrough) {
  Seen seen = Filter({{core::kStdout, kRuncNotFound}}, 0);
  EXPECT_FALSE(seen.code.has_value());
  EXPECT_EQ(seen.out, kRuncNotFound);
}

TEST(StartFailure, OrdinaryOutputIsNeverHeldBack) {
  std::string out;
  StartFailureFilter filter;
  auto sink = [&out](uint32_t, std::string_view bytes) { out += bytes; };
  filter.Feed(core::kStdout, "OCI", sink);
  EXPECT_EQ(out, "");  // may become the sentence
  filter.Feed(core::kStdout, "X", sink);
  EXPECT_EQ(out, "OCIX");
  filter.Feed(core::kStdout, kRuncNotFound, sink);
  EXPECT_EQ(out, std::string("OCIX") + kRuncNotFound);
  EXPECT_FALSE(filter.Conclude(126, sink).has_value());
}

TEST(StartFailure, BothStreamsKeepTheirBytes) {
  Seen seen = Filter({{core::kStderr, "OCI runtime"}, {core::kStdout, "out"}, {core::kStderr, "err"}}, 126);
  EXPECT_FALSE(seen.code.has_value());
  EXPECT_EQ(seen.out, "out");
  EXPECT_EQ(seen.err, "OCI runtimeerr");
}

TEST(StartFailure, WhatIsHeldBackIsBounded) {
  std::string text = "OCI runtime exec failed: " + std::string(100000, 'x');
  Seen seen = Filter({{core::kStdout, text}}, 126);
  EXPECT_FALSE(seen.code.has_value());
  EXPECT_EQ(seen.out, text);
}

TEST(ExecEnd, ExitCodes) {
  EXPECT_EQ(EndFromExitCode(0).reason, core::EndReason::kExited);
  EXPECT_EQ(EndFromExitCode(128).reason, core::EndReason::kExited);
  EXPECT_EQ(EndFromExitCode(128).exit_code, 128);
  EXPECT_EQ(EndFromExitCode(137).reason, core::EndReason::kSignalled);
  EXPECT_EQ(EndFromExitCode(137).signal, 9);
  EXPECT_EQ(EndFromExitCode(137).exit_code, 137);
  EXPECT_EQ(EndFromExitCode(192).signal, 64);
  EXPECT_EQ(EndFromExitCode(193).reason, core::EndReason::kExited);
  EXPECT_EQ(EndFromExitCode(255).exit_code, 255);
}

}  // namespace
}  // namespace osbx::docker
