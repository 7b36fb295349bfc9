// The conformance suite of docs/contract.md: see README.md beside this file.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <string_view>

#include "case_helper.h"
#include "contract_case.h"

namespace {

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace osbx::conformance;
  if (argc > 2 && std::string_view(argv[1]) == "--helper") return RunHelper(argc - 2, argv + 2);
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  RaiseDescriptorLimit();
  if (const auto problem = ConnectShared()) {
    fprintf(stderr, "conformance: %s\n", problem->c_str());
    return 2;
  }
  int result = RUN_ALL_TESTS();
  ListSentences();
  if (!EverySkipHasAReason()) result = 1;
  StopShared();
  return result;
}
