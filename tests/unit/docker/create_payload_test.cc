#include "docker/create_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace osbx::docker {
namespace {

using engine::ContainerConfig;
using testing::ElementsAre;

core::Options TestOptions() {
  core::Options options;
  options.image = "busybox";
  return options;
}

ContainerConfig Payload(const core::Options& options, bool gvisor = true, core::UserId user = {1000, 1000}) {
  CreateInput input;
  input.name = "n";
  input.user = user;
  input.gvisor = gvisor;
  return MakeCreatePayload(options, input);
}

TEST(CreatePayload, TheDefaultsAreLockedDown) {
  ContainerConfig config = Payload(TestOptions());
  EXPECT_EQ(config.runtime, "runsc");
  EXPECT_EQ(config.network_mode, "none");
  EXPECT_EQ(config.ipc_mode, "private");
  EXPECT_EQ(config.log_driver, "none");
  EXPECT_EQ(config.restart_policy, "no");
  EXPECT_TRUE(config.readonly_rootfs);
  EXPECT_TRUE(config.healthcheck_none);
  EXPECT_FALSE(config.privileged);
  EXPECT_THAT(config.cap_drop, ElementsAre("ALL"));
  EXPECT_THAT(config.security_opt, ElementsAre("no-new-privileges"));
  EXPECT_EQ(config.memory, int64_t{2} << 30);
  EXPECT_EQ(config.memory_swap, config.memory);
  EXPECT_EQ(config.nano_cpus, 2000000000);
  EXPECT_EQ(config.shm_size, 4096);
  EXPECT_EQ(config.stop_signal, "SIGTERM");
}

TEST(CreatePayload, InitRunsAsAnotherUserThanTheSandbox) {
  EXPECT_EQ(Payload(TestOptions()).user, "65534:65534");
  EXPECT_EQ(Payload(TestOptions(), true, {65534, 1}).user, "65533:65533");
}

TEST(CreatePayload, ProcessesAreLimitedInsideGvisorAndByTheHostElsewhere) {
  core::Options options = TestOptions();
  options.max_processes = 100;
  ContainerConfig gvisor = Payload(options, true);
  ASSERT_EQ(gvisor.ulimits.size(), 1u);
  EXPECT_EQ(gvisor.ulimits[0].name, "nproc");
  EXPECT_EQ(gvisor.ulimits[0].soft, 108);
  EXPECT_EQ(gvisor.ulimits[0].hard, 108);
  EXPECT_EQ(gvisor.pids_limit, 8 * 108 + 512);
  ContainerConfig runc = Payload(options, false);
  EXPECT_TRUE(runc.ulimits.empty());
  EXPECT_EQ(runc.pids_limit, 109);
}

int64_t SizeOf(const std::string& tmpfs) { return std::stoll(tmpfs.substr(tmpfs.find("size=") + 5)); }

TEST(CreatePayload, ScratchIsNeverLargerThanTheDisk) {
  for (int64_t disk : {int64_t{1} << 20, (int64_t{1} << 20) + 1, (int64_t{1} << 30) - 1, int64_t{5} << 30}) {
    core::Options options = TestOptions();
    options.disk_bytes = disk;
    ContainerConfig config = Payload(options);
    const int64_t tmp = SizeOf(config.tmpfs["/tmp"]);
    const int64_t workspace = SizeOf(config.tmpfs["/workspace"]);
    EXPECT_LE(tmp + workspace, disk);
    EXPECT_GT(tmp + workspace, disk - 3 * 4096);
    EXPECT_EQ(tmp, disk / 4 / 4096 * 4096);
    EXPECT_EQ(tmp % 4096, 0);
    EXPECT_EQ(workspace % 4096, 0);
  }
}

TEST(CreatePayload, ScratchIsTheSandboxUsersAndNotExecutable) {
  ContainerConfig config = Payload(TestOptions(), true, {1234, 99});
  EXPECT_EQ(config.tmpfs["/workspace"], "rw,nosuid,nodev,noexec,size=805306368,uid=1234,gid=99,mode=0755");
  EXPECT_EQ(config.tmpfs["/tmp"], "rw,nosuid,nodev,noexec,size=268435456,uid=1234,gid=99,mode=1777");
  EXPECT_EQ(config.tmpfs["/.osbx/run"], "rw,nosuid,nodev,noexec,size=262144,uid=65534,gid=65534,mode=0755");
  EXPECT_EQ(config.tmpfs["/.osbx/user"], "rw,nosuid,nodev,noexec,size=16777216,uid=1234,gid=99,mode=0700");
  core::Options options = TestOptions();
  options.allow_exec = true;
  ContainerConfig relaxed = Payload(options);
  EXPECT_NE(relaxed.tmpfs["/workspace"].find(",exec,"), std::string::npos);
  EXPECT_NE(relaxed.tmpfs["/.osbx/user"].find(",noexec,"), std::string::npos);
}

TEST(CreatePayload, VolumesOfTheImageBecomeTinyAndReadOnly) {
  CreateInput input;
  input.user = {1000, 1000};
  input.image.volumes = {"/data", "/workspace", "/tmp/", "/.osbx/run", "/var//cache/x/", "relative", "/a/../etc", "/"};
  ContainerConfig config = MakeCreatePayload(TestOptions(), input);
  EXPECT_EQ(config.tmpfs.size(), 6u);
  EXPECT_EQ(config.tmpfs["/data"], "ro,nosuid,nodev,noexec,size=4096");
  EXPECT_EQ(config.tmpfs["/var/cache/x"], "ro,nosuid,nodev,noexec,size=4096");
}

TEST(CreatePayload, EgressUnrestrictedIsTheBridge) {
  core::Options options = TestOptions();
  options.egress = core::Egress::kUnrestricted;
  EXPECT_EQ(Payload(options).network_mode, "bridge");
}

TEST(CheckCreated, AcceptsWhatWasAsked) {
  ContainerConfig asked = Payload(TestOptions());
  engine::ContainerDetails given;
  given.config = asked;
  EXPECT_TRUE(CheckCreated(asked, given).ok());
}

TEST(CheckCreated, RefusesEveryWeakening) {
  const ContainerConfig asked = Payload(TestOptions());
  const std::vector<std::pair<const char*, std::function<void(engine::ContainerDetails&)>>> changes = {
      {"runtime", [](auto& d) { d.config.runtime = "runc"; }},
      {"privileges", [](auto& d) { d.config.privileged = true; }},
      {"read-only root", [](auto& d) { d.config.readonly_rootfs = false; }},
      {"user", [](auto& d) { d.config.user = "0:0"; }},
      {"capabilities", [](auto& d) { d.config.cap_drop.clear(); }},
      {"capabilities", [](auto& d) { d.config.cap_add = {"SYS_ADMIN"}; }},
      {"security options", [](auto& d) { d.config.security_opt.clear(); }},
      {"network mode", [](auto& d) { d.config.network_mode = "host"; }},
      {"IPC mode", [](auto& d) { d.config.ipc_mode = "host"; }},
      {"process namespace", [](auto& d) { d.config.pid_mode = "host"; }},
      {"log driver", [](auto& d) { d.config.log_driver = "json-file"; }},
      {"memory limit", [](auto& d) { d.config.memory = 0; }},
      {"swap limit", [](auto& d) { d.config.memory_swap = -1; }},
      {"CPU limit", [](auto& d) { d.config.nano_cpus = 0; }},
      {"process limit", [](auto& d) { d.config.pids_limit = 0; }},
      {"ulimits", [](auto& d) { d.config.ulimits.clear(); }},
      {"shared memory", [](auto& d) { d.config.shm_size = 64 << 20; }},
      {"scratch mounts", [](auto& d) { d.config.tmpfs["/x"] = "rw"; }},
      {"scratch mounts", [](auto& d) { d.config.tmpfs["/tmp"] = "rw"; }},
      {"init program", [](auto& d) { d.config.cmd = {"sh"}; }},
      {"a bind", [](auto& d) { d.config.binds = {"/:/host"}; }},
      {"volume at /data",
       [](auto& d) {
         d.mounts.push_back({"volume", "v", "/data", true});
       }},
  };
  for (const auto& [what, change] : changes) {
    engine::ContainerDetails given;
    given.config = asked;
    change(given);
    absl::Status status = CheckCreated(asked, given);
    EXPECT_EQ(base::CodeOf(status), base::Code::kRuntimeUnavailable) << what;
    EXPECT_NE(std::string(status.message()).find(what), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace osbx::docker
