// An image decides nothing but files, PATH and environment: one odd image after the other.
#include "e2e/sandbox_fixture.h"

namespace osbx::e2e {
namespace {

using std::chrono::seconds;

class ImageSmoke : public testing::Test {};
class Image : public testing::Test {};

std::string Fixture(const std::string& name) { return "osbx/test-" + name + ":latest"; }

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Refused with `code` and words that help, and nothing is left.
void ExpectRefused(const Spec& spec, osbx_status code, const std::string& part) {
  const std::string name = UniqueName("refused");
  Sandbox sandbox;
  const Status status = sandbox.Create(name, spec);
  EXPECT_EQ(status.code, code) << status;
  EXPECT_TRUE(Contains(status.message, part)) << status;
  EXPECT_FALSE(Exists(name)) << part;
}

TEST_F(ImageSmoke, AVolumeIsNoHostDisk) {
  Sandbox sandbox("volume", NewSmallSpec(Fixture("volume")));
  const test::Document inspect = test::InspectContainer(sandbox.id());
  for (int i = 0; i < inspect.Size("Mounts"); ++i) {
    EXPECT_EQ(inspect.Text("Mounts." + std::to_string(i) + ".Type"), "tmpfs");
  }
  for (const char* path : {"/data", "/var/cache/x"}) {
    EXPECT_FALSE(sandbox.Shell(std::string("touch ") + path + "/x").Exited(0)) << path;
    EXPECT_TRUE(Contains(inspect.Member("HostConfig.Tmpfs", path), "ro,")) << path;
  }
  EXPECT_TRUE(sandbox.Put("/workspace/x", "y").ok());
  EXPECT_EQ(sandbox.Output("df -k /workspace | tail -n +2 | awk '{print $2}'"), "49152\n");
}

TEST_F(ImageSmoke, ItsEntrypointUserAndDirectoryAreIgnored) {
  Sandbox entrypoint("entrypoint", NewSmallSpec(Fixture("entrypoint")));
  EXPECT_TRUE(entrypoint.Works());
  Sandbox root("user-root", NewSmallSpec(Fixture("user-root")));
  EXPECT_EQ(root.Output("id -u; pwd"), "1000\n/workspace\n");
  EXPECT_EQ(test::InspectContainer(root.id()).Text("Config.User"), "65534:65534");
}

TEST_F(Image, ItsHealthCheckNeverRuns) {
  Sandbox sandbox("healthcheck", NewSmallSpec(Fixture("healthcheck")));
  const test::Document inspect = test::InspectContainer(sandbox.id());
  EXPECT_EQ(inspect.Json("Config.Healthcheck.Test"), "[\"NONE\"]");
  // It would run every second and end init.
  EXPECT_EQ(sandbox.Output("sleep 3; echo alive"), "alive\n");
  EXPECT_FALSE(test::InspectContainer(sandbox.id()).Has("State.Health.Status"));
}

TEST_F(Image, ItsStopSignalIsIgnored) {
  Sandbox sandbox("stopsignal", NewSmallSpec(Fixture("stopsignal")));
  EXPECT_EQ(test::InspectContainer(sandbox.id()).Text("Config.StopSignal"), "SIGTERM");
  EXPECT_TRUE(sandbox.Stop().ok());
  EXPECT_EQ(test::InspectContainer(sandbox.id()).Number("State.ExitCode"), 0);
}

TEST_F(Image, ItsLabelsAreNotOurs) {
  Spec spec = NewSmallSpec(Fixture("labels"));
  osbx_spec_add_label(spec.get(), "mine", "1");
  Sandbox sandbox("labels", spec);
  EXPECT_EQ(osbx_info_name(sandbox.info()), sandbox.name());
  EXPECT_GT(osbx_info_created_ms(sandbox.info()), int64_t{1600000000000});
  EXPECT_STREQ(osbx_info_label(sandbox.info(), "mine"), "1");
  // "What the caller reads back is exactly what it set."
  EXPECT_EQ(osbx_info_label_count(sandbox.info()), 1u);
  EXPECT_EQ(osbx_info_label(sandbox.info(), "x"), nullptr);
  EXPECT_EQ(ListedState("evil"), 0u);
  // A container of it that nobody made as a sandbox is none.
  const test::Answer made = test::Ask("POST", "/containers/create", "{\"Image\":\"" + Fixture("labels") + "\"}");
  ASSERT_EQ(made.status, 201);
  EXPECT_EQ(ListedState("evil"), 0u);
  test::Ask("DELETE", "/containers/" + test::Document(made.body).Text("Id") + "?force=1");
}

TEST_F(Image, ItsPathAndEnvironmentHold) {
  Spec spec = NewSmallSpec(Fixture("env"));
  Sandbox sandbox("env", spec);
  EXPECT_EQ(sandbox.Output("echo $FOO $PATH"), "from-image /bin:/usr/bin:/opt/bin\n");
  osbx_spec_add_env(spec.get(), "FOO", "from-spec");
  Sandbox over("env-over", spec);
  EXPECT_EQ(over.Output("echo $FOO"), "from-spec\n");
}

TEST_F(Image, WithoutWorkspaceItGetsOne) {
  Sandbox sandbox("no-workspace", NewSmallSpec(Fixture("no-workspace")));
  EXPECT_EQ(sandbox.Output("pwd; echo x >/workspace/x; echo y >/tmp/y; cat /workspace/x /tmp/y"), "/workspace\nx\ny\n");
}

TEST_F(Image, AWorkspaceThatIsNoDirectoryIsRefused) {
  ExpectRefused(NewSmallSpec(Fixture("workspace-file")), OSBX_E_UNSUPPORTED, "/workspace");
  ExpectRefused(NewSmallSpec(Fixture("workspace-link")), OSBX_E_UNSUPPORTED, "/workspace");
}

TEST_F(ImageSmoke, WithoutAShellItIsRefused) {
  ExpectRefused(NewSmallSpec(Fixture("no-shell")), OSBX_E_UNSUPPORTED, "/bin/sh");
}

TEST_F(Image, UsersAreResolvedByName) {
  for (const auto& [user, ids] :
       std::vector<std::pair<std::string, std::string>>{{"app", "1234:1234"},
                                                        {"app:staff", "1234:4321"},
                                                        {"1500:1500", "1500:1500"},
                                                        {"4444", "4444:4444"},
                                                        {"dup:dupg", "1301:5001"},
                                                        {"last-without-newline", "1407:1407"}}) {
    Spec spec = NewSmallSpec(Fixture("users"));
    osbx_spec_set_user(spec.get(), user.c_str());
    Sandbox sandbox("user", spec);
    ASSERT_NE(sandbox.handle(), nullptr) << user;
    EXPECT_EQ(sandbox.Output("echo $(id -u):$(id -g)"), ids + "\n") << user;
    EXPECT_TRUE(sandbox.Put("/workspace/x", "y").ok()) << user;
    EXPECT_EQ(sandbox.Output("stat -c %u:%g /workspace/x"), ids + "\n") << user;
  }
}

TEST_F(Image, UsersThatAreRootOrNoneAreRefused) {
  for (const char* user : {"zero", "zerogroup", "app:zerog", "nobody-of-that-name", "app:no-such-group", "word-uid",
                           "hex", "maxint", "huge", "padded", "negative", "leading"}) {
    Spec spec = NewSmallSpec(Fixture("users"));
    osbx_spec_set_user(spec.get(), user);
    ExpectRefused(spec, OSBX_E_INVALID, "");
  }
  Spec linked = NewSmallSpec(Fixture("passwd-link"));
  osbx_spec_set_user(linked.get(), "app");
  ExpectRefused(linked, OSBX_E_INVALID, "/etc/passwd");
}

TEST_F(Image, OneThatIsNowhereIsUnavailable) {
  Spec spec = NewSmallSpec("localhost:1/no/such-image:tag");
  const std::string name = UniqueName("unavailable");
  CancelToken bound(osbx_cancel_new());
  osbx_cancel_set_timeout_ms(bound.get(), 60000);
  Sandbox sandbox;
  const auto start = std::chrono::steady_clock::now();
  const Status status = sandbox.Create(name, spec, bound.get());
  EXPECT_EQ(status.code, OSBX_E_IMAGE_UNAVAILABLE) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(60));
  EXPECT_FALSE(Exists(name));
  ExpectRefused(NewSmallSpec("sha256:" + std::string(64, 'a')), OSBX_E_IMAGE_UNAVAILABLE, "aaaa");
  ExpectRefused(NewSmallSpec("Upper/Case"), OSBX_E_INVALID, "lowercase");
}

}  // namespace
}  // namespace osbx::e2e
