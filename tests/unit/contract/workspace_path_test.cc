#include "contract/workspace_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/workspace_path_properties.h"

namespace osbx::contract {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const std::string& target) {
  const auto path = ParseWorkspacePath(target);
  return path.ok() ? path->names : std::vector<std::string>{"(" + std::string(path.status().message()) + ")"};
}

int StatusOf(const std::string& target) {
  const auto path = ParseWorkspacePath(target);
  return path.ok() ? 0 : base::HttpStatusOf(path.status());
}

TEST(WorkspacePath, OfTheWorkspaceItself) {
  for (const char* target : {"/files", "/files/", "/files/.", "/files/./", "/files/.//.", "/files/%2e", "/files?a=b",
                             "/files/?/etc/passwd"}) {
    EXPECT_THAT(NamesOf(target), IsEmpty()) << target;
  }
}

TEST(WorkspacePath, SplitsAndCollapses) {
  EXPECT_THAT(NamesOf("/files/a/b"), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf("/files/a//./b"), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf("/files/./a"), ElementsAre("a"));
  EXPECT_THAT(NamesOf("/files/a%2Fb"), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf("/files/a?b/../c"), ElementsAre("a"));
  EXPECT_THAT(NamesOf("/files/a%3Fb"), ElementsAre("a?b"));
}

TEST(WorkspacePath, DecodesOnce) {
  EXPECT_THAT(NamesOf("/files/a+b%20c"), ElementsAre("a+b c"));
  EXPECT_THAT(NamesOf("/files/%252e%252e"), ElementsAre("%2e%2e"));
  EXPECT_THAT(NamesOf("/files/%25"), ElementsAre("%"));
  EXPECT_THAT(NamesOf("/files/%e2%82%AC%ff"), ElementsAre("\xe2\x82\xac\xff"));
}

TEST(WorkspacePath, DotsThatAreNames) {
  EXPECT_THAT(NamesOf("/files/.../..a/a../.b/. ./.%0a"), ElementsAre("...", "..a", "a..", ".b", ". .", ".\n"));
}

TEST(WorkspacePath, RefusesEverySpellingOfTheWayUp) {
  for (const char* target :
       {"/files/..", "/files/../", "/files/../etc/passwd", "/files/a/../b", "/files/a/..", "/files/%2e%2e",
        "/files/%2E%2e/x", "/files/%2E.", "/files/.%2e", "/files/..%2f", "/files/..%2Fetc", "/files/a%2f..%2fb",
        "/files/a/%2e%2e", "/files/./..", "/files/a//..//b", "/files/%2e%2e%2f%2e%2e%2fetc"}) {
    EXPECT_EQ(StatusOf(target), 400) << target;
  }
}

TEST(WorkspacePath, RefusesAbsolutePathsAndNul) {
  for (const char* target : {"/files//etc/passwd", "/files/%2fetc", "/files/%2Fetc/passwd", "/files//", "/files/%00",
                             "/files/a%00b", "/files/a/%00"}) {
    EXPECT_EQ(StatusOf(target), 400) << target;
  }
}

TEST(WorkspacePath, RefusesBrokenEscapes) {
  for (const char* target : {"/files/%", "/files/a%2", "/files/%g0", "/files/%0g", "/files/%%41", "/files/% 1"}) {
    EXPECT_EQ(StatusOf(target), 400) << target;
  }
}

TEST(WorkspacePath, BoundsNamesAndTheWhole) {
  const std::string name(255, 'n');
  EXPECT_THAT(NamesOf("/files/" + name), ElementsAre(name));
  EXPECT_EQ(StatusOf("/files/" + name + "n"), 400);
  std::string encoded;
  for (int i = 0; i < 255; ++i) encoded += "%6e";
  EXPECT_THAT(NamesOf("/files/" + encoded), ElementsAre(name));

  std::string whole;
  for (int i = 0; i < 2048; ++i) whole += "a/";
  EXPECT_EQ(NamesOf("/files/" + whole).size(), 2048u);
  EXPECT_EQ(StatusOf("/files/" + whole + "a"), 400);
  EXPECT_EQ(StatusOf("/files/" + std::string(1 << 20, '/')), 400);
}

TEST(WorkspacePath, OtherRoutes) {
  for (const char* target : {"", "/", "/file", "/filesx", "/files2/a", "/healthz", "files/a", "/FILES/a", "*"}) {
    EXPECT_EQ(StatusOf(target), 404) << target;
  }
}

TEST(WorkspacePath, ATrailingSlashAsksForADirectory) {
  EXPECT_FALSE(ParseWorkspacePath("/files/a")->wants_directory);
  for (const char* target : {"/files/a/", "/files/a//", "/files/a/.", "/files/a/./", "/files/a%2f"}) {
    EXPECT_TRUE(ParseWorkspacePath(target)->wants_directory) << target;
  }
}

TEST(WorkspacePathCorpus, EveryPropertyHoldsForEveryFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(OSBX_SOURCE_DIR "/fuzz/corpus/workspace_path")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string text(bytes.begin(), bytes.end());
    EXPECT_EQ(osbx::testing::WorkspacePathViolation(text), "") << entry.path();
    EXPECT_EQ(osbx::testing::WorkspacePathViolation("/files/" + text), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 20);
}

TEST(PercentDecode, TakesWhatPercentEncodeGives) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  EXPECT_EQ(base::PercentDecode(base::PercentEncode(every)), every);
  EXPECT_EQ(base::PercentDecode("+%2b"), "++");
  EXPECT_EQ(base::PercentDecode("%2"), std::nullopt);
}

}  // namespace
}  // namespace osbx::contract
