#include <gmock/gmock.h>
#include <stdio.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "unit/contract/files_fixture.h"

namespace osbx::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Whatever is tried here, what lies beside the workspace stays unseen and as it was.
class FilesEscape : public FilesTest {
 protected:
  void TearDown() override {
    EXPECT_EQ(Read(top_ / "secret"), kSecret);
    EXPECT_EQ(Read(top_ / "outside" / "secret"), kSecret);
    int entries = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top_ / "outside")) {
      (void)entry;
      ++entries;
    }
    EXPECT_EQ(entries, 1);
    FilesTest::TearDown();
  }
  void Link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, workspace_ / name);
  }
};

TEST_F(FilesEscape, ByTheSpellingOfThePath) {
  for (const char* path : {"../secret", "%2e%2e/secret", "%2E./secret", "..%2fsecret", "a/../../secret", "/etc/passwd",
                           "%2fetc/passwd", "./%2e%2e%2fsecret", "..", "secret%00"}) {
    for (const char* method : {"GET", "HEAD", "DELETE", "PUT"}) {
      const Seen seen = Ask(method, std::string("/files/") + path);
      EXPECT_EQ(seen.status, 400) << method << " " << path;
      EXPECT_EQ(seen.body.find(kSecret), std::string::npos);
    }
  }
  EXPECT_EQ(Put("%252e%252e", {"x"}).status, 204);
  EXPECT_EQ(ReadBelow("%2e%2e"), "x");
}

TEST_F(FilesEscape, ThroughLinks) {
  std::filesystem::create_directories(workspace_ / "a" / "b");
  Link("../outside", "up");
  Link((top_ / "outside").string(), "absolute");
  Link("up", "chain");
  Link("../../../outside", "a/b/far");
  Link("a/b/../../../outside", "winding");
  Link("a/b/far/../outside", "through");
  Link("..", "parent");
  Link("/", "root");
  Link(workspace_.string(), "self-absolute");
  Link("../workspace", "out-and-in");
  for (const char* link :
       {"up", "absolute", "chain", "a/b/far", "winding", "through", "parent", "root", "self-absolute", "out-and-in"}) {
    const std::string way = link;
    for (const std::string& path : {way, way + "/", way + "/secret", way + "/new/deep"}) {
      const Seen seen = Get(path);
      EXPECT_EQ(seen.status, 403) << path;
      EXPECT_THAT(ErrorOf(seen), HasSubstr("leads out of the workspace")) << path;
    }
    EXPECT_EQ(Ask("HEAD", "/files/" + way + "/secret").status, 403);
    EXPECT_EQ(Put(way + "/new", {"x"}).status, 403) << way;
    EXPECT_EQ(Put(way + "/secret", {"x"}).status, 403) << way;
    EXPECT_EQ(Put(way + "/", {"x"}).status, 403) << way;
    EXPECT_EQ(Delete(way + "/secret").status, 403) << way;
    EXPECT_EQ(Delete(way + "/").status, 409) << way;
  }
}

TEST_F(FilesEscape, ALinkIsReplacedOrRemovedAndNeverItsTarget) {
  Link("../secret", "to-secret");
  EXPECT_EQ(Get("to-secret").status, 403);
  EXPECT_EQ(Put("to-secret", {"mine"}).status, 204);
  EXPECT_TRUE(S_ISREG(ModeOf(workspace_ / "to-secret")));
  EXPECT_EQ(ReadBelow("to-secret"), "mine");
  Link("../outside", "to-outside");
  EXPECT_EQ(Delete("to-outside").status, 204);
  EXPECT_EQ(ModeOf(workspace_ / "to-outside"), 0u);
  std::filesystem::create_directories(workspace_ / "tree" / "sub");
  Link("../../outside", "tree/l1");
  Link("../../../outside", "tree/sub/l2");
  Link((top_ / "secret").string(), "tree/sub/l3");
  EXPECT_EQ(Delete("tree").status, 204);
  EXPECT_EQ(ModeOf(workspace_ / "tree"), 0u);
}

TEST_F(FilesEscape, LinksWithinAreFollowed) {
  std::filesystem::create_directories(workspace_ / "a" / "b" / "c");
  Write(workspace_ / "a" / "f", "f");
  Write(workspace_ / "top", "top");
  Link("../../f", "a/b/c/f");
  Link("../../../top", "a/b/c/top");
  Link("c/../c/./../../b/c/top", "a/b/top");
  Link("a//b/", "d");
  Link("d/c", "e");
  Link("a/b/c/../..", "ends-up");
  Link("new/dir", "later");
  EXPECT_EQ(Get("a/b/c/f").body, "f");
  EXPECT_EQ(Get("a/b/c/top").body, "top");
  EXPECT_EQ(Get("a/b/top").body, "top");
  EXPECT_EQ(Get("d/c/f").body, "f");
  EXPECT_EQ(Get("e/top").body, "top");
  EXPECT_EQ(Get("ends-up").body, Get("a").body);
  EXPECT_EQ(Get("ends-up/f").body, "f");
  EXPECT_EQ(Put("e/put", {"x"}).status, 204);
  EXPECT_EQ(ReadBelow("a/b/c/put"), "x");
  EXPECT_EQ(Delete("e/put").status, 204);
  EXPECT_EQ(Put("later/f", {"made"}).status, 204);
  EXPECT_EQ(ReadBelow("new/dir/f"), "made");
  EXPECT_EQ(Get("top/").status, 409);
  Link("top/", "wants-directory");
  EXPECT_EQ(Get("wants-directory").status, 409);
}

