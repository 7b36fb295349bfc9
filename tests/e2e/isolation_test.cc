// What a sandbox cannot see, change or use up, seen from inside and on the host.
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>
#include <thread>

#include "e2e/sandbox_fixture.h"

namespace osbx::e2e {
namespace {

using std::chrono::seconds;

class IsolationSmoke : public SharedSandboxTest {};
class Isolation : public SharedSandboxTest {};

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(IsolationSmoke, RunsUnderTheRuntimeThatWasAsked) {
  EXPECT_EQ(test::InspectContainer(box().id()).Text("HostConfig.Runtime"), Runtime());
  // The guest kernel's own word; a host kernel does not show its log to a guest.
  EXPECT_EQ(Contains(box().Shell("dmesg").out, "Starting gVisor"), OnGvisor());
}

TEST_F(IsolationSmoke, HasNoNetworkButLoopback) {
  EXPECT_EQ(box().Output("tail -n +3 /proc/net/dev | sed 's/:.*//; s/ //g'"), "lo\n");
  EXPECT_EQ(box().Output("tail -n +2 /proc/net/route | grep -v '^lo' || true"), "");
  for (const char* address : {"169.254.169.254 80", "8.8.8.8 53", "10.213.1.1 22"}) {
    const Result result = box().Shell(std::string("nc -w 2 ") + address + " </dev/null");
    EXPECT_TRUE(result.Exited(1)) << result;
    EXPECT_TRUE(Contains(result.err, OnGvisor() ? "No route to host" : "Network is unreachable")) << result;
  }
  const Result lookup = box().Shell("nc -w 2 example.com 80 </dev/null");
  EXPECT_TRUE(lookup.Exited(1)) << lookup;
  EXPECT_TRUE(Contains(lookup.err, "bad address")) << lookup;
  // Previews need it.
  EXPECT_EQ(box().Output("(echo hello | nc -l -p 8123 >/dev/null) & for i in 1 2 3 4 5 6 7 8 9; do"
                         " nc -w 2 127.0.0.1 8123 </dev/null && break; sleep 0.3; done"),
            "hello\n");
}

TEST_F(IsolationSmoke, RunsAsAPlainUserWithoutCapabilities) {
  EXPECT_EQ(box().Output("id -u; id -g; id -G"), "1000\n1000\n1000\n");
  const std::string status = box().Output("grep -E '^Cap' /proc/self/status");
  EXPECT_TRUE(std::regex_match(status, std::regex("(Cap[A-Za-z]+:\\s*0+\\n){4,5}"))) << status;
  // gVisor has no such line.
  EXPECT_EQ(box().Output("grep NoNewPrivs /proc/self/status | tr -d '\\t' || true"),
            OnGvisor() ? "" : "NoNewPrivs:1\n");
  const test::Document inspect = test::InspectContainer(box().id());
  EXPECT_EQ(inspect.Json("HostConfig.CapDrop"), "[\"ALL\"]");
  EXPECT_EQ(inspect.Json("HostConfig.SecurityOpt"), "[\"no-new-privileges\"]");
  EXPECT_FALSE(inspect.True("HostConfig.Privileged"));
}

TEST_F(IsolationSmoke, TheRootIsReadOnly) {
  for (const char* path : {"/x", "/etc/x", "/usr/x", "/var/x", "/.osbx/x", "/root/x", "/dev/x"}) {
    EXPECT_FALSE(box().Shell(std::string("touch ") + path).Exited(0)) << path;
  }
  EXPECT_TRUE(test::InspectContainer(box().id()).True("HostConfig.ReadonlyRootfs"));
  EXPECT_EQ(box().Output("for m in /tmp /workspace; do touch $m/x && echo ok; done"), "ok\nok\n");
}

TEST_F(Isolation, InitCannotBeSignalledByTheGuest) {
  EXPECT_EQ(box().Output("sed -n 's/^Uid:[\\t ]*//p' /proc/1/status | cut -f1"), "65534\n");
  for (const char* name : {"KILL", "TERM", "STOP"}) {
    const Result result = box().Shell(std::string("kill -") + name + " 1");
    EXPECT_FALSE(result.Exited(0)) << name;
    EXPECT_TRUE(Contains(result.err, "not permitted")) << result;
  }
  box().Shell("kill -9 -1");
  EXPECT_TRUE(box().Works());
  EXPECT_EQ(ListedState(box().name()), uint32_t{OSBX_STATE_RUNNING});
  // Also where the user has init's usual number.
  Spec spec = NewSmallSpec();
  osbx_spec_set_user(spec.get(), "65534:65534");
  Sandbox same("same-uid", spec);
  EXPECT_EQ(same.Output("id -u"), "65534\n");
  EXPECT_FALSE(same.Shell("kill -9 1").Exited(0));
  EXPECT_TRUE(same.Works());
}

TEST_F(Isolation, ScratchIsNotExecutableUnlessAsked) {
  const std::string copy = "cp /bin/busybox /workspace/true && cp /bin/busybox /tmp/true && echo ok";
  EXPECT_EQ(box().Output(copy), "ok\n");
  for (const char* program : {"/workspace/true", "/tmp/true"}) {
    EXPECT_TRUE(box().Run(std::vector<std::string>{program}).Exited(126)) << program;
    EXPECT_TRUE(box().Shell(program).Exited(126)) << program;
  }
  Spec spec = NewSmallSpec();
  osbx_spec_set_allow_exec(spec.get(), 1);
  Sandbox relaxed("allow-exec", spec);
  EXPECT_EQ(relaxed.Output(copy), "ok\n");
  EXPECT_TRUE(relaxed.Run(std::vector<std::string>{"/workspace/true"}).Exited(0));
  EXPECT_TRUE(relaxed.Run(std::vector<std::string>{"/tmp/true"}).Exited(0));
  // Our own mounts stay as they are.
  const std::string mounts = "sed -n 's,^[^ ]* \\([^ ]*\\) tmpfs \\([^ ]*\\).*,\\1 \\2,p' /proc/mounts";
  std::istringstream lines(relaxed.Output(mounts));
  int seen = 0;
  for (std::string path, options; lines >> path >> options;) {
    const bool scratch = path == "/workspace" || path == "/tmp";
    if (!scratch && path.rfind("/.osbx/", 0) != 0) continue;
    ++seen;
    EXPECT_EQ(Contains(options, "noexec"), !scratch) << path << " " << options;
    if (!OnGvisor()) {
      EXPECT_TRUE(Contains(options, "nosuid") && Contains(options, "nodev")) << path << " " << options;
    }
  }
  EXPECT_EQ(seen, 4);
}

TEST_F(Isolation, LimitsAreExactlyWhatWasAsked) {
  Spec spec = NewSpec();
  osbx_spec_set_cpus(spec.get(), 0.5);
  osbx_spec_set_memory_bytes(spec.get(), int64_t{128} << 20);
  osbx_spec_set_disk_bytes(spec.get(), int64_t{40} << 20);
  osbx_spec_set_max_processes(spec.get(), 64);
  Sandbox sandbox("limits", spec);
  const std::string id = sandbox.id();
  const std::string pids = OnGvisor() ? "1088" : "73";  // a backstop for gVisor's own threads: 8 * (64 + 8) + 512
  EXPECT_EQ(test::HostCgroupValue(id, "memory", "memory.limit_in_bytes", "memory.max"), "134217728");
  EXPECT_EQ(test::HostCgroupValue(id, "pids", "pids.max", "pids.max"), pids);
  const std::string quota = test::HostCgroupValue(id, "cpu", "cpu.cfs_quota_us", "cpu.max");
  EXPECT_TRUE(quota == "50000" || quota == "50000 100000") << quota;
  const test::Document inspect = test::InspectContainer(id);
  EXPECT_EQ(inspect.Number("HostConfig.Memory"), 134217728);
  EXPECT_EQ(inspect.Number("HostConfig.MemorySwap"), 134217728);
  EXPECT_EQ(inspect.Number("HostConfig.NanoCpus"), 500000000);
  EXPECT_EQ(std::to_string(inspect.Number("HostConfig.PidsLimit")), pids);
  EXPECT_EQ(inspect.Number("HostConfig.ShmSize"), 4096);
  EXPECT_EQ(inspect.Text("HostConfig.IpcMode"), "private");
  EXPECT_EQ(inspect.Text("HostConfig.RestartPolicy.Name"), "no");
  EXPECT_EQ(inspect.Text("HostConfig.NetworkMode"), "none");
  EXPECT_EQ(sandbox.Output("df -k /workspace /tmp | tail -n +2 | awk '{print $2}'"), "30720\n10240\n");
}

TEST_F(Isolation, LogsCannotFillTheHostsDisk) {
  const test::Document inspect = test::InspectContainer(box().id());
  EXPECT_EQ(inspect.Text("HostConfig.LogConfig.Type"), "none");
  EXPECT_EQ(inspect.Text("LogPath"), "");
  // Linux refuses; gVisor opens what init has there, and that is /dev/null.
  const std::string folder =
      test::Document(test::Ask("GET", "/info").body).Text("DockerRootDir") + "/containers/" + box().id();
  const auto used = [&folder] {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  };
  const uint64_t before = used();
  EXPECT_GT(before, 0u);
  Command flood = NewShell("yes >/proc/1/fd/1");
  osbx_command_set_timeout_ms(flood.get(), 3000);
  const Result result = box().Run(flood);
  if (OnGvisor()) {
    EXPECT_EQ(result.reason, uint32_t{OSBX_END_TIMED_OUT}) << result;
    EXPECT_EQ(box().Output("cat /proc/1/fd/1"), "");
  } else {
    EXPECT_TRUE(Contains(result.err, "ermission denied")) << result;
  }
  EXPECT_LT(used(), before + 65536);
}

TEST_F(Isolation, SharedMemoryIsOfTheSmallestSize) {
  box().Shell("head -c 1000000 /dev/zero >/dev/shm/x");
  EXPECT_EQ(box().Output("cat /dev/shm/x 2>/dev/null | wc -c"), "4096\n");
}

// A fork bomb: EAGAIN inside, and whoever does not fork works on, during it and after it.
TEST_F(Isolation, AForkBombMeetsItsLimitAndNothingElse) {
  Spec spec = NewSmallSpec();
  osbx_spec_set_max_processes(spec.get(), 48);
  Sandbox sandbox("fork-bomb", spec);
  Result bomb;
  std::atomic<bool> at_limit{false};
  std::thread bomber([&] {
    Command command = NewShell("bomb() { bomb | bomb & }; (bomb; while :; do sleep 7100 & done) & exec sleep 7100");
    osbx_command_set_timeout_ms(command.get(), 15000);
    osbx_command_set_output(
        command.get(),
        [](void* flag, uint32_t, const uint8_t* data, size_t size) {
          const std::string text(reinterpret_cast<const char*>(data), size);
          if (Contains(text, "t fork")) *static_cast<std::atomic<bool>*>(flag) = true;
          return int32_t{0};
        },
        &at_limit, nullptr);
    bomb = sandbox.Run(command);
  });
  EXPECT_TRUE(Eventually([&at_limit] { return at_limit.load(); })) << "the limit was not met";
  for (int i = 0; i < 3; ++i) {
    const Result during = sandbox.Run({"/bin/echo", "alive"});
    EXPECT_TRUE(during.Exited(0)) << during;
    EXPECT_EQ(during.out, "alive\n");
  }
  bomber.join();
  EXPECT_EQ(bomb.reason, uint32_t{OSBX_END_TIMED_OUT}) << bomb;
  EXPECT_TRUE(sandbox.Works());
  EXPECT_EQ(sandbox.CountProcesses("sleep 7100"), 0);
}

TEST_F(Isolation, AForkFailsInsideAtTheLimit) {
  Spec spec = NewSpec(Python());
  osbx_spec_set_max_processes(spec.get(), 32);
  Sandbox sandbox("fork-limit", spec);
  const Result result = sandbox.Run({"python3", "-c",
                                     "import os, signal, time\n"
                                     "children = []\n"
                                     "try:\n"
                                     "  while len(children) < 200:\n"
                                     "    child = os.fork()\n"
                                     "    if child == 0: time.sleep(1000)\n"
                                     "    children.append(child)\n"
                                     "except OSError as error: print(error.errno, end=' ')\n"
                                     "for child in children: os.kill(child, signal.SIGKILL)\n"
                                     "print(len(children))\n"});
  ASSERT_TRUE(result.Exited(0)) << result;
  int error = 0, children = 0;
  ASSERT_EQ(std::sscanf(result.out.c_str(), "%d %d", &error, &children), 2) << result;
  EXPECT_EQ(error, EAGAIN);
  EXPECT_GE(children, 31);      // what was asked, with the parent
  EXPECT_LE(children, 32 + 8);  // and what is granted for the library's own
  EXPECT_TRUE(sandbox.Works());
}

TEST_F(Isolation, AFullDiskIsTheGuestsOwnTrouble) {
  Sandbox sandbox("disk", NewSmallSpec());
  std::atomic<bool> filled{false};
  Result filler;
  std::thread filling([&] {
    filler = sandbox.Shell("for i in 1 2 3 4 5; do dd if=/dev/zero of=/workspace/fill bs=1M; done; sleep 3; exit 9");
    filled = true;
  });
  int during = 0;
  while (!filled) during += sandbox.Run({"/bin/echo", "alive"}).out == "alive\n" ? 1 : 0;
  filling.join();
  EXPECT_GT(during, 0);
  EXPECT_TRUE(filler.Exited(9)) << filler;
  EXPECT_TRUE(Contains(filler.err, "No space left on device")) << filler;
  EXPECT_EQ(sandbox.Output("wc -c </workspace/fill"), std::to_string(48 << 20) + "\n");
  EXPECT_EQ(sandbox.Output("rm /workspace/fill; echo x >/workspace/y; cat /workspace/y"), "x\n");
}

// Under gVisor the kernel ends the whole sandbox; elsewhere the process alone.
TEST_F(Isolation, AMemoryHogEndsTruthfullyAndCreateBringsTheSandboxBack) {
  Spec spec = NewSpec(Python());
  osbx_spec_set_memory_bytes(spec.get(), int64_t{96} << 20);
  osbx_spec_set_disk_bytes(spec.get(), int64_t{1} << 20);
  Sandbox sandbox("memory", spec);
  const std::string id = sandbox.id();
  const Result result =
      sandbox.Run({"python3", "-c", "print('begin', flush=True)\nb = bytearray(400 << 20)\nprint('end')"});
  ASSERT_TRUE(result.status.ok()) << result;
  EXPECT_EQ(result.out, "begin\n");
  EXPECT_EQ(result.exit_code, -1) << result;
  if (OnGvisor()) {
    EXPECT_TRUE(result.reason == OSBX_END_OUT_OF_MEMORY || result.reason == OSBX_END_SANDBOX_GONE) << result;
    EXPECT_TRUE(Eventually([&] { return ListedState(sandbox.name()) != OSBX_STATE_RUNNING; }));
    EXPECT_EQ(sandbox.Shell("true").status.code, OSBX_E_NOT_RUNNING);
    EXPECT_TRUE(sandbox.Create(sandbox.name(), spec).ok());
  } else {
    EXPECT_EQ(result.reason, uint32_t{OSBX_END_OUT_OF_MEMORY}) << result;
  }
  EXPECT_TRUE(sandbox.Works());
  EXPECT_EQ(sandbox.id(), id);
}

TEST_F(Isolation, TheSandboxsDeathEndsItsCommands) {
  Spec spec = NewSmallSpec();
  Sandbox sandbox("killed", spec);
  Result result;
  std::thread runner([&] { result = sandbox.Shell("echo begin; sleep 7200; echo end"); });
  EXPECT_TRUE(Eventually([&] { return sandbox.CountProcesses("sleep 7200") > 0; }));
  const auto pid = static_cast<pid_t>(test::InspectContainer(sandbox.id()).Number("State.Pid"));
  ASSERT_GT(pid, 1);
  EXPECT_EQ(kill(pid, SIGKILL), 0);
  runner.join();
  EXPECT_EQ(result.reason, uint32_t{OSBX_END_SANDBOX_GONE}) << result;
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.out, "begin\n");
  EXPECT_LT(result.took, seconds(60));
  EXPECT_TRUE(sandbox.Create(sandbox.name(), spec).ok());
  EXPECT_TRUE(sandbox.Works());
}

}  // namespace
}  // namespace osbx::e2e
