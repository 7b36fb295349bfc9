// What is read of a container, above all where the answer is not what it should be.
#include <gtest/gtest.h>

#include "engine/container_calls.h"
#include "engine/container_json.h"
#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;
using Strings = std::vector<std::string>;

absl::StatusOr<ContainerDetails> Read(const std::string& body) {
  return InspectContainer("c").parse(Answer(200, body));
}

constexpr char kFull[] = R"({
  "Id": "1f2e", "Created": "2026-01-01T00:00:00Z", "Name": "/osbx-1", "Image": "sha256:77",
  "State": {"Status": "exited", "Running": false, "OOMKilled": true, "ExitCode": 137, "Error": "why"},
  "Config": {
    "Image": "i:latest", "Entrypoint": ["/e"], "Cmd": ["c", "d"], "User": "65534:65534", "WorkingDir": "/w",
    "Env": ["A=1"], "Labels": {"k": "v"}, "StopSignal": "SIGTERM", "Healthcheck": {"Test": ["NONE"]},
    "AttachStdout": true, "AttachStderr": true},
  "HostConfig": {
    "Runtime": "runsc", "NetworkMode": "none", "IpcMode": "private", "LogConfig": {"Type": "none", "Config": {}},
    "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0}, "ReadonlyRootfs": true, "Init": true, "Privileged": false,
    "CapDrop": ["ALL"], "CapAdd": ["CHOWN"], "SecurityOpt": ["no-new-privileges"], "Binds": ["/a:/b"],
    "Tmpfs": {"/tmp": "size=1"}, "ShmSize": 65536, "Memory": 7, "MemorySwap": 8, "NanoCpus": 9, "PidsLimit": 10,
    "Ulimits": [{"Name": "nproc", "Soft": 1, "Hard": 2}], "PidMode": "", "UTSMode": "", "UsernsMode": "host",
    "CgroupnsMode": "private"},
  "Mounts": [{"Type": "bind", "Source": "/a", "Destination": "/b", "Mode": "", "RW": false}, {"Type": "volume"}],
  "NetworkSettings": {"Networks": {"none": {"NetworkID": "x"}}}})";

