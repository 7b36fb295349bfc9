#include "core/guest_operations.h"

#include <gtest/gtest.h>

#include <string>

namespace osbx::core {
namespace {

TEST(FilePath, AbsoluteUtf8ThatNamesAFile) {
  for (const std::string& good :
       {std::string("/a"), std::string("/workspace/a b"), std::string("/tmp/..a"), std::string("/tmp/..."),
        std::string("/a/../b"), std::string("//a"), std::string("/a\nb"), std::string("/\xF0\x9F\x90\xB3"),
        "/" + std::string(4094, 'p')}) {
    EXPECT_TRUE(ValidateFilePath(good).ok()) << good;
  }
}

TEST(FilePath, AnythingElseIsInvalid) {
  for (const std::string& bad :
       {std::string(), std::string("a"), std::string("./a"), std::string("/"), std::string("//"), std::string("/a/"),
        std::string("/."), std::string("/.."), std::string("/a/."), std::string("/a/.."), std::string("/a\0", 3),
        std::string("/\xff"), "/" + std::string(4095, 'p')}) {
    EXPECT_EQ(base::CodeOf(ValidateFilePath(bad)), base::Code::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace osbx::core
