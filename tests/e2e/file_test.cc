// Files put into a sandbox and got out of it: whole or not at all, and the exact reason when not.
#include <algorithm>
#include <atomic>
#include <thread>

#include "e2e/sandbox_fixture.h"

namespace osbx::e2e {
namespace {

using std::chrono::seconds;

class FileSmoke : public SharedSandboxTest {};
class File : public SharedSandboxTest {};

// A sandbox whose disk is small enough to be filled.
class FullDisk : public testing::Test {
 protected:
  FullDisk() : sandbox_("full-disk", MakeSpec()) {}
  static Spec MakeSpec() {
    Spec spec = NewSmallSpec();
    osbx_spec_set_disk_bytes(spec.get(), int64_t{8} << 20);  // 6 MiB of it for /workspace
    return spec;
  }
  Sandbox sandbox_;
};

std::string Numbered(size_t size, char seed) {
  std::string text(size, seed);
  for (size_t i = 0; i < size; i += 251) text[i] = static_cast<char>(i / 251);
  return text;
}

// Content that is made while it is read, with a step at each piece.
struct Source {
  uint64_t size = 0;
  uint64_t sent = 0;
  int64_t end = 0;  // what the last call returns: 0, or a negative number
  std::function<void()> at_each_piece = [] {};
  int destroyed = 0;

  Status Put(const Sandbox& sandbox, const std::string& path, osbx_cancel* cancel = nullptr) {
    osbx_error* error = nullptr;
    return TakeStatus(osbx_file_put_stream(
                          sandbox.handle(), path.c_str(), 0,
                          [](void* self, uint8_t* buffer, size_t capacity) -> int64_t {
                            auto* source = static_cast<Source*>(self);
                            source->at_each_piece();
                            const uint64_t count = std::min<uint64_t>(capacity, source->size - source->sent);
                            if (count == 0) return source->end;
                            std::fill_n(buffer, count, uint8_t{'s'});
                            source->sent += count;
                            return static_cast<int64_t>(count);
                          },
                          this, [](void* self) { ++static_cast<Source*>(self)->destroyed; }, 0, cancel, &error),
                      &error);
  }
};

// Nothing but `names` is left in /workspace, soon: a put that was given up cleans up behind itself.
testing::AssertionResult OnlyThere(const Sandbox& sandbox, const std::string& names) {
  std::string listed;
  const bool right = Eventually([&] {
    listed = sandbox.Output("ls -A /workspace | tr '\\n' ' '");
    return listed == names;
  });
  if (right) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "in /workspace: " << listed;
}

TEST_F(FileSmoke, WhatWasPutIsThereAndComesBack) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, size_t{3} << 20}) {
    const std::string content = Numbered(size, 'a');
    const Status put = box().Put("/workspace/file", content);
    ASSERT_TRUE(put.ok()) << put;
    EXPECT_EQ(box().Output("wc -c </workspace/file"), std::to_string(size) + "\n");
    EXPECT_TRUE(box().Content("/workspace/file") == content) << size;
  }
  EXPECT_TRUE(box().Put("/tmp/other", "x").ok());
  EXPECT_EQ(box().Content("/tmp/other"), "x");
  EXPECT_EQ(box().Output("printf guest >/workspace/made; id -u"), "1000\n");
  EXPECT_EQ(box().Content("/workspace/made"), "guest");
}

TEST_F(FileSmoke, MissingFoldersAreMade) {
  ASSERT_TRUE(box().Put("/workspace/a/b c/d/file", "x").ok());
  EXPECT_EQ(box().Output("stat -c '%a %u:%g' /workspace/a '/workspace/a/b c' /workspace/a/b\\ c/d/file"),
            "755 1000:1000\n755 1000:1000\n644 1000:1000\n");
}

