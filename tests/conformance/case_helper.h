// What the cases' commands do, as modes of this very program: conformance --helper MODE [ARGUMENT]...
#ifndef OSBX_TESTS_CONFORMANCE_CASE_HELPER_H_
#define OSBX_TESTS_CONFORMANCE_CASE_HELPER_H_

namespace osbx::conformance {

// The exit code. The modes stand in case_helper.cc.
int RunHelper(int count, char** arguments);

}  // namespace osbx::conformance

#endif  // OSBX_TESTS_CONFORMANCE_CASE_HELPER_H_
