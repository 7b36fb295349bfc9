#include "docker/image_user.h"

#include <gtest/gtest.h>

namespace osbx::docker {
namespace {

constexpr char kPasswd[] =
    "root:x:0:0:root:/root:/bin/sh\n"
    "broken\n"
    "app:x:notanumber:1:::\n"
    "app:x:1234:4321::/home:/bin/sh\n"
    "app:x:99:99:::\n"
    "toor:x:0:5:::\n"
    "wheelie:x:5:0:::\n"
    "big:x:4294967296:1:::\n"
    "last:x:7:8";
constexpr char kGroup[] = "root:x:0:\nstaff:x:50:app\nbad:x::\n";

TEST(ResolveUser, TheFirstWellFormedLineCounts) {
  auto user = ResolveUser("app", kPasswd, kGroup);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(user->uid, 1234);
  EXPECT_EQ(user->gid, 4321);
}

TEST(ResolveUser, GroupsByNameAndNumber) {
  EXPECT_EQ(ResolveUser("app:staff", kPasswd, kGroup)->gid, 50);
  EXPECT_EQ(ResolveUser("app:77", kPasswd, kGroup)->gid, 77);
  EXPECT_EQ(ResolveUser("1000:staff", kPasswd, kGroup)->uid, 1000);
  EXPECT_EQ(ResolveUser("last", kPasswd, kGroup)->gid, 8);
}

TEST(ResolveUser, RootByAnyWayAndTheAbsentAreRefused) {
  for (const char* user : {"root", "toor", "wheelie", "app:root", "app:0", "nobody", "app:nogroup", "app:bad", "big",
                           "", "app:", ":staff"}) {
    EXPECT_EQ(base::CodeOf(ResolveUser(user, kPasswd, kGroup).status()), base::Code::kInvalid) << user;
  }
  EXPECT_FALSE(ResolveUser("app", "", "").ok());
}

std::string TarOf(const std::string& content, char type) {
  std::string header(512, '\0');
  header.replace(0, 6, "passwd");
  char size[13];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  header.replace(124, 11, size, 11);
  header[156] = type;
  std::string body = content;
  body.resize((content.size() + 511) / 512 * 512, '\0');
  return header + body;
}

TEST(SingleFileTar, GivesTheFile) {
  const std::string end(1024, '\0');
  EXPECT_EQ(*ReadSingleFileTar(TarOf("hello", '0') + end), "hello");
  EXPECT_EQ(*ReadSingleFileTar(TarOf("hello", '\0') + end), "hello");
  EXPECT_EQ(*ReadSingleFileTar(TarOf("", '0') + end), "");
  EXPECT_EQ(*ReadSingleFileTar(TarOf("20 mtime=1234567890\n", 'x') + TarOf("hello", '0') + end), "hello");
}

TEST(SingleFileTar, RefusesLinksFoldersAndLies) {
  const std::string good = TarOf("hello", '0');
  for (char type : {'1', '2', '3', '4', '5', '6'}) {
    EXPECT_FALSE(ReadSingleFileTar(TarOf("", type)).ok()) << type;
  }
  for (size_t size = 0; size < 512 + 5; ++size) EXPECT_FALSE(ReadSingleFileTar(good.substr(0, size)).ok()) << size;
  std::string large = good;
  large.replace(124, 11, "77777777777");
  EXPECT_FALSE(ReadSingleFileTar(large).ok());
  std::string junk = good;
  junk.replace(124, 11, "xxxxxxxxxxx");
  EXPECT_FALSE(ReadSingleFileTar(junk).ok());
  EXPECT_FALSE(ReadSingleFileTar(std::string(10240, '\0')).ok());
}

}  // namespace
}  // namespace osbx::docker