TEST_F(FileSmoke, GetTellsWhatIsNoFile) {
  box().Output(
      "cd /workspace && mkdir -p folder && rm -f fifo secret && mkfifo fifo && echo x >secret && chmod 0 secret");
  std::string content;
  EXPECT_EQ(box().Get("/workspace/missing", &content).code, OSBX_E_NOT_FOUND);
  EXPECT_EQ(box().Get("/workspace/missing/file", &content).code, OSBX_E_NOT_FOUND);
  EXPECT_EQ(box().Get("/workspace/secret", &content).code, OSBX_E_PERMISSION);
  for (const char* path : {"/workspace/folder", "/workspace", "/", "/workspace/fifo", "/dev/zero", "/dev/null"}) {
    EXPECT_EQ(box().Get(path, &content).code, OSBX_E_INVALID) << path;
  }
}

TEST_F(File, ModesAreAppliedAndKept) {
  const auto mode = [](const char* path) { return box().Output(std::string("stat -c %a ") + path); };
  ASSERT_TRUE(box().Put("/workspace/mode", "x").ok());
  EXPECT_EQ(mode("/workspace/mode"), "644\n");
  for (const auto& [wanted, text] : std::vector<std::pair<uint32_t, std::string>>{
           {0600, "600\n"}, {0755, "755\n"}, {0640, "640\n"}, {0444, "444\n"}, {0777, "777\n"}, {0111, "111\n"}}) {
    const Status put = box().Put("/workspace/mode", "y", wanted);
    ASSERT_TRUE(put.ok()) << text << put;
    EXPECT_EQ(mode("/workspace/mode"), text);
  }
  // 0 keeps the old file's, but never a set-user-id bit.
  box().Output("chmod 4750 /workspace/mode");
  ASSERT_TRUE(box().Put("/workspace/mode", "z").ok());
  EXPECT_EQ(mode("/workspace/mode"), "750\n");
  for (uint32_t bad : {uint32_t{01000}, uint32_t{04755}, uint32_t{0xffffffff}}) {
    EXPECT_EQ(box().Put("/workspace/mode", "no", bad).code, OSBX_E_INVALID) << bad;
  }
  EXPECT_EQ(box().Content("/workspace/mode"), "z");
}

TEST_F(File, NamesAreTakenAsTheyAre) {
  const std::vector<std::string> names = {
      "a b",  "-rf", "--help", "new\nline", "quote'\"`$x", "*",          "back\\slash", "%41",
      ".dot", "...", "..a",    "a;b",       "caf\u00e9",   "cafe\u0301", "\U0001F600",  std::string(255, 'n')};
  box().Output("mkdir -p /workspace/names");
  for (const std::string& name : names) {
    const Status put = box().Put("/workspace/names/" + name, name);
    EXPECT_TRUE(put.ok()) << name << ": " << put;
  }
  EXPECT_EQ(box().Output("cd /workspace/names && set -- * .[!.]* ..?*; echo $#"), std::to_string(names.size()) + "\n");
  for (const std::string& name : names) EXPECT_EQ(box().Content("/workspace/names/" + name), name);
  EXPECT_EQ(box().Put("/workspace/" + std::string(256, 'n'), "x").code, OSBX_E_INVALID);
  for (const char* path : {"relative", "", "/workspace/\xff"}) {
    EXPECT_EQ(box().Put(path, "x").code, OSBX_E_INVALID) << path;
  }
}

TEST_F(File, PutRefusesWhatCannotBeAFile) {
  box().Output(
      "mkdir -p /workspace/dir; echo f >/workspace/plain; mkdir -p /workspace/closed; chmod 555 /workspace/closed");
  EXPECT_EQ(box().Put("/workspace/dir", "x").code, OSBX_E_INVALID);
  EXPECT_EQ(box().Put("/workspace/plain/below", "x").code, OSBX_E_INVALID);
  EXPECT_EQ(box().Put("/workspace/closed/file", "x").code, OSBX_E_PERMISSION);
  for (const char* path : {"/etc/file", "/new", "/bin/sh", "/new/folder/file"}) {
    EXPECT_EQ(box().Put(path, "x").code, OSBX_E_PERMISSION) << path;
  }
  EXPECT_EQ(box().Content("/workspace/plain"), "f\n");
}

