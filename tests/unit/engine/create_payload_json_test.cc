// What create sends, member by member.
#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "engine/container_calls.h"
#include "engine/container_json.h"
#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::JsonValue;

// One spelling for one value, members in alphabetical order, so that a difference can be read in a failure.
std::string Spell(JsonValue value) {
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (const auto& [key, member] : value.Members()) members[key] = Spell(member);
    std::string text = "{";
    for (const auto& [key, member] : members) text += (text.size() > 1 ? ", " : "") + key + ": " + member;
    return text + "}";
  }
  if (value.is_array()) {
    std::string text = "[";
    for (const JsonValue& item : value.Items()) text += (text.size() > 1 ? ", " : "") + Spell(item);
    return text + "]";
  }
  if (value.AsString()) return "\"" + *value.AsString() + "\"";
  if (value.AsBool()) return *value.AsBool() ? "true" : "false";
  if (value.AsInt()) return std::to_string(*value.AsInt());
  return value.exists() ? "null" : "missing";
}

using Members = std::map<std::string, std::string>;

Members SpelledMembers(JsonValue object) {
  Members members;
  for (const auto& [key, member] : object.Members()) members[key] = Spell(member);
  return members;
}

ContainerConfig FullConfig() {
  ContainerConfig config;
  config.image = "sha256:abc";
  config.entrypoint = {"/bin/sh", "-c"};
  config.cmd = {"trap 'exit 0' TERM", "", "\"\\\n"};
  config.user = "65534:65534";
  config.working_dir = "/workspace";
  config.env = {"A=1", "B="};
  config.labels = {{"osbx.managed", "1"}, {"osbx.name", "n\"\xc3\xa9"}};
  config.stop_signal = "SIGTERM";
  config.healthcheck_none = true;
  config.attach_stdout = true;
  config.attach_stderr = true;
  config.runtime = "runsc";
  config.network_mode = "none";
  config.ipc_mode = "private";
  config.log_driver = "none";
  config.restart_policy = "no";
  config.readonly_rootfs = true;
  config.init = true;
  config.privileged = true;
  config.cap_drop = {"ALL"};
  config.cap_add = {"NET_ADMIN"};
  config.security_opt = {"no-new-privileges"};
  config.binds = {"/:/host"};
  config.tmpfs = {{"/tmp", "size=1,noexec"}, {"/workspace", "rw"}};
  config.shm_size = 65536;
  config.memory = int64_t{2} << 30;
  config.memory_swap = int64_t{2} << 30;
  config.nano_cpus = 2000000000;
  config.pids_limit = 2624;
  config.ulimits = {{"nproc", 264, 264}, {"core", 0, 1}};
  config.pid_mode = "host";
  return config;
}

TEST(CreatePayloadJson, HasEveryFieldOfTheConfigAndNothingElse) {
  const absl::StatusOr<base::JsonDocument> document = base::ParseJson(WriteContainerConfig(FullConfig()));
  ASSERT_TRUE(document.ok()) << document.status();
  Members top = SpelledMembers(document->root());
  top.erase("HostConfig");
  EXPECT_EQ(top, (Members{
                     {"Image", "\"sha256:abc\""},
                     {"Entrypoint", "[\"/bin/sh\", \"-c\"]"},
                     {"Cmd", "[\"trap 'exit 0' TERM\", \"\", \"\"\\\n\"]"},
                     {"User", "\"65534:65534\""},
                     {"WorkingDir", "\"/workspace\""},
                     {"Env", "[\"A=1\", \"B=\"]"},
                     {"Labels", "{osbx.managed: \"1\", osbx.name: \"n\"\xc3\xa9\"}"},
                     {"StopSignal", "\"SIGTERM\""},
                     {"Healthcheck", "{Test: [\"NONE\"]}"},
                     {"AttachStdin", "false"},
                     {"AttachStdout", "true"},
                     {"AttachStderr", "true"},
                     {"OpenStdin", "false"},
                     {"StdinOnce", "false"},
                     {"Tty", "false"},
                     {"NetworkDisabled", "false"},
                 }));
  EXPECT_EQ(SpelledMembers(document->root()["HostConfig"]),
            (Members{
                {"Runtime", "\"runsc\""},
                {"NetworkMode", "\"none\""},
                {"IpcMode", "\"private\""},
                {"LogConfig", "{Type: \"none\"}"},
                {"RestartPolicy", "{Name: \"no\"}"},
                {"AutoRemove", "false"},
                {"Privileged", "false"},
                {"PublishAllPorts", "false"},
                {"ReadonlyRootfs", "true"},
                {"Init", "true"},
                {"CapDrop", "[\"ALL\"]"},
                {"SecurityOpt", "[\"no-new-privileges\"]"},
                {"Tmpfs", "{/tmp: \"size=1,noexec\", /workspace: \"rw\"}"},
                {"ShmSize", "65536"},
                {"Memory", "2147483648"},
                {"MemorySwap", "2147483648"},
                {"NanoCpus", "2000000000"},
                {"PidsLimit", "2624"},
                {"Ulimits", "[{Hard: 264, Name: \"nproc\", Soft: 264}, {Hard: 1, Name: \"core\", Soft: 0}]"},
            }));
}

TEST(CreatePayloadJson, SendsAnEmptyConfigExplicitlyTooButNoEmptyRuntime) {
  const absl::StatusOr<base::JsonDocument> document = base::ParseJson(WriteContainerConfig(ContainerConfig()));
  ASSERT_TRUE(document.ok()) << document.status();
  const JsonValue root = document->root();
  for (const char* list : {"Entrypoint", "Cmd", "Env"}) EXPECT_EQ(Spell(root[list]), "[]") << list;
  for (const char* text : {"Image", "User", "WorkingDir", "StopSignal"}) EXPECT_EQ(Spell(root[text]), "\"\"") << text;
  EXPECT_FALSE(root["Healthcheck"].exists());
  const JsonValue host = root["HostConfig"];
  EXPECT_FALSE(host["Runtime"].exists());
  EXPECT_EQ(Spell(host["CapDrop"]), "[]");
  EXPECT_EQ(Spell(host["Tmpfs"]), "{}");
  EXPECT_EQ(Spell(host["Init"]), "false");
  EXPECT_EQ(Spell(host["ReadonlyRootfs"]), "false");
}

TEST(CreatePayloadJson, IsPostedUnderTheEncodedName) {
  const Call<CreatedContainer> call = CreateContainer("osbx-0&x=/", FullConfig());
  EXPECT_EQ(call.request.method, "POST");
  EXPECT_EQ(call.request.target, "/containers/create?name=osbx-0%26x%3D%2F");
  EXPECT_EQ(call.request.content_type, "application/json");
  EXPECT_EQ(call.request.body, WriteContainerConfig(FullConfig()));
  EXPECT_FALSE(call.request.idempotent);
}

}  // namespace
}  // namespace osbx::engine
