// The guest scripts in the shells that are at hand here: dash, bash and busybox, with their own tools.
#include "docker/guest_scripts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace osbx::docker {
namespace {

struct Ended {
  int exit_code = -1;
  std::string err;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

int ModeOf(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 07777) : -1;
}

// Every shell with what stands in front of it; one that is missing here is left out, dash and bash never are.
std::vector<std::vector<std::string>> Shells() {
  std::vector<std::vector<std::string>> shells = {{"/bin/dash"}, {"/bin/bash"}};
  if (::access("/bin/busybox", X_OK) == 0) shells.push_back({"/bin/busybox", "sh"});
  return shells;
}

class GuestScripts : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/osbx-scripts-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf " + folder_).c_str()), 0); }

  Ended Run(const char* script, const std::vector<std::string>& arguments, const std::string& input) {
    WriteFile(folder_ + "/.in", input);
    std::vector<std::string> argv = GetParam();
    argv.insert(argv.end(), {"-c", script, "sh"});
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<char*> pointers;
      for (std::string& argument : argv) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      int in = ::open((folder_ + "/.in").c_str(), O_RDONLY);
      int out = ::open((folder_ + "/.out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      int err = ::open((folder_ + "/.err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(in, 0);
      ::dup2(out, 1);
      ::dup2(err, 2);
      ::execv(pointers[0], pointers.data());
      ::_exit(99);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(folder_ + "/.err")};
  }

  // Names in the folder that a put must not leave.
  int Temporaries() { return std::system(("ls -A " + folder_ + " | grep -q osbx-put").c_str()) == 0 ? 1 : 0; }

  static std::string Commit(size_t size) {
    std::string digits = std::to_string(size);
    return kToken + std::string(20 - digits.size(), '0') + digits;
  }

  static const std::string kToken;
  std::string folder_;
};
const std::string GuestScripts::kToken = "0123456789abcdef0123456789abcdef";

TEST_P(GuestScripts, PutsAFileOfKnownSize) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{1048576}, size_t{1048577}, size_t{3000000}}) {
    std::string content(size, 'x');
    if (size > 0) content.back() = '\n';
    Ended ended = Run(kPutFileScript, {folder_ + "/f", kToken, "", "022", std::to_string(size)}, content);
    ASSERT_EQ(ended.exit_code, 0) << size << ended.err;
    EXPECT_EQ(ReadFile(folder_ + "/f"), content);
    EXPECT_EQ(ModeOf(folder_ + "/f"), 0644);
    EXPECT_EQ(Temporaries(), 0);
  }
}

TEST_P(GuestScripts, PutsAStreamWithItsCommitRecord) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{51}, size_t{65536}, size_t{2000001}}) {
    const std::string content(size, '\0');
    Ended ended = Run(kPutFileScript, {folder_ + "/f", kToken, "", "077", ""}, content + Commit(size));
    ASSERT_EQ(ended.exit_code, 0) << size << ended.err;
    EXPECT_EQ(ReadFile(folder_ + "/f"), content);
    EXPECT_EQ(ModeOf(folder_ + "/f"), 0600);
  }
}

TEST_P(GuestScripts, WhatDoesNotArriveWholeLeavesTheOldFile) {
  WriteFile(folder_ + "/f", "old");
  const std::string content(100, 'c');
  const std::vector<std::string> stream = {folder_ + "/f", kToken, "", "022", ""};
  const std::vector<std::string> inputs = {"",
                                           content,
                                           content + Commit(99),
                                           content + Commit(101),
                                           content + Commit(100).substr(0, 51),
                                           content + Commit(100) + "x",
                                           content + "f" + Commit(100).substr(1)};
  for (const std::string& input : inputs) {
    EXPECT_EQ(Run(kPutFileScript, stream, input).exit_code, kFileIncomplete) << input;
    EXPECT_EQ(ReadFile(folder_ + "/f"), "old");
    EXPECT_EQ(Temporaries(), 0);
  }
  for (size_t size : {size_t{101}, size_t{1048576}, size_t{2000000}}) {
    EXPECT_EQ(Run(kPutFileScript, {folder_ + "/f", kToken, "", "022", std::to_string(size)}, content).exit_code,
              kFileIncomplete);
    EXPECT_EQ(ReadFile(folder_ + "/f"), "old");
    EXPECT_EQ(Temporaries(), 0);
  }
}

