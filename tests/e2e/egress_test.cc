// Network access is what was asked for, both ways. Runs on an engine of its own with a bridge, which it starts and
// takes down; the engine of the other tests has no bridge.
#include <cstdio>
#include <cstdlib>

#include "e2e/sandbox_fixture.h"

namespace osbx::e2e {
namespace {

constexpr char kEngine[] = "e2e-bridge";

// The standard output of a shell command on this host; "" when it failed.
std::string HostOutput(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return "";
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (pclose(pipe) != 0) return "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string Scripts(const std::string& command) { return std::string(OSBX_SCRIPTS) + "/" + command; }

Spec Unrestricted(const std::string& runtime) {
  Spec spec = NewSmallSpec();
  osbx_spec_set_runtime(spec.get(), runtime.c_str());
  osbx_spec_set_egress(spec.get(), OSBX_EGRESS_UNRESTRICTED);
  return spec;
}

class EgressOnABridge : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Whatever a killed run left.
    std::system((Scripts("engine down ") + kEngine + " >/dev/null 2>&1").c_str());
    if (std::system((Scripts("engine up ") + kEngine + " --bridge >/dev/null").c_str()) != 0) return;
    host_ = HostOutput("eval \"$(" + Scripts("engine env ") + kEngine + ")\" && echo $DOCKER_HOST");
    osbx_config* config = osbx_config_new();
    osbx_config_set_docker_host(config, host_.c_str());
    osbx_error* error = nullptr;
    EXPECT_TRUE(TakeStatus(osbx_backend_new(config, &backend_, &error), &error).ok());
    osbx_config_free(config);
  }
  static void TearDownTestSuite() {
    osbx_backend_free(backend_);
    backend_ = nullptr;
    EXPECT_EQ(std::system((Scripts("engine down ") + kEngine + " --purge >/dev/null").c_str()), 0);
  }
  void SetUp() override {
    ASSERT_NE(backend_, nullptr) << "no engine with a bridge: scripts/engine up --bridge failed";
  }

  static Status Create(const std::string& name, const Spec& spec, osbx_sandbox** out) {
    osbx_error* error = nullptr;
    return TakeStatus(osbx_create(backend_, name.c_str(), spec.get(), nullptr, out, &error), &error);
  }
  static int Destroyed(const std::string& name) { return osbx_destroy(backend_, name.c_str(), 0, nullptr, nullptr); }
  static std::string Output(osbx_sandbox* sandbox, const std::string& script) {
    osbx_result* result = nullptr;
    osbx_error* error = nullptr;
    const Command command = NewShell(script);
    EXPECT_TRUE(TakeStatus(osbx_exec(sandbox, command.get(), nullptr, &result, &error), &error).ok());
    const Owner<osbx_result, osbx_result_free> owner(result);
    size_t size = 0;
    const uint8_t* bytes = osbx_result_output(result, OSBX_STDOUT, &size);
    return std::string(reinterpret_cast<const char*>(bytes), size);
  }

  static std::string host_;
  static osbx_backend* backend_;
};

std::string EgressOnABridge::host_;
osbx_backend* EgressOnABridge::backend_ = nullptr;

TEST_F(EgressOnABridge, UnrestrictedReachesTheBridge) {
  const std::string name = UniqueName("egress");
  osbx_sandbox* sandbox = nullptr;
  const Status status = Create(name, Unrestricted("runc"), &sandbox);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NE(Output(sandbox, "cat /proc/net/route | grep -c ^eth0"), "0\n");
  // The bridge itself is the default route; nothing listens there, and being refused is being reached.
  const std::string answer = Output(sandbox,
                                    "gateway=$(ip route | sed -n 's/^default via \\([^ ]*\\).*/\\1/p'); "
                                    "nc -w 3 $gateway 1 </dev/null 2>&1");
  EXPECT_NE(answer.find("refused"), std::string::npos) << answer;
  // All else is as in any sandbox.
  EXPECT_EQ(Output(sandbox, "id -u"), "1000\n");
  osbx_sandbox_free(sandbox);
  EXPECT_EQ(Destroyed(name), OSBX_OK);
}

TEST_F(EgressOnABridge, NoneStaysNoneWhereThereIsABridge) {
  const std::string name = UniqueName("no-egress");
  Spec spec = NewSmallSpec();
  osbx_spec_set_runtime(spec.get(), "runc");
  osbx_sandbox* sandbox = nullptr;
  const Status status = Create(name, spec, &sandbox);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Output(sandbox, "tail -n +3 /proc/net/dev | sed 's/:.*//; s/ //g'"), "lo\n");
  osbx_sandbox_free(sandbox);
  EXPECT_EQ(Destroyed(name), OSBX_OK);
}

// Where this kernel needs gVisor to be registered without network, a sandbox with network cannot be had from it.
TEST_F(EgressOnABridge, ARuntimeWithoutNetworkIsRefused) {
  const std::string arguments = HostOutput("curl -sf --noproxy '*' --unix-socket " + host_.substr(7) +
                                           " http://d/v1.41/info | grep -o 'network=none' | head -n 1");
  const std::string name = UniqueName("runsc-egress");
  osbx_sandbox* sandbox = nullptr;
  const Status status = Create(name, Unrestricted("runsc"), &sandbox);
  osbx_sandbox_free(sandbox);
  if (arguments.empty()) {
    EXPECT_TRUE(status.ok()) << status;
  } else {
    EXPECT_EQ(status.code, OSBX_E_RUNTIME_UNAVAILABLE) << status;
    EXPECT_NE(status.message.find("network"), std::string::npos) << status;
  }
  EXPECT_EQ(Destroyed(name), OSBX_OK);
}

TEST(Egress, AnEngineWithoutABridgeIsRefused) {
  for (const char* runtime : {"runc", "runsc"}) {
    const std::string name = UniqueName("no-bridge");
    Sandbox sandbox;
    const Status status = sandbox.Create(name, Unrestricted(runtime));
    EXPECT_EQ(status.code, OSBX_E_RUNTIME_UNAVAILABLE) << runtime << ": " << status;
    EXPECT_FALSE(Exists(name)) << runtime;
  }
}

}  // namespace
}  // namespace osbx::e2e
