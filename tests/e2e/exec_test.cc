// What a command gets and gives: argv, environment, directory, streams, and the truth about its end.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "e2e/sandbox_fixture.h"

namespace osbx::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ExecSmoke : public SharedSandboxTest {};
class Exec : public SharedSandboxTest {};

// Standard input from a function, and how often it was asked and let go.
struct Reader {
  std::function<int64_t(uint8_t*, size_t)> read;
  std::atomic<int> calls{0};
  std::atomic<int> destroyed{0};

  void Feed(const Command& command) {
    osbx_command_set_stdin_reader(
        command.get(),
        [](void* self, uint8_t* buffer, size_t capacity) {
          auto* reader = static_cast<Reader*>(self);
          ++reader->calls;
          return reader->read(buffer, capacity);
        },
        this, [](void* self) { ++static_cast<Reader*>(self)->destroyed; });
  }
};

int64_t Zeros(uint8_t* buffer, size_t capacity) {
  std::fill_n(buffer, capacity, uint8_t{0});
  return static_cast<int64_t>(capacity);
}

// Output to a function.
struct Writer {
  std::function<int32_t(uint32_t, const uint8_t*, size_t)> write;
  std::atomic<int> destroyed{0};

  void Attach(const Command& command) {
    osbx_command_set_output(
        command.get(),
        [](void* self, uint32_t stream, const uint8_t* data, size_t size) {
          return static_cast<Writer*>(self)->write(stream, data, size);
        },
        this, [](void* self) { ++static_cast<Writer*>(self)->destroyed; });
  }
};

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

TEST_F(ExecSmoke, GivesOutputAndExitCodeApart) {
  const Result result = box().Shell("echo out; echo err >&2; exit 42");
  EXPECT_TRUE(result.Exited(42)) << result;
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.out_truncated || result.err_truncated);
}

