#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "contract/file_upload.h"
#include "unit/contract/files_fixture.h"

namespace osbx::testing {
namespace {

using ::testing::HasSubstr;

class FilesPut : public FilesTest {
 protected:
  // The exit status of `body`, run in a process of its own.
  static int InChild(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(FilesPut, ANewFileInNewDirectories) {
  const Seen seen = Put("a/b/c/f", {"one ", "two ", "three"});
  EXPECT_EQ(seen.status, 204);
  EXPECT_EQ(seen.body, "");
  EXPECT_EQ(ReadBelow("a/b/c/f"), "one two three");
  EXPECT_EQ(Get("a/b/c/f").body, "one two three");
  EXPECT_EQ(CountTemporary(workspace_ / "a/b/c"), 0);
}

TEST_F(FilesPut, AnEmptyBody) {
  EXPECT_EQ(Put("f", {}).status, 204);
  EXPECT_TRUE(S_ISREG(ModeOf(workspace_ / "f")));
  EXPECT_EQ(ReadBelow("f"), "");
}

TEST_F(FilesPut, ALargeBodyInPieces) {
  std::vector<std::string> pieces;
  std::string whole;
  for (int i = 0; i < 64; ++i) {
    pieces.emplace_back(100'000 + i, static_cast<char>('A' + i % 26));
    whole += pieces.back();
  }
  EXPECT_EQ(Put("f", pieces).status, 204);
  EXPECT_TRUE(ReadBelow("f") == whole);
  EXPECT_EQ(Put("f", {"short"}).status, 204);
  EXPECT_EQ(ReadBelow("f"), "short");
}

TEST_F(FilesPut, TheModeIsKeptAndNeverGivesARank) {
  Put("new", {"x"});
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(ModeOf(workspace_ / "new") & 07777, 0666 & ~mask);
  Put("d/f", {"x"});
  EXPECT_EQ(ModeOf(workspace_ / "d") & 07777, 0777 & ~mask);
  for (const mode_t mode : {0755u, 0600u, 0777u, 0444u, 0640u}) {
    ASSERT_EQ(chmod((workspace_ / "new").c_str(), mode), 0);
    EXPECT_EQ(Put("new", {"y"}).status, 204);
    EXPECT_EQ(ModeOf(workspace_ / "new") & 07777, mode);
  }
  for (const mode_t rank : {04755u, 02755u, 01755u, 06755u}) {
    ASSERT_EQ(chmod((workspace_ / "new").c_str(), rank), 0);
    EXPECT_EQ(Put("new", {"z"}).status, 204);
    EXPECT_EQ(ModeOf(workspace_ / "new") & 07777, 0755u);
  }
}

TEST_F(FilesPut, TheMaskCounts) {
  EXPECT_EQ(InChild([&] {
              umask(077);
              const auto path = contract::ParseWorkspacePath("/files/d/f");
              auto upload = contract::FileUpload::Begin(context_->workspace, *path);
              return upload.ok() && (*upload)->Commit().ok() ? 0 : 1;
            }),
            0);
  EXPECT_EQ(ModeOf(workspace_ / "d") & 07777, 0700u);
  EXPECT_EQ(ModeOf(workspace_ / "d/f") & 07777, 0600u);
}

TEST_F(FilesPut, OntoADirectoryOrBelowAFile) {
  std::filesystem::create_directory(workspace_ / "d");
  Write(workspace_ / "f", "old");
  for (const char* path : {"", ".", "d", "d/", "d/.", "f/x", "f/x/y"}) {
    EXPECT_EQ(Put(path, {"x"}).status, 409) << path;
  }
  EXPECT_EQ(Ask("PUT", "/files").status, 409);
  EXPECT_EQ(ReadBelow("f"), "old");
  EXPECT_EQ(Get("d").body, "{\"entries\":[]}");
  for (const char* path : {"new/", "f/", "f/.", "new/new/"}) EXPECT_EQ(Put(path, {"x"}).status, 400) << path;
  EXPECT_EQ(ModeOf(workspace_ / "new"), 0u);
  EXPECT_EQ(CountTemporary(workspace_), 0);
}

TEST_F(FilesPut, ARefusalDoesNotWaitForTheBody) {
  std::filesystem::create_directory(workspace_ / "d");
  const std::shared_ptr<FakeExchange> exchange = Make("PUT", "/files/d");
  exchange->on_read = [](int) { ADD_FAILURE() << "the body was read"; };
  EXPECT_EQ(Run(exchange).status, 409);
}

TEST_F(FilesPut, TheNamesOfUploadsAreReserved) {
  const std::string name = ".sandbox-put-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(Put(name, {"x"}).status, 400);
  EXPECT_EQ(Put(name + "/x", {"x"}).status, 400);
  Write(workspace_ / name, "x");
  EXPECT_EQ(Get(name).status, 404);
  EXPECT_EQ(Delete(name).status, 404);
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
  // What only looks like one is a name as any other.
  for (const char* other : {".sandbox-put-", ".sandbox-put-0123456789ABCDEF0123456789ABCDEF",
                            ".sandbox-put-0123456789abcdef0123456789abcdef0"}) {
    EXPECT_EQ(Put(other, {"x"}).status, 204);
    EXPECT_EQ(Get(other).body, "x");
    EXPECT_THAT(Get("").body, HasSubstr(other));
    EXPECT_EQ(Delete(other).status, 204);
  }
}

TEST_F(FilesPut, ABodyThatBreaksOffChangesNothing) {
  Write(workspace_ / "old", "old");
  for (const char* name : {"old", "new", "new/deep"}) {
    for (int count = 0; count < 4; ++count) {
      for (const auto& [code, status] : {std::pair(base::Code::kUnreachable, 0), std::pair(base::Code::kTimeout, 408),
                                         std::pair(base::Code::kInvalid, 400)}) {
        const std::shared_ptr<FakeExchange> exchange = Make("PUT", std::string("/files/") + name);
        for (int i = 0; i < count; ++i) exchange->pieces.emplace_back(std::string(100'000, 'x'));
        exchange->pieces.emplace_back(base::Error(code, "it broke off"));
        int temporary = 0;
        exchange->on_read = [&, count](int n) {
          if (n == count) temporary = CountTemporary((workspace_ / name).parent_path());
        };
        const Seen seen = Run(exchange);
        EXPECT_EQ(seen.status, status);
        EXPECT_EQ(seen.aborted, status == 0);
        EXPECT_EQ(temporary, 1);
        EXPECT_EQ(CountTemporary((workspace_ / name).parent_path()), 0);
      }
    }
    if (std::string(name) == "new") {
      EXPECT_EQ(Get("new").status, 404);
    }
  }
  EXPECT_EQ(ReadBelow("old"), "old");
  EXPECT_EQ(Get("new/deep").status, 404);
}

TEST_F(FilesPut, ABodyOfAnotherLengthThanAnnouncedIsNotPut) {
  for (const uint64_t length : {9u, 11u, 0u}) {
    http::Request request;
    request.method = "PUT";
    request.target = "/files/f";
    request.content_length = length;
    const auto exchange = std::make_shared<FakeExchange>(std::move(request));
    exchange->pieces.emplace_back("0123456789");
    EXPECT_TRUE(Run(exchange).aborted);
  }
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
}

TEST_F(FilesPut, WhileItRunsNothingIsSeenAndOthersAreServed) {
  Write(workspace_ / "f", "old");
  const std::shared_ptr<FakeExchange> slow = Make("PUT", "/files/f");
  slow->pieces.emplace_back("first half, ");
  slow->pieces.emplace_back("second half");
  slow->hold_at = 1;
  std::promise<void> held;
  slow->on_read = [&held](int n) {
    if (n == 1) held.set_value();
  };
  std::future<Seen> result = slow->Result();
  Start(slow);
  held.get_future().wait();
  EXPECT_EQ(Get("f").body, "old");
  EXPECT_EQ(Get("").body, "{\"entries\":[{\"name\":\"f\",\"size\":3,\"isDir\":false}]}");
  EXPECT_EQ(CountTemporary(workspace_), 1);
  EXPECT_EQ(Put("f", {"the other one"}).status, 204);
  EXPECT_EQ(Get("f").body, "the other one");
  ASSERT_TRUE(loop_->RunAndWait([&] { slow->Feed(); }).ok());
  EXPECT_EQ(result.get().status, 204);
  EXPECT_EQ(Get("f").body, "first half, second half");
  EXPECT_EQ(CountTemporary(workspace_), 0);
}

TEST_F(FilesPut, OfManyAtOnceOneWinsWhole) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::future<Seen>> results;
    for (char c = 'a'; c < 'i'; ++c) {
      const std::shared_ptr<FakeExchange> exchange = Make("PUT", "/files/made/by/f");
      for (int i = 0; i < 5; ++i) exchange->pieces.emplace_back(std::string(50'000, c));
      results.push_back(exchange->Result());
      Start(exchange);
    }
    for (std::future<Seen>& result : results) EXPECT_EQ(result.get().status, 204);
    const std::string bytes = ReadBelow("made/by/f");
    EXPECT_EQ(bytes.size(), 250'000u);
    EXPECT_EQ(bytes.find_first_not_of(bytes[0]), std::string::npos);
    EXPECT_EQ(CountTemporary(workspace_ / "made/by"), 0);
    EXPECT_EQ(Delete("made").status, 204);
  }
}

TEST_F(FilesPut, ADroppedExchangeLeavesNothing) {
  Get("");
  Settle();
  const int before = CountDescriptors();
  std::shared_ptr<FakeExchange> exchange = Make("PUT", "/files/f");
  exchange->hold_at = 0;
  std::promise<void> held;
  exchange->on_read = [&held](int) { held.set_value(); };
  std::weak_ptr<FakeExchange> weak = exchange;
  Start(exchange);
  held.get_future().wait();
  EXPECT_EQ(CountTemporary(workspace_), 1);
  // As a server does that is closed: the wait for the body ends with an error.
  ASSERT_TRUE(loop_
                  ->RunAndWait([&] {
                    exchange->pieces.emplace_back(base::Error(base::Code::kCanceled, "the server ends"));
                    exchange->Feed();
                  })
                  .ok());
  std::future<Seen> result = exchange->Result();
  exchange.reset();
  EXPECT_TRUE(result.get().aborted);
  Settle();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(CountTemporary(workspace_), 0);
  EXPECT_EQ(CountDescriptors(), before);
}

// A file of its own size limit is a full disk that needs no right to make.
TEST_F(FilesPut, AFileThatHasNoRoomChangesNothing) {
  Write(workspace_ / "f", "old");
  EXPECT_EQ(InChild([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{150'000, 150'000};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              auto upload = contract::FileUpload::Begin(context_->workspace, *contract::ParseWorkspacePath("/files/f"));
              if (!upload.ok() || !(*upload)->Write(std::string(100'000, 'x')).ok()) return 2;
              if (base::HttpStatusOf((*upload)->Write(std::string(100'000, 'x'))) != 507) return 3;
              upload->reset();
              return CountTemporary(workspace_);
            }),
            0);
  EXPECT_EQ(ReadBelow("f"), "old");
}

TEST_F(FilesPut, AFullDiskChangesNothing) {
  // Who may not mount has the test above.
  if (mount("tmpfs", workspace_.c_str(), "tmpfs", 0, "size=256k") != 0) {
    EXPECT_TRUE(errno == EPERM || errno == EACCES) << errno;
    return;
  }
  const auto on_small_disk = contract::Workspace::Open(workspace_.string());
  {
    absl::StatusOr<contract::Workspace> opened = contract::Workspace::Open(workspace_.string());
    ASSERT_TRUE(opened.ok());
    context_ = std::make_shared<contract::FilesContext>(*std::move(opened), context_->workers, context_->unsent);
  }
  EXPECT_EQ(Put("f", {"old"}).status, 204);
  const Seen seen = Put("f", {std::string(100'000, 'x'), std::string(100'000, 'x'), std::string(100'000, 'x')});
  EXPECT_EQ(seen.status, 507);
  EXPECT_THAT(ErrorOf(seen), HasSubstr("no space left"));
  EXPECT_EQ(ReadBelow("f"), "old");
  EXPECT_EQ(CountTemporary(workspace_), 0);
  // The room is there again.
  EXPECT_EQ(Put("f", {std::string(100'000, 'y')}).status, 204);
  EXPECT_EQ(umount2(workspace_.c_str(), MNT_DETACH), 0);
}

TEST_F(FilesPut, AKilledServerLeavesTheOldFileAndNothingInTheListing) {
  Write(workspace_ / "f", "old");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto upload = contract::FileUpload::Begin(context_->workspace, *contract::ParseWorkspacePath("/files/f"));
    const bool written = upload.ok() && (*upload)->Write("half of it").ok();
    if (write(ends[1], written ? "+" : "-", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, '+');
  const auto make_old = [this] {
    for (const auto& entry : std::filesystem::directory_iterator(workspace_)) {
      const timespec times[2] = {{1000, 0}, {1000, 0}};
      ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
    }
  };
  const std::string listing = "{\"entries\":[{\"name\":\"f\",\"size\":3,\"isDir\":false}]}";
  // Another server's live upload, however old.
  make_old();
  EXPECT_EQ(Get("").body, listing);
  EXPECT_EQ(CountTemporary(workspace_), 1);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(ReadBelow("f"), "old");
  // A young one could be an upload whose lock cannot be seen from here.
  for (const auto& entry : std::filesystem::directory_iterator(workspace_)) {
    ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), nullptr, 0), 0);
  }
  EXPECT_EQ(Get("").body, listing);
  EXPECT_EQ(CountTemporary(workspace_), 1);
  make_old();
  EXPECT_EQ(Get("").body, listing);
  EXPECT_EQ(CountTemporary(workspace_), 0);
}

TEST_F(FilesPut, AnUploadWhoseDirectoryIsRemovedFails) {
  const auto path = contract::ParseWorkspacePath("/files/d/f");
  auto upload = contract::FileUpload::Begin(context_->workspace, *path);
  ASSERT_TRUE(upload.ok());
  EXPECT_EQ(Delete("d").status, 204);
  EXPECT_EQ(base::HttpStatusOf((*upload)->Commit()), 409);
}

TEST_F(FilesPut, AnUploadOntoWhatHasBecomeADirectoryFails) {
  auto upload = contract::FileUpload::Begin(context_->workspace, *contract::ParseWorkspacePath("/files/f"));
  ASSERT_TRUE(upload.ok());
  std::filesystem::create_directory(workspace_ / "f");
  EXPECT_EQ(base::HttpStatusOf((*upload)->Commit()), 409);
  upload->reset();
  EXPECT_EQ(CountTemporary(workspace_), 0);
}

}  // namespace
}  // namespace osbx::testing
