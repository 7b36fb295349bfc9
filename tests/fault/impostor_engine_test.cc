// A runtime entry whose name promises gVisor and that is none: refused, and nothing stays.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fault/engine_api.h"
#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

void ExpectRefused(const std::string& host, const char* runtime) {
  const LeakCheck leaks;
  {
    const Backend backend = NewBackend(host);
    const Spec spec = NewSpec();
    osbx_spec_set_runtime(spec.get(), runtime);
    const std::string name = UniqueName("impostor");
    for (int i = 0; i < 2; ++i) {  // a verdict that is remembered must be the right one
      Sandbox sandbox;
      const Status status = Create(backend.get(), name, &sandbox, nullptr, spec.get());
      EXPECT_EQ(status.code, OSBX_E_RUNTIME_UNAVAILABLE) << status;
      Figure("%s that is runc: %s after %lld ms: %s", runtime, osbx_status_name(status.code),
             static_cast<long long>(status.ms), status.message.c_str());
      EXPECT_EQ(Open(backend.get(), name, &sandbox).code, OSBX_E_NOT_FOUND);
    }
  }
  leaks.ExpectNoLeak();
}

TEST(ImpostorEngine, RuntimeNamedRunscThatIsRuncIsRefusedAndLeavesNothing) {
  const DisposableEngine engine("fault-impostor", "--runsc-is-runc");
  ExpectRefused(engine.host(), "runsc");
  EXPECT_EQ(CountContainers(engine.socket(), "osbx-"), 0);
}

TEST(ImpostorEngine, RuntimeWhoseNameBeginsSoIsRefusedToo) { ExpectRefused(EngineHost(), "runsc-impostor"); }

}  // namespace
}  // namespace osbx::testing
