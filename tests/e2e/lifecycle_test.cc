// One name is one sandbox: whatever state its container is in, whoever races, and nothing left when it fails.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "e2e/sandbox_fixture.h"

extern char** environ;

namespace osbx::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LifecycleSmoke : public testing::Test {};
class Lifecycle : public testing::Test {};

// The status of one call that changes the container.
long Engine(const std::string& method, const std::string& container, const std::string& action) {
  return test::Ask(method, "/containers/" + container + action).status;
}

std::string StatusOf(const std::string& container) { return test::InspectContainer(container).Text("State.Status"); }

// The time that a stop takes by itself, without that of a loaded engine, is not asserted: a PID 1 that had to be killed
// is told by its exit code.
TEST_F(LifecycleSmoke, StopHaltsAndCreateStartsAgainEmpty) {
  const Spec spec = NewSmallSpec();
  Sandbox sandbox("stop", spec);
  const std::string id = sandbox.id();
  ASSERT_TRUE(sandbox.Put("/workspace/file", "x").ok());
  sandbox.Shell("trap '' TERM; sleep 7300 >/dev/null 2>&1 &");
  const auto start = std::chrono::steady_clock::now();
  Status stopped = sandbox.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
  EXPECT_EQ(test::InspectContainer(id).Number("State.ExitCode"), 0) << "init did not end by itself";
  EXPECT_EQ(ListedState(sandbox.name()), uint32_t{OSBX_STATE_STOPPED});
  EXPECT_EQ(sandbox.Shell("true").status.code, OSBX_E_NOT_RUNNING);
  EXPECT_EQ(sandbox.Put("/workspace/file", "x").code, OSBX_E_NOT_RUNNING);
  std::string content;
  EXPECT_EQ(sandbox.Get("/workspace/file", &content).code, OSBX_E_NOT_RUNNING);
  stopped = sandbox.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;

  EXPECT_TRUE(sandbox.Create(sandbox.name(), spec).ok());
  EXPECT_EQ(sandbox.id(), id);
  EXPECT_EQ(osbx_info_state(sandbox.info()), uint32_t{OSBX_STATE_RUNNING});
  EXPECT_EQ(sandbox.Output("ls -A /workspace"), "");
  EXPECT_EQ(sandbox.CountProcesses("sleep 7300"), 0);
}

TEST_F(LifecycleSmoke, OpenAndListFindWhatCreateMade) {
  Spec spec = NewSmallSpec();
  osbx_spec_add_label(spec.get(), "b", "2\n\"quoted\" caf\u00e9");
  osbx_spec_add_label(spec.get(), "a.dotted/key", "");
  osbx_spec_add_label(spec.get(), "osbx.name", "mine");
  Sandbox sandbox("find", spec);
  Sandbox opened;
  ASSERT_TRUE(opened.Open(sandbox.name()).ok());
  EXPECT_EQ(opened.id(), sandbox.id());
  const osbx_info* info = opened.info();
  EXPECT_EQ(osbx_info_name(info), sandbox.name());
  EXPECT_EQ(osbx_info_image(info), Busybox());
  EXPECT_EQ(osbx_info_state(info), uint32_t{OSBX_STATE_RUNNING});
  EXPECT_NEAR(static_cast<double>(osbx_info_created_ms(info)), static_cast<double>(time(nullptr)) * 1000, 120000.0);
  ASSERT_EQ(osbx_info_label_count(info), 3u);
  EXPECT_STREQ(osbx_info_label_key(info, 0), "a.dotted/key");
  EXPECT_STREQ(osbx_info_label_key(info, 1), "b");
  EXPECT_STREQ(osbx_info_label_key(info, 2), "osbx.name");
  EXPECT_STREQ(osbx_info_label(info, "b"), "2\n\"quoted\" caf\u00e9");
  EXPECT_STREQ(osbx_info_label(info, "a.dotted/key"), "");
  EXPECT_STREQ(osbx_info_label(info, "osbx.name"), "mine");
  EXPECT_EQ(osbx_info_label(info, "osbx.managed"), nullptr);
  EXPECT_TRUE(opened.Works());
  EXPECT_EQ(ListedState(sandbox.name()), uint32_t{OSBX_STATE_RUNNING});

  osbx_list* all = nullptr;
  osbx_error* error = nullptr;
  ASSERT_TRUE(TakeStatus(osbx_list_sandboxes(TestBackend(), 0, nullptr, &all, &error), &error).ok());
  const List list(all);
  bool found = false;
  for (size_t i = 0; i < osbx_list_size(all); ++i) {
    const osbx_info* item = osbx_list_info(all, i);
    if (i > 0) {
      EXPECT_LE(std::string(osbx_info_name(osbx_list_info(all, i - 1))), osbx_info_name(item));
    }
    if (sandbox.id() != osbx_info_id(item)) continue;
    found = true;
    EXPECT_EQ(osbx_info_image(item), Busybox());
    EXPECT_STREQ(osbx_info_label(item, "b"), "2\n\"quoted\" caf\u00e9");
    EXPECT_EQ(osbx_info_created_ms(item), osbx_info_created_ms(info));
  }
  EXPECT_TRUE(found);
  Sandbox missing;
  EXPECT_EQ(missing.Open(UniqueName("missing")).code, OSBX_E_NOT_FOUND);
}