TEST_F(ExecSmoke, ArgumentsArriveByteForByteAndNoShellReadsThem) {
  const std::vector<std::string> arguments = {
      "",       "a b", "$HOME", "`id`",    "*",    "two\nlines", "'\"\\", "caf\u00e9 \U0001F600",
      "--help", "-rf", "a;b",   "&& exit", "%s\\n"};
  std::vector<std::string> argv = {"/bin/sh", "-c", "printf '<%s>' \"$@\"", "sh"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::string expected;
  for (const std::string& argument : arguments) expected += "<" + argument + ">";
  EXPECT_EQ(box().Run(argv).out, expected);
  // One string is one program's name, not a command line.
  EXPECT_TRUE(box().Run(std::vector<std::string>{"echo hello; id"}).Exited(127));
}

TEST_F(ExecSmoke, StandardInputEndsAndComesBack) {
  Command command = NewCommand({"sort"});
  const std::string text = "b\nc\na\n";
  osbx_command_set_stdin_bytes(command.get(), reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const Result result = box().Run(command);
  EXPECT_TRUE(result.Exited(0)) << result;
  EXPECT_EQ(result.out, "a\nb\nc\n");
}

// One stable code for what cannot be started, on every runtime, and not a word of the engine on stdout.
TEST_F(ExecSmoke, WhatCannotStartIs127Or126) {
  const std::vector<std::pair<std::vector<std::string>, int>> cases = {{{"/nope"}, 127},
                                                                       {{"no-such-program", "x"}, 127},
                                                                       {{"/nope/nope"}, 127},
                                                                       {{"/bin"}, 126},
                                                                       {{"/etc/passwd"}, 126}};
  for (const auto& [argv, code] : cases) {
    const Result result = box().Run(argv);
    EXPECT_TRUE(result.Exited(code)) << argv[0] << ": " << result;
    EXPECT_EQ(result.out + result.err, "") << argv[0];
  }
  Command command = NewCommand({"pwd"});
  osbx_command_set_directory(command.get(), "/nope");
  const Result result = box().Run(command);
  EXPECT_TRUE(result.Exited(127)) << result;
  EXPECT_EQ(result.out + result.err, "");
}

TEST_F(Exec, OutputThatLooksLikeTheEnginesIsPassedOn) {
  const std::string sentence = "OCI runtime exec failed: exec failed: no such file or directory: unknown\n";
  for (const char* end : {"exit 0", "exit 3"}) {
    EXPECT_EQ(box().Shell("printf '" + sentence.substr(0, sentence.size() - 1) + "\\n'; " + end).out, sentence) << end;
  }
  EXPECT_EQ(box().Shell("printf 'OCI runtime exec failed'; exit 126").out, "OCI runtime exec failed");
}

TEST_F(Exec, EnvironmentIsMergedOverTheSandboxs) {
  Spec spec = NewSmallSpec("osbx/test-env:latest");
  osbx_spec_add_env(spec.get(), "SPEC", "first");
  osbx_spec_add_env(spec.get(), "SPEC", "spec");
  osbx_spec_add_env(spec.get(), "BOTH", "spec");
  osbx_spec_add_env(spec.get(), "EMPTY", "");
  Sandbox sandbox("environment", spec);
  Command command = NewShell("echo \"$FOO|$SPEC|$BOTH|${EMPTY-unset}|$MINE|$PATH\"");
  osbx_command_add_env(command.get(), "BOTH", "command");
  osbx_command_add_env(command.get(), "MINE", "1");
  osbx_command_add_env(command.get(), "MINE", "a=b c\n'\"");
  EXPECT_EQ(sandbox.Run(command).out, "from-image|spec|command||a=b c\n'\"|/bin:/usr/bin:/opt/bin\n");
  // Of this command alone.
  EXPECT_EQ(sandbox.Output("echo \"$BOTH|${MINE-unset}\""), "spec|unset\n");
}

TEST_F(Exec, RunsInWorkspaceUnlessTold) {
  EXPECT_EQ(box().Output("pwd"), "/workspace\n");
  box().Output("mkdir -p '/workspace/a b'");
  Command command = NewCommand({"pwd"});
  osbx_command_set_directory(command.get(), "/workspace/a b");
  EXPECT_EQ(box().Run(command).out, "/workspace/a b\n");
}

TEST_F(Exec, TellsExitCodesAndSignals) {
  for (int code : {0, 1, 3, 124, 125, 126, 127, 128, 255}) {
    const Result result = box().Shell("exit " + std::to_string(code));
    EXPECT_TRUE(result.Exited(code)) << result;
  }
  for (int number : {1, 6, 9, 11, 15}) {
    const Result result = box().Shell("kill -" + std::to_string(number) + " $$; sleep 5");
    EXPECT_EQ(result.reason, uint32_t{OSBX_END_SIGNALLED}) << result;
    EXPECT_EQ(result.signal, number) << result;
    EXPECT_EQ(result.exit_code, 128 + number) << result;
  }
}

TEST_F(Exec, AnEndOfOutputIsNotTheEndOfTheProgram) {
  const Result result = box().Shell("exec >&- 2>&-; sleep 2; exit 7");
  EXPECT_TRUE(result.Exited(7)) << result;
  EXPECT_GE(result.took, milliseconds(1900));
}

TEST_F(Exec, StandardInputOfAnySize) {
  const std::string ten = Pattern(10 << 20);
  Command count = NewCommand({"wc", "-c"});
  osbx_command_set_stdin_bytes(count.get(), reinterpret_cast<const uint8_t*>(ten.data()), ten.size());
  EXPECT_EQ(box().Run(count).out, "10485760\n");
  // Larger than any pipe both ways at once, and every byte value.
  Command back = NewCommand({"cat"});
  osbx_command_set_stdin_bytes(back.get(), reinterpret_cast<const uint8_t*>(ten.data()), ten.size());
  const Result result = box().Run(back);
  EXPECT_TRUE(result.Exited(0)) << osbx_end_reason_name(result.reason);
  EXPECT_TRUE(result.out == ten) << result.out.size() << " bytes came back";
}

TEST_F(Exec, NoStandardInputIsAnEndAtOnce) {
  EXPECT_EQ(box().Output("wc -c"), "0\n");
  Command empty = NewCommand({"wc", "-c"});
  osbx_command_set_stdin_bytes(empty.get(), nullptr, 0);
  EXPECT_EQ(box().Run(empty).out, "0\n");
  Reader nothing;
  nothing.read = [](uint8_t*, size_t) { return int64_t{0}; };
  Command from_reader = NewCommand({"wc", "-c"});
  nothing.Feed(from_reader);
  EXPECT_EQ(box().Run(from_reader).out, "0\n");
}

TEST_F(Exec, AProgramThatReadsNothingDoesNotWaitForItsInput) {
  // 100 MiB at hand, of which nobody takes any.
  const std::string much(size_t{100} << 20, 'x');
  Command command = NewShell("echo done");
  osbx_command_set_stdin_bytes(command.get(), reinterpret_cast<const uint8_t*>(much.data()), much.size());
  Result result = box().Run(command);
  EXPECT_TRUE(result.Exited(0)) << result;
  EXPECT_EQ(result.out, "done\n");
  // Without end: the reader is asked no more once the call has returned, and let go exactly once.
  Reader endless;
  endless.read = Zeros;
  {
    Command reading = NewShell("sleep 1; exit 3");
    endless.Feed(reading);
    result = box().Run(reading);
  }
  EXPECT_TRUE(result.Exited(3)) << result;
  const int calls = endless.calls;
  EXPECT_TRUE(box().Works());
  EXPECT_EQ(endless.calls, calls);
  EXPECT_EQ(endless.destroyed, 1);
}

TEST_F(Exec, EachStreamKeepsItsOrder) {
  const Result result = box().Shell("i=0; while [ $i -lt 3000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done");
  ASSERT_TRUE(result.Exited(0)) << result;
  std::string out, err;
  for (int i = 0; i < 3000; ++i) {
    out += "o" + std::to_string(i) + "\n";
    err += "e" + std::to_string(i) + "\n";
  }
  EXPECT_TRUE(result.out == out) << result;
  EXPECT_TRUE(result.err == err) << result;
}

TEST_F(Exec, TheOutputLimitCutsEachStreamAtItsByte) {
  const struct {
    int out, err;
    bool out_cut, err_cut;
  } kCases[] = {
      {999, 1000, false, false}, {1000, 1001, false, true}, {1001, 0, true, false}, {200000, 999, true, false}};
  for (const auto& c : kCases) {
    Command command = NewShell("head -c " + std::to_string(c.out) + " /dev/zero; head -c " + std::to_string(c.err) +
                               " /dev/zero >&2; exit 5");
    osbx_command_set_output_limit(command.get(), 1000);
    const Result result = box().Run(command);
    EXPECT_TRUE(result.Exited(5)) << c.out << ": " << osbx_end_reason_name(result.reason);
    EXPECT_EQ(result.out.size(), static_cast<size_t>(std::min(c.out, 1000)));
    EXPECT_EQ(result.err.size(), static_cast<size_t>(std::min(c.err, 1000)));
    EXPECT_EQ(result.out_truncated, c.out_cut) << c.out;
    EXPECT_EQ(result.err_truncated, c.err_cut) << c.err;
  }
  Command nothing = NewShell("echo x");
  osbx_command_set_output_limit(nothing.get(), 0);
  const Result result = box().Run(nothing);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.out_truncated && !result.err_truncated);
}

// Peak resident memory since the last reset, in KiB.
long PeakKib(bool reset) {
  if (reset) std::ofstream("/proc/self/clear_refs") << "5";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return -1;
}

// Sanitizers keep freed memory back, so that there only the bytes are counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsTelling = false;
#else
constexpr bool kMemoryIsTelling = true;
#endif

TEST_F(Exec, StreamsAnyAmountInConstantMemory) {
  uint64_t bytes = 0;
  bool right = true;
  Writer writer;
  writer.write = [&](uint32_t stream, const uint8_t* data, size_t size) {
    right = right && stream == OSBX_STDOUT && size > 0 && (data[0] == 'y' || data[0] == '\n');
    bytes += size;
    return 0;
  };
  Command command = NewShell("yes | head -c 209715200");
  writer.Attach(command);
  const long before = PeakKib(true);
  const Result result = box().Run(command);
  const long after = PeakKib(false);
  EXPECT_TRUE(result.Exited(0)) << result;
  EXPECT_EQ(bytes, 209715200u);
  EXPECT_TRUE(right);
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(result.out_truncated);
  if (kMemoryIsTelling) {
    EXPECT_LE(after - before, 8 * 1024) << "KiB more";
  }
}

TEST_F(Exec, BuffersNoMoreThanItsLimitInMemory) {
  const long before = PeakKib(true);
  const Result result = box().Shell("yes | head -c 209715200");
  const long after = PeakKib(false);
  EXPECT_TRUE(result.Exited(0)) << osbx_end_reason_name(result.reason);
  EXPECT_EQ(result.out.size(), size_t{16} << 20);
  EXPECT_TRUE(result.out_truncated);
  // Twice the limit and a tenth, 8 MiB, and the copy that this test makes.
  if (kMemoryIsTelling) {
    EXPECT_LE(after - before, (2 * 16 * 11 / 10 + 8 + 16) * 1024) << "KiB more";
  }
}

TEST_F(Exec, AWriterThatGivesUpEndsTheCommandAndItsTree) {
  int calls = 0;
  Writer writer;
  writer.write = [&calls](uint32_t, const uint8_t*, size_t) { return ++calls == 3 ? 1 : 0; };
  {
    Command command = NewShell("sleep 3141 & yes");
    writer.Attach(command);
    const Result result = box().Run(command);
    ASSERT_TRUE(result.status.ok()) << result;
    EXPECT_EQ(result.reason, uint32_t{OSBX_END_CALLBACK_ABORTED}) << result;
    EXPECT_EQ(result.exit_code, -1);
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(writer.destroyed, 1);
  EXPECT_EQ(box().CountProcesses("sleep 3141"), 0);
  EXPECT_EQ(box().CountProcesses("yes $"), 0);
}

TEST_F(Exec, AReaderThatGivesUpEndsTheCommand) {
  Reader reader;
  reader.read = [&reader](uint8_t* buffer, size_t) {
    buffer[0] = 'x';
    return reader.calls < 3 ? int64_t{1} : int64_t{-1};
  };
  Command command = NewShell("echo started; cat >/dev/null; sleep 3142");
  reader.Feed(command);
  const Result result = box().Run(command);
  EXPECT_EQ(result.reason, uint32_t{OSBX_END_CALLBACK_ABORTED}) << result;
  EXPECT_EQ(reader.calls, 3);
  EXPECT_EQ(box().CountProcesses("sleep 3142"), 0);
}

TEST_F(Exec, ThirtyTwoAtOnceOnOneSandbox) {
  std::vector<Result> results(32);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&results, i] {
      const std::string number = std::to_string(i);
      Command command = NewShell("cat; echo " + number + "; exit " + number);
      osbx_command_set_stdin_bytes(command.get(), reinterpret_cast<const uint8_t*>(number.data()), number.size());
      results[i] = box().Run(command);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].Exited(static_cast<int32_t>(i))) << results[i];
    EXPECT_EQ(results[i].out, std::to_string(i) + std::to_string(i) + "\n");
  }
}