TEST_F(File, ALinkIsReplacedByPutAndFollowedByGet) {
  box().Output(
      "cd /workspace && echo target >target && mkdir -p linked && ln -sf target link && ln -sfn linked todir && "
      "ln -sf /workspace/loop loop && ln -sf /nowhere dangling");
  EXPECT_EQ(box().Content("/workspace/link"), "target\n");
  for (const char* name : {"link", "todir", "loop", "dangling"}) {
    const Status put = box().Put(std::string("/workspace/") + name, "new");
    EXPECT_TRUE(put.ok()) << name << ": " << put;
    EXPECT_TRUE(box().Shell(std::string("test -f /workspace/") + name + " && test ! -L /workspace/" + name).Exited(0))
        << name;
    EXPECT_EQ(box().Content(std::string("/workspace/") + name), "new");
  }
  EXPECT_EQ(box().Content("/workspace/target"), "target\n");
  EXPECT_EQ(box().Output("ls -A /workspace/linked"), "");
  // What stands in the place of a file and is no folder gives way too, without being opened.
  box().Output("rm -f /workspace/pipe; mkfifo /workspace/pipe");
  EXPECT_TRUE(box().Put("/workspace/pipe", "file").ok());
  EXPECT_EQ(box().Content("/workspace/pipe"), "file");
}

TEST_F(File, GetTakesNoMoreThanAllowed) {
  ASSERT_TRUE(box().Put("/workspace/sized", std::string(1000, 'x')).ok());
  std::string content;
  EXPECT_TRUE(box().Get("/workspace/sized", &content, 1000).ok());
  EXPECT_EQ(content.size(), 1000u);
  EXPECT_EQ(box().Get("/workspace/sized", &content, 999).code, OSBX_E_TOO_LARGE);
  EXPECT_EQ(box().Get("/workspace/sized", &content, 0).code, OSBX_E_TOO_LARGE);
  ASSERT_TRUE(box().Put("/workspace/empty", "").ok());
  EXPECT_TRUE(box().Get("/workspace/empty", &content, 0).ok());
  // Files whose size the kernel does not tell are read, not guessed.
  EXPECT_NE(box().Content("/proc/self/status"), "");
}

TEST_F(File, StreamsBothWays) {
  constexpr uint64_t kSize = uint64_t{64} << 20;
  Source source;
  source.size = kSize;
  const Status put = source.Put(box(), "/workspace/large");
  ASSERT_TRUE(put.ok()) << put;
  EXPECT_EQ(source.destroyed, 1);
  EXPECT_EQ(box().Output("wc -c </workspace/large"), std::to_string(kSize) + "\n");
  struct Sink {
    uint64_t bytes = 0, stop_at = 0;
    bool right = true;
    int destroyed = 0;
  };
  const auto get = [](Sink& sink) {
    osbx_error* error = nullptr;
    return TakeStatus(osbx_file_get_stream(
                          box().handle(), "/workspace/large",
                          [](void* self, uint32_t stream, const uint8_t* data, size_t size) -> int32_t {
                            auto* taken = static_cast<Sink*>(self);
                            taken->bytes += size;
                            taken->right =
                                taken->right && stream == OSBX_STDOUT && data[0] == 's' && data[size - 1] == 's';
                            return taken->stop_at != 0 && taken->bytes >= taken->stop_at ? 1 : 0;
                          },
                          &sink, [](void* self) { ++static_cast<Sink*>(self)->destroyed; }, 0, nullptr, &error),
                      &error);
  };
  Sink all;
  EXPECT_TRUE(get(all).ok());
  EXPECT_EQ(all.bytes, kSize);
  EXPECT_TRUE(all.right);
  EXPECT_EQ(all.destroyed, 1);
  Sink some;
  some.stop_at = 1000;
  EXPECT_EQ(get(some).code, OSBX_E_CALLBACK);
  EXPECT_LT(some.bytes, kSize);
  EXPECT_EQ(some.destroyed, 1);
  box().Output("rm /workspace/large");
}