TEST_F(LifecycleSmoke, DestroyIsIdempotent) {
  Sandbox sandbox("destroy", NewSmallSpec());
  const std::string name = sandbox.name();
  std::vector<Status> statuses(8);
  std::vector<std::thread> threads;
  for (Status& status : statuses) threads.emplace_back([&status, &name] { status = Destroy(name); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(Exists(name));
  EXPECT_TRUE(Destroy(name).ok());
  EXPECT_EQ(sandbox.Shell("true").status.code, OSBX_E_NOT_FOUND);
  EXPECT_EQ(sandbox.Stop().code, OSBX_E_NOT_FOUND);
  EXPECT_EQ(ListedState(name), 0u);
}

// Processes of their own, each with threads: they are let go together.
class Racer {
 public:
  Racer(const std::string& name, int threads) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::string program = OSBX_CREATE_RACER, count = std::to_string(threads), named = name;
    std::string image = Busybox(), runtime = Runtime();
    char* argv[] = {program.data(), named.data(), image.data(), runtime.data(), count.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    start_ = to[1];
    output_ = fdopen(from[0], "r");
  }

  std::string Line() {
    char line[1024];
    if (std::fgets(line, sizeof line, output_) == nullptr) return "";
    std::string text(line);
    text.pop_back();
    return text;
  }
  void Go() {
    EXPECT_EQ(write(start_, "\n", 1), 1);
    close(start_);
  }
  void End() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0);
    std::fclose(output_);
  }

 private:
  pid_t pid_ = -1;
  int start_ = -1;
  FILE* output_ = nullptr;
};

TEST_F(Lifecycle, FiftyThreadsInFourProcessesGetOneSandbox) {
  const std::string name = UniqueName("race");
  constexpr int kProcesses = 4, kThreads = 13;
  std::vector<Racer> racers;
  for (int i = 0; i < kProcesses; ++i) racers.emplace_back(name, kThreads);
  for (Racer& racer : racers) ASSERT_EQ(racer.Line(), "ready");
  for (Racer& racer : racers) racer.Go();
  std::multiset<std::string> answers;
  for (Racer& racer : racers) {
    for (std::string line = racer.Line(); !line.empty(); line = racer.Line()) answers.insert(line);
    racer.End();
  }
  Sandbox sandbox;
  ASSERT_TRUE(sandbox.Open(name).ok());
  EXPECT_EQ(answers.size(), static_cast<size_t>(kProcesses * kThreads));
  EXPECT_EQ(answers.count(sandbox.id()), answers.size()) << *answers.begin() << " | " << *answers.rbegin();
  EXPECT_TRUE(sandbox.Works());
}

TEST_F(Lifecycle, CreateMendsWhateverStateItFinds) {
  const Spec spec = NewSmallSpec();
  Sandbox sandbox("states", spec);
  const std::string id = sandbox.id();
  const auto expect_mended = [&](const char* state) {
    const Status status = sandbox.Create(sandbox.name(), spec);
    ASSERT_TRUE(status.ok()) << state << ": " << status;
    EXPECT_EQ(osbx_info_state(sandbox.info()), uint32_t{OSBX_STATE_RUNNING}) << state;
    EXPECT_TRUE(sandbox.Works()) << state;
    EXPECT_EQ(sandbox.id(), id) << state;
  };
  EXPECT_EQ(Engine("POST", id, "/kill?signal=KILL"), 204);
  ASSERT_TRUE(Eventually([&] { return StatusOf(id) == "exited"; }));
  expect_mended("exited");
  EXPECT_EQ(Engine("POST", id, "/pause"), 204);
  ASSERT_EQ(StatusOf(id), "paused");
  EXPECT_EQ(ListedState(sandbox.name()), uint32_t{OSBX_STATE_ERROR});
  expect_mended("paused");
  EXPECT_EQ(Engine("POST", id, "/stop?t=1"), 204);
  expect_mended("stopped");
  expect_mended("running");
}