TEST_P(GuestScripts, ModesAreSetOrKept) {
  auto put = [this](const char* mode, const char* mask) {
    Ended ended = Run(kPutFileScript, {folder_ + "/f", kToken, mode, mask, "1"}, "x");
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ModeOf(folder_ + "/f");
  };
  EXPECT_EQ(put("keep", "022"), 0644);
  EXPECT_EQ(put("755", "077"), 0755);
  EXPECT_EQ(put("keep", "022"), 0755);
  EXPECT_EQ(put("", "066"), 0600);
  EXPECT_EQ(put("keep", "022"), 0600);
}

TEST_P(GuestScripts, ParentsAreMadeAndLinksReplaced) {
  EXPECT_EQ(Run(kPutFileScript, {folder_ + "/a b/-c/f", kToken, "", "077", "1"}, "x").exit_code, 0);
  EXPECT_EQ(ReadFile(folder_ + "/a b/-c/f"), "x");
  EXPECT_EQ(ModeOf(folder_ + "/a b"), 0755);
  WriteFile(folder_ + "/target", "kept");
  ASSERT_EQ(::symlink("target", (folder_ + "/link").c_str()), 0);
  ASSERT_EQ(::symlink("a b", (folder_ + "/dirlink").c_str()), 0);
  for (const char* name : {"/link", "/dirlink"}) {
    Ended ended = Run(kPutFileScript, {folder_ + name, kToken, "keep", "022", "1"}, "y");
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ReadFile(folder_ + name), "y");
  }
  EXPECT_EQ(ReadFile(folder_ + "/target"), "kept");
  EXPECT_EQ(Run(kPutFileScript, {folder_ + "/a b", kToken, "", "022", "1"}, "y").exit_code, kFileIsDirectory);
}

TEST_P(GuestScripts, GetTellsWhatIsNoFile) {
  WriteFile(folder_ + "/f", std::string("a\0b\n", 4));
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("nowhere", (folder_ + "/dangling").c_str()), 0);
  ASSERT_EQ(::symlink("f", (folder_ + "/link").c_str()), 0);
  EXPECT_EQ(Run(kGetFileScript, {folder_ + "/f"}, "").exit_code, 0);
  EXPECT_EQ(ReadFile(folder_ + "/.out"), std::string("a\0b\n", 4));
  EXPECT_EQ(Run(kGetFileScript, {folder_ + "/link"}, "").exit_code, 0);
  EXPECT_EQ(Run(kGetFileScript, {folder_}, "").exit_code, kFileIsDirectory);
  EXPECT_EQ(Run(kGetFileScript, {folder_ + "/fifo"}, "").exit_code, kFileNotRegular);
  for (const char* name : {"/nope", "/dangling", "/f/below"}) {
    Ended ended = Run(kGetFileScript, {folder_ + name}, "");
    EXPECT_NE(ended.exit_code, 0) << name;
    EXPECT_NE(ended.err, "") << name;
    EXPECT_EQ(ReadFile(folder_ + "/.out"), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, GuestScripts, testing::ValuesIn(Shells()), [](const auto& shell) {
  const std::string& path = shell.param[0];
  return path.substr(path.rfind('/') + 1);
});

// The page that tells people what an image needs lists what process 1 looks for, besides the shell itself.
TEST(GuestScriptsPage, NamesEveryProgram) {
  const std::string script = kInitScript;
  const std::string loop = "for program in ";
  const size_t begin = script.find(loop) + loop.size();
  std::istringstream looked_for(script.substr(begin, script.find(';', begin) - begin));
  std::set<std::string> wanted = {"sh"};
  for (std::string program; looked_for >> program;) wanted.insert(program);

  std::set<std::string> documented;
  std::istringstream page(ReadFile(std::string(OSBX_SOURCE_DIR) + "/docs/images.md"));
  for (std::string line; std::getline(page, line) && line.rfind("## ", 0) != 0;) {
    if (line.rfind("| `", 0) == 0) documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(documented, wanted);
}

}  // namespace
}  // namespace osbx::docker