TEST(FileAtomic, ASourceThatFailsLeavesTheOldFile) {
  const Sandbox sandbox("failing-source", NewSmallSpec());
  ASSERT_TRUE(sandbox.Put("/workspace/a", "old").ok());
  for (const uint64_t sent : {0, 1000, 3 << 20}) {
    Source source;
    source.size = sent;
    source.end = -1;
    EXPECT_EQ(source.Put(sandbox, "/workspace/a").code, OSBX_E_CALLBACK) << sent;
    EXPECT_EQ(source.destroyed, 1);
    EXPECT_EQ(sandbox.Content("/workspace/a"), "old");
    EXPECT_TRUE(OnlyThere(sandbox, "a "));
  }
}

TEST(FileAtomic, ACancelLeavesTheOldFile) {
  const Sandbox sandbox("cancelled-put", NewSmallSpec());
  ASSERT_TRUE(sandbox.Put("/workspace/a", "old").ok());
  CancelToken cancel(osbx_cancel_new());
  Source source;
  source.size = uint64_t{1} << 40;
  source.at_each_piece = [&] {
    if (source.sent > (2 << 20)) osbx_cancel_fire(cancel.get());
  };
  EXPECT_EQ(source.Put(sandbox, "/workspace/a", cancel.get()).code, OSBX_E_CANCELED);
  CancelToken late(osbx_cancel_new());
  osbx_cancel_set_timeout_ms(late.get(), 1500);
  Source slow;
  slow.size = uint64_t{1} << 40;
  slow.at_each_piece = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  EXPECT_EQ(slow.Put(sandbox, "/workspace/a", late.get()).code, OSBX_E_TIMEOUT);
  EXPECT_EQ(sandbox.Content("/workspace/a"), "old");
  EXPECT_TRUE(OnlyThere(sandbox, "a "));
}

TEST(FileAtomic, ConcurrentPutsHaveOneWholeWinner) {
  const Sandbox sandbox("concurrent-puts", NewSmallSpec());
  constexpr size_t kSize = 2 << 20;
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&sandbox, letter] {
      for (int i = 0; i < 3; ++i) {
        const Status put = sandbox.Put("/workspace/raced", std::string(kSize, letter));
        EXPECT_TRUE(put.ok()) << put;
      }
    });
  }
  std::thread reader([&] {
    while (!done) {
      std::string seen;
      if (!sandbox.Get("/workspace/raced", &seen).ok()) continue;  // not there yet
      EXPECT_TRUE(seen == std::string(kSize, seen.empty() ? '?' : seen[0])) << seen.size();
    }
  });
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  EXPECT_TRUE(OnlyThere(sandbox, "raced "));
}

TEST_F(FullDisk, AFullDiskLeavesTheOldFile) {
  ASSERT_TRUE(sandbox_.Put("/workspace/a", "old").ok());
  EXPECT_EQ(sandbox_.Put("/workspace/a", std::string(10 << 20, 'x')).code, OSBX_E_NO_SPACE);
  Source source;
  source.size = uint64_t{1} << 30;
  EXPECT_EQ(source.Put(sandbox_, "/workspace/a").code, OSBX_E_NO_SPACE);
  EXPECT_LT(source.sent, source.size);
  EXPECT_EQ(sandbox_.Content("/workspace/a"), "old");
  EXPECT_TRUE(OnlyThere(sandbox_, "a "));
  // Filled to the brim by the guest.
  sandbox_.Shell("dd if=/dev/zero of=/workspace/fill bs=4096; cat /dev/zero >>/workspace/fill");
  EXPECT_EQ(sandbox_.Put("/workspace/a", std::string(100000, 'x')).code, OSBX_E_NO_SPACE);
  EXPECT_EQ(sandbox_.Put("/workspace/new", std::string(1000, 'x')).code, OSBX_E_NO_SPACE);
  EXPECT_EQ(sandbox_.Content("/workspace/a"), "old");
  EXPECT_TRUE(OnlyThere(sandbox_, "a fill "));
  EXPECT_TRUE(sandbox_.Put("/tmp/b", "room").ok());
  sandbox_.Output("rm /workspace/fill");
  EXPECT_TRUE(sandbox_.Put("/workspace/a", "new").ok());
  EXPECT_EQ(sandbox_.Content("/workspace/a"), "new");
}

}  // namespace
}  // namespace osbx::e2e