// What a process leaves that dies between create and start: the same container, never started.
TEST_F(Lifecycle, CreateStartsWhatWasOnlyMade) {
  const Spec spec = NewSmallSpec();
  Sandbox model("model", spec);
  const test::Document inspect = test::InspectContainer(model.id());
  const std::string name = UniqueName("created");
  std::string labels = inspect.Json("Config.Labels");
  labels.replace(labels.find(model.name()), model.name().size(), name);
  const std::string body =
      "{\"Image\":" + inspect.Json("Config.Image") + ",\"Entrypoint\":" + inspect.Json("Config.Entrypoint") +
      ",\"Cmd\":" + inspect.Json("Config.Cmd") + ",\"User\":" + inspect.Json("Config.User") + ",\"Labels\":" + labels +
      ",\"AttachStdout\":true,\"AttachStderr\":true,\"HostConfig\":" + inspect.Json("HostConfig") + "}";
  const test::Answer made = test::Ask("POST", "/containers/create?name=" + test::ExpectedContainerName(name), body);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(ListedState(name), uint32_t{OSBX_STATE_STOPPED});
  Sandbox sandbox;
  const Status status = sandbox.Create(name, spec);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(sandbox.id(), test::Document(made.body).Text("Id"));
  EXPECT_TRUE(sandbox.Works());
}

TEST_F(Lifecycle, CreateWaitsOutARemoval) {
  const Spec spec = NewSmallSpec();
  for (int round = 0; round < 3; ++round) {
    Sandbox old("removal", spec);
    const std::string id = old.id();
    std::thread remover([&id] { Engine("DELETE", id, "?force=1"); });
    Sandbox made;
    const Status status = made.Create(old.name(), spec);
    remover.join();
    ASSERT_TRUE(status.ok()) << status;
    // It may have been there still when it was looked at; then it is gone now, and the next create makes another.
    if (made.id() == id) {
      ASSERT_TRUE(made.Create(old.name(), spec).ok());
    }
    EXPECT_NE(made.id(), id);
    EXPECT_TRUE(made.Works());
  }
}

TEST_F(Lifecycle, OptionsHoldWhenItIsMade) {
  Spec first = NewSmallSpec();
  osbx_spec_add_env(first.get(), "WHICH", "first");
  osbx_spec_add_label(first.get(), "which", "first");
  Sandbox sandbox("options", first);
  Spec second = NewSpec("no/such-image:at-all");
  osbx_spec_add_env(second.get(), "WHICH", "second");
  osbx_spec_add_label(second.get(), "which", "second");
  Sandbox again;
  const Status status = again.Create(sandbox.name(), second);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(again.id(), sandbox.id());
  EXPECT_EQ(again.Output("echo $WHICH"), "first\n");
  EXPECT_STREQ(osbx_info_label(again.info(), "which"), "first");
}

TEST_F(Lifecycle, NamesAreHashedAndKeptExactly) {
  const std::string base = UniqueName("name");
  std::vector<std::string> names = {base + " with spaces/and:slashes", base + "caf\u00e9 \U0001F600", base + "\"'\\$%",
                                    base + "..", std::string(255 - base.size(), 'n').insert(0, base)};
  for (const std::string& name : names) {
    Sandbox sandbox;
    const Status status = sandbox.Create(name, NewSmallSpec());
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_EQ(osbx_info_name(sandbox.info()), name);
    EXPECT_EQ(test::InspectContainer(sandbox.id()).Text("Name"), "/" + test::ExpectedContainerName(name));
    EXPECT_EQ(ListedState(name), uint32_t{OSBX_STATE_RUNNING});
    Sandbox opened;
    EXPECT_TRUE(opened.Open(name).ok());
  }
  for (const std::string& name :
       {std::string(), std::string(256, 'n'), base + "\n", base + "\x7f", base + "\xff", base + "\x01"}) {
    Sandbox sandbox;
    EXPECT_EQ(sandbox.Create(name, NewSmallSpec()).code, OSBX_E_INVALID);
    EXPECT_EQ(sandbox.Open(name).code, OSBX_E_INVALID);
    EXPECT_EQ(Destroy(name).code, OSBX_E_INVALID);
  }
}