TEST_F(FilesEscape, LoopsAndLongChainsEnd) {
  Link("loop", "loop");
  Link("pong", "ping");
  Link("ping", "pong");
  Link("grow/x", "grow");
  for (const char* path : {"loop", "loop/x", "ping", "pong/x", "grow", "grow/y"}) {
    EXPECT_EQ(Get(path).status, 409) << path;
  }
  EXPECT_EQ(Put("loop/x", {"x"}).status, 409);
  EXPECT_EQ(Put("loop", {"x"}).status, 204);
  EXPECT_EQ(ReadBelow("loop"), "x");
  Write(workspace_ / "0", "end");
  for (int i = 1; i <= 41; ++i) Link(std::to_string(i - 1), std::to_string(i));
  EXPECT_EQ(Get("40").body, "end");
  EXPECT_EQ(Get("41").status, 409);
}

TEST_F(FilesEscape, LinksFullOfDotsCannotKeepAThreadBusy) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "d/";
  EXPECT_EQ(Put(deep + "f", {"x"}).status, 204);
  EXPECT_EQ(Get(deep + "f").body, "x");
  // Each "..", walked down to from above, would cost a thousand directories; twelve of these are the bound.
  std::string target = "f";
  for (int i = 0; i < 800; ++i) target = "d/../" + target;
  std::string middle;
  for (int i = 0; i < 500; ++i) middle += "d/";
  const int fd = open(workspace_.c_str(), O_PATH | O_CLOEXEC);
  ASSERT_EQ(symlinkat(target.c_str(), fd, (middle + "slow").c_str()), 0);
  close(fd);
  EXPECT_EQ(Get(middle + "slow").status, 409);
}

TEST_F(FilesEscape, ADeepPathTakesNoMoreDescriptors) {
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "d/";
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  Get("");
  rlimit few = old;
  few.rlim_cur = static_cast<rlim_t>(CountDescriptors() + 40);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(Put(deep + "f", {"x"}).status, 204);
  EXPECT_EQ(Get(deep + "f").body, "x");
  EXPECT_EQ(Delete("d").status, 204);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
}

// A thread that swaps a directory for a link that leads out, all the time.
TEST_F(FilesEscape, NotByAnExchangeDuringTheWalk) {
  const std::string inside = "inside";
  std::filesystem::create_directories(workspace_ / "a" / "d");
  Write(workspace_ / "a" / "d" / "secret", inside);
  Link("../../outside", "a/link");
  Link("a/d", "way");
  std::atomic<bool> stop{false};
  std::atomic<int> exchanges{0};
  std::promise<void> begun;
  std::thread racer([&] {
    while (!stop) {
      const std::string d = (workspace_ / "a" / "d").string();
      const std::string link = (workspace_ / "a" / "link").string();
      if (renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) != 0) continue;
      if (++exchanges == 1) begun.set_value();
    }
  });
  begun.get_future().wait();
  int seen_inside = 0;
  int refused = 0;
  for (int i = 0; (i < 500 || seen_inside == 0 || refused == 0) && i < 100'000; ++i) {
    const Seen seen = Get(i % 2 == 0 ? "a/d/secret" : "way/secret");
    EXPECT_TRUE(seen.status == 200 || seen.status == 403 || seen.status == 404 || seen.status == 409) << seen.status;
    if (seen.status == 200) {
      EXPECT_EQ(seen.body, inside);
    }
    seen_inside += seen.status == 200 ? 1 : 0;
    refused += seen.status == 403 ? 1 : 0;
    const Seen listing = Get("a/d");
    if (listing.status == 200) {
      EXPECT_THAT(listing.body, HasSubstr("\"size\":6,"));
    }
    EXPECT_NE(Put("a/d/secret", {inside}).status, 0);
    if (i % 10 == 0) {
      EXPECT_NE(Delete("a/d/gone").status, 204);
    }
  }
  EXPECT_GT(seen_inside, 0);
  EXPECT_GT(refused, 0);
  // And removals while it is swapped. Whether one succeeds is the race's; what is outside is checked at the end.
  for (int i = 0; i < 200; ++i) {
    std::error_code ignored;
    std::filesystem::create_directories(workspace_ / "a" / "d", ignored);
    Put("a/d/secret", {inside});
    std::filesystem::create_symlink("../../outside", workspace_ / "a" / "link", ignored);
    EXPECT_NE(Delete(i % 3 == 0 ? "a" : i % 3 == 1 ? "a/d" : "a/link").status, 0);
  }
  stop = true;
  racer.join();
}

}  // namespace
}  // namespace osbx::testing