// dockerd itself waits up to 4 s for a pipe that a child holds.
TEST_F(Exec, ABackgroundChildDoesNotHoldTheCallUpAndLivesOn) {
  const Result held = box().Shell("sleep 1234 & echo hi");
  EXPECT_TRUE(held.Exited(0)) << held;
  EXPECT_EQ(held.out, "hi\n");
  EXPECT_LT(held.took, seconds(20));
  EXPECT_EQ(box().CountProcesses("sleep 1234"), 1);
  box().Shell("killall sleep 2>/dev/null");  // but for init's own
}

TEST_F(Exec, CommandsHaveTheirStandardStreamsAndNoOtherDescriptor) {
  EXPECT_EQ(box().Output("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ");  // 3 is the listing's own
}

// SIGPIPE ignored or blocked would make `yes` complain and exit with 1.
TEST_F(Exec, CommandsBeginWithDefaultSignals) {
  const Result result = box().Shell("set -o pipefail; yes | head -n 1; echo $?");
  EXPECT_EQ(result.out, "y\n141\n") << result;
  EXPECT_EQ(result.err, "");
}

TEST_F(Exec, RefusesWhatCannotBeACommand) {
  EXPECT_EQ(box().Run(NewCommand({})).status.code, OSBX_E_INVALID);
  EXPECT_EQ(box().Run(NewCommand({""})).status.code, OSBX_E_INVALID);
  EXPECT_EQ(box().Run(NewCommand({"echo", "\xff"})).status.code, OSBX_E_INVALID);
  EXPECT_EQ(box().Run(NewCommand({"echo", std::string(size_t{1} << 20, 'x')})).status.code, OSBX_E_INVALID);
  EXPECT_EQ(box().Output("echo " + std::string(100000, 'x')).size(), 100001u);
}

}  // namespace
}  // namespace osbx::e2e
