#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <thread>

#include "contract/directory_listing.h"
#include "contract/file_removal.h"
#include "contract/file_upload.h"
#include "unit/contract/files_fixture.h"

namespace osbx::testing {
namespace {

using ::testing::HasSubstr;

class FilesDelete : public FilesTest {
 protected:
  // A chain of `depth` directories; some have a file and a directory beside the next.
  void MakeDeep(const std::string& name, int depth) const {
    base::UniqueFd at(open(workspace_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0777), 0);
    at.Reset(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < depth; ++i) {
      ASSERT_EQ(mkdirat(at.get(), "next", 0777), 0);
      if (i % 100 < 2) {
        ASSERT_EQ(mkdirat(at.get(), "beside", 0777), 0);
        const base::UniqueFd file(openat(at.get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
      }
      base::UniqueFd next(openat(at.get(), "next", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSERT_TRUE(next.valid());
      at = std::move(next);
    }
  }
};

TEST_F(FilesDelete, AFileALinkAnEmptyDirectory) {
  Write(workspace_ / "f", "x");
  std::filesystem::create_directory(workspace_ / "d");
  std::filesystem::create_directory(workspace_ / "e");
  Write(workspace_ / "kept", "kept");
  std::filesystem::create_symlink("kept", workspace_ / "to-file");
  std::filesystem::create_directory(workspace_ / "kept-directory");
  Write(workspace_ / "kept-directory" / "f", "kept");
  std::filesystem::create_symlink("kept-directory", workspace_ / "to-directory");
  std::filesystem::create_symlink("nowhere", workspace_ / "dangling");
  EXPECT_EQ(Delete("to-directory/").status, 409);
  EXPECT_EQ(Delete("f/").status, 409);
  for (const char* path : {"f", "d", "e/", "to-file", "to-directory", "dangling"}) {
    const Seen seen = Delete(path);
    EXPECT_EQ(seen.status, 204) << path;
    EXPECT_EQ(seen.body, "");
    EXPECT_EQ(Delete(path).status, 404) << path;
  }
  EXPECT_EQ(ReadBelow("kept"), "kept");
  EXPECT_EQ(ReadBelow("kept-directory/f"), "kept");
  EXPECT_EQ(Delete("missing/x").status, 404);
}

TEST_F(FilesDelete, TheWorkspaceItselfStays) {
  Write(workspace_ / "f", "x");
  for (const char* target : {"/files", "/files/", "/files/.", "/files/./.", "/files?x"}) {
    const Seen seen = Ask("DELETE", target);
    EXPECT_EQ(seen.status, 400) << target;
    EXPECT_THAT(ErrorOf(seen), HasSubstr("workspace itself"));
  }
  EXPECT_EQ(ReadBelow("f"), "x");
}

TEST_F(FilesDelete, AWideTree) {
  for (int d = 0; d < 10; ++d) {
    const std::filesystem::path directory = workspace_ / "tree" / std::to_string(d);
    std::filesystem::create_directories(directory / "sub" / "empty");
    for (int i = 0; i < 120; ++i) Write(directory / std::to_string(i), "x");
    Write(directory / "sub" / "f", "x");
  }
  EXPECT_EQ(Delete("tree/3").status, 204);
  EXPECT_EQ(Delete("tree/").status, 204);
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
}

TEST_F(FilesDelete, ATreeTenThousandDeepWithFewDescriptors) {
  MakeDeep("deep", 10'000);
  Get("");
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit few = old;
  few.rlim_cur = static_cast<rlim_t>(CountDescriptors() + 50);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Seen seen = Delete("deep");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(seen.status, 204) << seen.body;
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
}

TEST_F(FilesDelete, LargeRemovalsLeaveRoomForOthers) {
  // Each removal is more than one slice, so with two of them in a pool of two the read runs between slices, long before
  // either is done. The pool's order makes it certain.
  for (const char* tree : {"one", "two"}) {
    std::filesystem::create_directory(workspace_ / tree);
    for (int i = 0; i < 1500; ++i) Write(workspace_ / tree / std::to_string(i), "");
  }
  Write(workspace_ / "f", "x");
  std::vector<std::string> order;
  std::vector<std::future<Seen>> results;
  const auto start = [&](const std::string& method, const std::string& name) {
    const std::shared_ptr<FakeExchange> exchange = Make(method, "/files/" + name);
    exchange->on_answer = [&order, name] { order.push_back(name); };
    results.push_back(exchange->Result());
    contract::HandleFiles(context_, exchange);
  };
  ASSERT_TRUE(loop_
                  ->RunAndWait([&] {
                    start("DELETE", "one");
                    start("DELETE", "two");
                    start("GET", "f");
                  })
                  .ok());
  for (std::future<Seen>& result : results) EXPECT_TRUE(result.get().complete);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0], "f");
  EXPECT_EQ(Get("").body, "{\"entries\":[{\"name\":\"f\",\"size\":1,\"isDir\":false}]}");
}

TEST_F(FilesDelete, ItStopsWhenTheClientGoesAway) {
  std::filesystem::create_directory(workspace_ / "tree");
  Write(workspace_ / "tree" / "f", "x");
  const std::shared_ptr<FakeExchange> exchange = Make("DELETE", "/files/tree");
  exchange->client_is_gone = true;
  EXPECT_EQ(Run(exchange).status, 409);
  EXPECT_EQ(Get("tree").status, 200);
}

TEST_F(FilesDelete, ATreeThatSomebodyFillsMeanwhile) {
  std::promise<void> begun;
  std::filesystem::create_directory(workspace_ / "tree");
  std::thread filler([&] {
    for (int i = 0; i < 1000; ++i) {
      std::error_code ignored;
      std::filesystem::create_directories(workspace_ / "tree" / std::to_string(i % 100) / "x", ignored);
      if (i == 100) begun.set_value();
    }
  });
  begun.get_future().wait();
  const int status = Delete("tree").status;
  EXPECT_TRUE(status == 204 || status == 409) << status;
  filler.join();
  Delete("tree");
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
}

// As the user of a container without a name, for whom permissions count.
class FilesAsUser : public FilesTest {
 protected:
  static constexpr uid_t kUser = 65532;

  void SetUp() override {
    FilesTest::SetUp();
    ASSERT_EQ(chmod(workspace_.c_str(), 0777), 0);
  }
  // The exit status of `body`, run in a process of its own by that user, where this one may become it.
  static int AsUser(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      if (geteuid() == 0 && (setgid(kUser) != 0 || setuid(kUser) != 0)) _exit(99);
      _exit(body());
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int ReadStatus(const std::string& target) const {
    const auto opened = context_->workspace.OpenForReading(*contract::ParseWorkspacePath(target));
    return opened.ok() ? 200 : base::HttpStatusOf(opened.status());
  }
  int PutStatus(const std::string& target) const {
    auto upload = contract::FileUpload::Begin(context_->workspace, *contract::ParseWorkspacePath(target));
    if (!upload.ok()) return base::HttpStatusOf(upload.status());
    const absl::Status committed = (*upload)->Commit();
    return committed.ok() ? 204 : base::HttpStatusOf(committed);
  }
  int DeleteStatus(const std::string& target) const {
    const auto removal = contract::FileRemoval::Begin(context_->workspace, *contract::ParseWorkspacePath(target));
    if (!removal.ok()) return base::HttpStatusOf(removal.status());
    for (;;) {
      const absl::StatusOr<bool> done = (*removal)->Advance();
      if (!done.ok()) return base::HttpStatusOf(done.status());
      if (*done) return 204;
    }
  }
};

TEST_F(FilesAsUser, PermissionsCount) {
  EXPECT_EQ(AsUser([this] {
              const std::string w = workspace_.string();
              umask(022);
              if (PutStatus("/files/mine") != 204 || ReadStatus("/files/mine") != 200) return 1;
              chmod((w + "/mine").c_str(), 0);
              if (ReadStatus("/files/mine") != 403) return 2;
              if (PutStatus("/files/mine") != 204) return 3;  // it is the directory that counts
              if ((ModeOf(w + "/mine") & 07777) != 0) return 4;
              if (PutStatus("/files/locked/f") != 204) return 5;
              chmod((w + "/locked").c_str(), 0500);
              if (PutStatus("/files/locked/f") != 403 || PutStatus("/files/locked/new") != 403) return 6;
              if (PutStatus("/files/locked/deep/new") != 403) return 7;
              if (DeleteStatus("/files/locked/f") != 403 || DeleteStatus("/files/locked") != 403) return 8;
              if (ReadStatus("/files/locked/f") != 200 || ReadStatus("/files/locked") != 200) return 9;
              chmod((w + "/locked").c_str(), 0);
              if (ReadStatus("/files/locked/f") != 403 || ReadStatus("/files/locked") != 403) return 10;
              if (PutStatus("/files/locked/f") != 403 || PutStatus("/files/locked/") != 403) return 11;
              if (DeleteStatus("/files/locked") != 403) return 12;
              chmod((w + "/locked").c_str(), 0700);
              if (ReadStatus("/files/locked/f") != 200) return 13;
              return DeleteStatus("/files/locked") == 204 && DeleteStatus("/files/mine") == 204 ? 0 : 14;
            }),
            0);
}

TEST_F(FilesAsUser, AReadableDirectoryThatCannotBeSearchedIsListed) {
  EXPECT_EQ(AsUser([this] {
              if (PutStatus("/files/d/f") != 204 || PutStatus("/files/d/sub/f") != 204) return 1;
              chmod((workspace_ / "d").c_str(), 0400);
              auto opened = context_->workspace.OpenForReading(*contract::ParseWorkspacePath("/files/d"));
              if (!opened.ok()) return 2;
              const auto listing = contract::DirectoryListing::Begin(std::move(opened->fd));
              if (!listing.ok() || !(*listing)->Advance().ok()) return 3;
              const auto json = (*listing)->Json();
              chmod((workspace_ / "d").c_str(), 0700);
              return json.ok() && *json ==
                                      "{\"entries\":[{\"name\":\"f\",\"size\":0,\"isDir\":false},"
                                      "{\"name\":\"sub\",\"size\":0,\"isDir\":true}]}"
                         ? 0
                         : 4;
            }),
            0);
}

TEST_F(FilesAsUser, AnotherOnesFilesAreRefused) {
  if (geteuid() != 0) return;  // there is only one user
  std::filesystem::create_directory(workspace_ / "roots");
  Write(workspace_ / "roots" / "f", "x");
  Write(workspace_ / "f", "x");
  ASSERT_EQ(chmod((workspace_ / "f").c_str(), 0600), 0);
  EXPECT_EQ(AsUser([this] {
              if (ReadStatus("/files/f") != 403) return 1;
              if (ReadStatus("/files/roots/f") != 200) return 2;
              if (PutStatus("/files/roots/f") != 403 || DeleteStatus("/files/roots/f") != 403) return 3;
              return DeleteStatus("/files/roots") == 403 ? 0 : 4;
            }),
            0);
  EXPECT_EQ(ReadBelow("roots/f"), "x");
}

}  // namespace
}  // namespace osbx::testing