TEST_F(Lifecycle, AContainerThatIsNotOursIsLeftAlone) {
  const std::string name = UniqueName("foreign");
  const std::string container = test::ExpectedContainerName(name);
  const std::string body = "{\"Image\":\"" + Busybox() +
                           "\",\"Cmd\":[\"sleep\",\"1000\"],\"Labels\":{\"osbx.managed\":\"1\"," +
                           "\"osbx.format\":\"1\",\"osbx.created-ms\":\"1\",\"osbx.name\":\"another\"}}";
  ASSERT_EQ(test::Ask("POST", "/containers/create?name=" + container, body).status, 201);
  Sandbox sandbox;
  EXPECT_EQ(sandbox.Create(name, NewSmallSpec()).code, OSBX_E_CONFLICT);
  EXPECT_EQ(sandbox.Open(name).code, OSBX_E_NOT_FOUND);
  EXPECT_TRUE(Destroy(name).ok());
  EXPECT_EQ(ListedState(name) + ListedState("another"), 0u);
  EXPECT_EQ(StatusOf(container), "created");
  EXPECT_EQ(Engine("DELETE", container, "?force=1"), 204);
}

TEST_F(Lifecycle, WhatTheHostCannotGiveIsRefusedAndLeavesNothing) {
  const auto refused = [](const char* subject, const std::function<void(osbx_spec*)>& change) {
    Spec spec = NewSmallSpec();
    change(spec.get());
    const std::string name = UniqueName(subject);
    Sandbox sandbox;
    const Status status = sandbox.Create(name, spec);
    EXPECT_EQ(status.code, OSBX_E_RUNTIME_UNAVAILABLE) << subject << ": " << status;
    EXPECT_FALSE(Exists(name)) << subject;
    return status.message;
  };
  EXPECT_NE(refused("unknown", [](osbx_spec* spec) { osbx_spec_set_runtime(spec, "no-such-runtime"); })
                .find("no-such-runtime"),
            std::string::npos);
  EXPECT_NE(refused("impostor", [](osbx_spec* spec) { osbx_spec_set_runtime(spec, "runsc-impostor"); }).find("gVisor"),
            std::string::npos);
  refused("cpus", [](osbx_spec* spec) { osbx_spec_set_cpus(spec, 100000); });
}

TEST_F(Lifecycle, SpecsThatAreNoneAreRefusedBeforeAnythingHappens) {
  const std::vector<std::function<void(osbx_spec*)>> changes = {
      [](osbx_spec* spec) { osbx_spec_set_memory_bytes(spec, 1000); },
      [](osbx_spec* spec) { osbx_spec_set_disk_bytes(spec, 4095); },
      [](osbx_spec* spec) { osbx_spec_set_disk_bytes(spec, int64_t{1} << 40); },
      [](osbx_spec* spec) { osbx_spec_set_cpus(spec, 1e-10); },
      [](osbx_spec* spec) { osbx_spec_set_max_processes(spec, 0); },
      [](osbx_spec* spec) { osbx_spec_set_user(spec, "0"); },
      [](osbx_spec* spec) { osbx_spec_set_user(spec, "1000:0"); },
      [](osbx_spec* spec) { osbx_spec_set_user(spec, "+0"); },
      [](osbx_spec* spec) { osbx_spec_set_user(spec, "root"); },
      [](osbx_spec* spec) { osbx_spec_set_egress(spec, 7); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Spec spec = NewSmallSpec();
    changes[i](spec.get());
    const std::string name = UniqueName("bad-spec");
    Sandbox sandbox;
    EXPECT_EQ(sandbox.Create(name, spec).code, OSBX_E_INVALID) << i;
    EXPECT_FALSE(Exists(name)) << i;
  }
}

// Whenever the cancel comes: the call ends soon, and what is left is nothing, or a whole sandbox that was started.
TEST_F(Lifecycle, ACancelledCreateLeavesNothingHalfMade) {
  const Spec spec = NewSmallSpec();
  for (const int64_t delay : {0, 5, 20, 60, 120, 200, 300, 500}) {
    const std::string name = UniqueName("cancelled");
    CancelToken cancel(osbx_cancel_new());
    std::thread canceller([&] {
      std::this_thread::sleep_for(milliseconds(delay));
      osbx_cancel_fire(cancel.get());
    });
    Sandbox sandbox;
    const Status status = sandbox.Create(name, spec, cancel.get());
    canceller.join();
    EXPECT_TRUE(status.ok() || status.code == OSBX_E_CANCELED) << delay << ": " << status;
    const std::string container = test::ExpectedContainerName(name);
    EXPECT_TRUE(Eventually([&] { return !Exists(name) || StatusOf(container) == "running"; }))
        << delay << ": " << StatusOf(container);
    Sandbox after;
    EXPECT_TRUE(after.Create(name, spec).ok()) << delay;
    EXPECT_TRUE(after.Works()) << delay;
  }
}

}  // namespace
}  // namespace osbx::e2e