TEST(InspectJson, ReadsEveryField) {
  const absl::StatusOr<ContainerDetails> details = Read(kFull);
  ASSERT_TRUE(details.ok()) << details.status();
  EXPECT_EQ(details->id, "1f2e");
  EXPECT_EQ(details->name, "osbx-1");
  EXPECT_EQ(details->image_id, "sha256:77");
  EXPECT_EQ(details->status, "exited");
  EXPECT_TRUE(details->oom_killed);
  EXPECT_EQ(details->exit_code, 137);
  EXPECT_EQ(details->state_error, "why");
  const ContainerConfig& config = details->config;
  EXPECT_EQ(config.image, "i:latest");
  EXPECT_EQ(config.entrypoint, Strings{"/e"});
  EXPECT_EQ(config.cmd, (Strings{"c", "d"}));
  EXPECT_EQ(config.user, "65534:65534");
  EXPECT_EQ(config.working_dir, "/w");
  EXPECT_EQ(config.env, Strings{"A=1"});
  EXPECT_EQ(config.labels, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(config.stop_signal, "SIGTERM");
  EXPECT_TRUE(config.healthcheck_none);
  EXPECT_TRUE(config.attach_stdout);
  EXPECT_TRUE(config.attach_stderr);
  EXPECT_EQ(config.runtime, "runsc");
  EXPECT_EQ(config.network_mode, "none");
  EXPECT_EQ(config.ipc_mode, "private");
  EXPECT_EQ(config.log_driver, "none");
  EXPECT_EQ(config.restart_policy, "no");
  EXPECT_TRUE(config.readonly_rootfs);
  EXPECT_TRUE(config.init);
  EXPECT_FALSE(config.privileged);
  EXPECT_EQ(config.cap_drop, Strings{"ALL"});
  EXPECT_EQ(config.cap_add, Strings{"CHOWN"});
  EXPECT_EQ(config.security_opt, Strings{"no-new-privileges"});
  EXPECT_EQ(config.binds, Strings{"/a:/b"});
  EXPECT_EQ(config.tmpfs, (std::map<std::string, std::string>{{"/tmp", "size=1"}}));
  EXPECT_EQ(config.shm_size, 65536);
  EXPECT_EQ(config.memory, 7);
  EXPECT_EQ(config.memory_swap, 8);
  EXPECT_EQ(config.nano_cpus, 9);
  EXPECT_EQ(config.pids_limit, 10);
  EXPECT_EQ(config.ulimits, (std::vector<Ulimit>{{"nproc", 1, 2}}));
  EXPECT_EQ(config.pid_mode, "");
  EXPECT_EQ(config.uts_mode, "");
  EXPECT_EQ(config.userns_mode, "host");
  EXPECT_EQ(config.cgroupns_mode, "private");
  ASSERT_EQ(details->mounts.size(), 2u);
  EXPECT_EQ(details->mounts[0].type, "bind");
  EXPECT_EQ(details->mounts[0].source, "/a");
  EXPECT_EQ(details->mounts[0].destination, "/b");
  EXPECT_FALSE(details->mounts[0].read_write);
  EXPECT_TRUE(details->mounts[1].read_write) << "a mount that does not say is not read-only";
  EXPECT_EQ(details->networks, Strings{"none"});
}

// The fields that say how well a container is isolated, as read from these HostConfig members.
ContainerConfig HostConfigOf(const std::string& members) {
  const absl::StatusOr<ContainerDetails> details =
      Read(R"({"Id":"1","State":{},"Config":{},"Mounts":[],"HostConfig":{)" + members + "}}");
  EXPECT_TRUE(details.ok()) << details.status();
  return details.ok() ? details->config : ContainerConfig();
}

TEST(InspectJson, NeverReadsAMissingFieldAsAProtection) {
  // Nothing there, and everything there but of a wrong type.
  for (const char* members :
       {"", R"("Runtime":1,"NetworkMode":["none"],"IpcMode":true,"LogConfig":"none","RestartPolicy":[],
               "ReadonlyRootfs":"true","Privileged":0,"CapDrop":"ALL","CapAdd":{},"SecurityOpt":"no-new-privileges",
               "Binds":"","Tmpfs":["/tmp"],"ShmSize":"1","Memory":"7","MemorySwap":1.5,"NanoCpus":1e300,"PidsLimit":[],
               "Ulimits":{"nproc":1},"PidMode":1,"UTSMode":1,"UsernsMode":1,"CgroupnsMode":1)"}) {
    const ContainerConfig config = HostConfigOf(members);
    EXPECT_TRUE(config.privileged) << members;
    EXPECT_FALSE(config.readonly_rootfs);
    EXPECT_EQ(config.runtime, "");
    for (const std::string& mode : {config.network_mode, config.ipc_mode, config.log_driver, config.restart_policy,
                                    config.pid_mode, config.uts_mode, config.userns_mode, config.cgroupns_mode}) {
      EXPECT_EQ(mode, kUnknown);
    }
    EXPECT_EQ(config.cap_add, Strings{kUnknown});
    EXPECT_EQ(config.binds, Strings{kUnknown});
    EXPECT_TRUE(config.cap_drop.empty());
    EXPECT_TRUE(config.security_opt.empty());
    EXPECT_TRUE(config.tmpfs.empty());
    EXPECT_TRUE(config.ulimits.empty());
    EXPECT_EQ(config.memory, 0);
    EXPECT_EQ(config.memory_swap, 0);
    EXPECT_EQ(config.nano_cpus, 0);
    EXPECT_EQ(config.pids_limit, 0);
    EXPECT_EQ(config.shm_size, 0);
    EXPECT_FALSE(config.healthcheck_none);
  }
}

TEST(InspectJson, ReadsANullListAsEmptyAndANullModeAsUnknown) {
  const ContainerConfig config =
      HostConfigOf(R"("CapAdd":null,"CapDrop":null,"Binds":null,"PidsLimit":null,"Init":null,"PidMode":null)");
  EXPECT_TRUE(config.cap_add.empty());
  EXPECT_TRUE(config.binds.empty());
  EXPECT_EQ(config.pids_limit, 0);
  EXPECT_FALSE(config.init);
  EXPECT_EQ(config.pid_mode, kUnknown);
}

TEST(InspectJson, KeepsTheMarkOfAListItemThatIsNoString) {
  EXPECT_EQ(HostConfigOf(R"("CapAdd":["CHOWN",7],"Binds":[null])").cap_add, (Strings{"CHOWN", kUnknown}));
  EXPECT_EQ(HostConfigOf(R"("CapAdd":[],"Binds":[null])").binds, Strings{kUnknown});
}

TEST(InspectJson, DoesNotTakeAnotherHealthcheckForNone) {
  for (const char* check : {"null", "{}", R"({"Test":null})", R"({"Test":[]})", R"({"Test":["CMD","NONE"]})",
                            R"({"Test":["NONE","x"]})", R"({"Test":"NONE"})"}) {
    const auto details = Read(
        std::string(R"({"Id":"1","State":{},"HostConfig":{},"Mounts":[],"Config":{"Healthcheck":)") + check + "}}");
    ASSERT_TRUE(details.ok()) << check << details.status();
    EXPECT_FALSE(details->config.healthcheck_none) << check;
  }
}

TEST(InspectJson, ReadsAnUnknownStateAsUnknown) {
  const auto details =
      Read(R"({"Id":"1","State":{"OOMKilled":"x","ExitCode":null},"HostConfig":{},"Mounts":null,"Config":{}})");
  ASSERT_TRUE(details.ok()) << details.status();
  EXPECT_EQ(details->status, "");
  EXPECT_EQ(details->exit_code, -1) << "never a made-up 0";
  EXPECT_FALSE(details->oom_killed);
  EXPECT_EQ(details->networks, Strings{kUnknown});
  EXPECT_TRUE(details->mounts.empty());
}

TEST(InspectJson, RefusesAnAnswerWithoutItsParts) {
  for (const char* body : {"", "null", "[]", "17", "{", "{}", R"({"Id":"1"})",
                           R"({"Id":"","State":{},"Config":{},"HostConfig":{},"Mounts":[]})",
                           R"({"Id":7,"State":{},"Config":{},"HostConfig":{},"Mounts":[]})",
                           R"({"Id":"../x","State":{},"Config":{},"HostConfig":{},"Mounts":[]})",
                           R"({"Id":"..","State":{},"Config":{},"HostConfig":{},"Mounts":[]})",
                           R"({"Id":"1","State":[],"Config":{},"HostConfig":{},"Mounts":[]})",
                           R"({"Id":"1","State":{},"Config":null,"HostConfig":{},"Mounts":[]})",
                           R"({"Id":"1","State":{},"Config":{},"HostConfig":"x","Mounts":[]})",
                           R"({"Id":"1","State":{},"Config":{},"HostConfig":{}})",
                           R"({"Id":"1","State":{},"Config":{},"HostConfig":{},"Mounts":{}})",
                           R"({"Id":"1","State":{},"Config":{},"HostConfig":{},"Mounts":[],"Id":"2"})",
                           R"({"Id":"1","State":{},"Config":{},"HostConfig":{},"Mounts":[]} {})"}) {
    const auto details = Read(body);
    EXPECT_EQ(base::CodeOf(details.status()), Code::kBackend) << body;
    EXPECT_EQ(std::string(details.status().message()).substr(0, 19), "inspect container: ") << details.status();
  }
}

TEST(InspectJson, RefusesAnIdThatIsTooLong) {
  EXPECT_FALSE(
      Read(R"({"Id":")" + std::string(129, 'a') + R"(","State":{},"Config":{},"HostConfig":{},"Mounts":[]})").ok());
}

}  // namespace
}  // namespace osbx::engine
