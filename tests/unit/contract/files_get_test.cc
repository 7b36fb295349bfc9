#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <future>

#include "base/text.h"
#include "contract/directory_listing.h"
#include "unit/contract/files_fixture.h"

namespace osbx::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FilesGet : public FilesTest {};

TEST_F(FilesGet, AFileIsSentAsItIs) {
  const std::string bytes("a\0b\xff\n", 5);
  Write(workspace_ / "f", bytes);
  const Seen seen = Get("f");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, bytes);
  EXPECT_EQ(http::FindHeader(seen.headers, "Content-Type"), "application/octet-stream");
  EXPECT_EQ(seen.content_length, 5u);
}

TEST_F(FilesGet, AnEmptyFile) {
  Write(workspace_ / "f", "");
  const Seen seen = Get("f");
  EXPECT_EQ(seen.status, 200);
  EXPECT_TRUE(seen.complete);
  EXPECT_EQ(seen.content_length, 0u);
}

TEST_F(FilesGet, SizesAroundAPiece) {
  for (const size_t size : {65535u, 65536u, 65537u, 262143u, 262144u, 262145u, 1000003u}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
    Write(workspace_ / "f", bytes);
    const Seen seen = Get("f");
    EXPECT_EQ(seen.content_length, size);
    EXPECT_TRUE(seen.body == bytes) << size;
    const Seen head = Ask("HEAD", "/files/f");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.content_length, size);
    EXPECT_EQ(head.body, "");
    EXPECT_TRUE(head.complete);
  }
}

TEST_F(FilesGet, BeyondTwoGigabytes) {
  constexpr uint64_t kSize = (uint64_t{2} << 30) + 5;
  Write(workspace_ / "f", "");
  ASSERT_EQ(truncate((workspace_ / "f").c_str(), kSize - 5), 0);
  std::ofstream(workspace_ / "f", std::ios::binary | std::ios::app) << "tail!";
  EXPECT_EQ(Ask("HEAD", "/files/f").content_length, kSize);
  EXPECT_THAT(Get("").body, HasSubstr("\"size\":2147483653"));

  const std::shared_ptr<FakeExchange> exchange = Make("GET", "/files/f");
  exchange->keep_body = false;
  const Seen seen = Run(exchange);
  EXPECT_EQ(seen.content_length, kSize);
  EXPECT_TRUE(seen.complete);
  EXPECT_EQ(seen.last_piece, "tail!");
}

TEST_F(FilesGet, AFileThatShrinksIsCutVisibly) {
  Write(workspace_ / "f", std::string(1'000'000, 'x'));
  const std::shared_ptr<FakeExchange> exchange = Make("GET", "/files/f");
  exchange->on_write = [this](uint64_t before) {
    if (before == 0) {
      EXPECT_EQ(truncate((workspace_ / "f").c_str(), 300'000), 0);
    }
    return true;
  };
  const Seen seen = Run(exchange);
  EXPECT_TRUE(seen.aborted);
  EXPECT_FALSE(seen.complete);
  EXPECT_LE(seen.body.size(), 300'000u);
}

TEST_F(FilesGet, OfAFileThatGrowsTheAnnouncedLengthIsSent) {
  Write(workspace_ / "f", std::string(300'000, 'x'));
  const std::shared_ptr<FakeExchange> exchange = Make("GET", "/files/f");
  exchange->on_write = [this](uint64_t) {
    std::ofstream(workspace_ / "f", std::ios::app) << std::string(300'000, 'y');
    return true;
  };
  const Seen seen = Run(exchange);
  EXPECT_TRUE(seen.complete);
  EXPECT_TRUE(seen.body == std::string(300'000, 'x'));
}

TEST_F(FilesGet, AClientThatGoesAwayLeavesNothingOpen) {
  Write(workspace_ / "f", std::string(1'000'000, 'x'));
  Get("f");
  Settle();
  const int before = CountDescriptors();
  const std::shared_ptr<FakeExchange> exchange = Make("GET", "/files/f");
  exchange->on_write = [](uint64_t taken) { return taken < 300'000; };
  const Seen seen = Run(exchange);
  EXPECT_FALSE(seen.complete);
  Settle();
  EXPECT_EQ(CountDescriptors(), before);
  EXPECT_EQ(context_->downloads, 0u);
}

TEST_F(FilesGet, ADirectoryIsListed) {
  Write(workspace_ / "b", "12345");
  Write(workspace_ / ".dot", "");
  Write(workspace_ / "B", "1");
  std::filesystem::create_directory(workspace_ / "a");
  Write(workspace_ / "a" / "x", "1");
  std::filesystem::create_symlink("a", workspace_ / "link");
  std::filesystem::create_symlink("/nowhere", workspace_ / "dangling");
  const std::string expected =
      "{\"entries\":[{\"name\":\".dot\",\"size\":0,\"isDir\":false},{\"name\":\"B\",\"size\":1,\"isDir\":false},"
      "{\"name\":\"a\",\"size\":0,\"isDir\":true},{\"name\":\"b\",\"size\":5,\"isDir\":false},"
      "{\"name\":\"dangling\",\"size\":8,\"isDir\":false},{\"name\":\"link\",\"size\":1,\"isDir\":false}]}";
  for (const char* target : {"/files", "/files/", "/files/.", "/files?x"}) {
    const Seen seen = Ask("GET", target);
    EXPECT_EQ(seen.status, 200);
    EXPECT_EQ(seen.body, expected) << target;
    EXPECT_EQ(http::FindHeader(seen.headers, "Content-Type"), "application/json");
  }
  EXPECT_EQ(Ask("HEAD", "/files").content_length, expected.size());
  for (const char* path : {"a", "a/", "a/.", "link", "link/"}) {
    EXPECT_EQ(Get(path).body, "{\"entries\":[{\"name\":\"x\",\"size\":1,\"isDir\":false}]}") << path;
  }
}

TEST_F(FilesGet, AnEmptyDirectory) { EXPECT_EQ(Get("").body, "{\"entries\":[]}"); }

TEST_F(FilesGet, AListOfManyEntriesInTheOrderOfTheirBytes) {
  for (int i = 0; i < 2500; ++i) Write(workspace_ / std::to_string(i), "");
  const auto json = base::ParseJson(Get("").body);
  ASSERT_TRUE(json.ok());
  std::vector<std::string> names;
  for (const base::JsonValue& entry : json->root()["entries"].Items()) names.push_back(entry["name"].StringOr(""));
  EXPECT_EQ(names.size(), 2500u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST_F(FilesGet, AListBeyondTheLimitIsRefused) {
  for (int i = 0; i < 4; ++i) Write(workspace_ / std::to_string(i), "");
  const auto list = [this](const contract::ListingLimits& limits) -> absl::StatusOr<std::string> {
    base::UniqueFd fd(open(workspace_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    OSBX_ASSIGN_OR_RETURN(const auto listing, contract::DirectoryListing::Begin(std::move(fd), limits));
    OSBX_RETURN_IF_ERROR(listing->Advance().status());
    return listing->Json();
  };
  EXPECT_TRUE(list({4, 1000}).ok());
  EXPECT_EQ(base::HttpStatusOf(list({3, 1000}).status()), 507);
  EXPECT_EQ(base::HttpStatusOf(list({4, 100}).status()), 507);
}

TEST_F(FilesGet, WhatIsMissing) {
  Write(workspace_ / "f", "");
  std::filesystem::create_symlink("nowhere", workspace_ / "dangling");
  for (const char* path : {"x", "x/y", "dangling", "dangling/x", ".sandbox-put-00000000000000000000000000000000"}) {
    const Seen seen = Get(path);
    EXPECT_EQ(seen.status, 404) << path;
    EXPECT_THAT(ErrorOf(seen), HasSubstr("no such file")) << path;
    EXPECT_EQ(Ask("HEAD", std::string("/files/") + path).status, 404);
  }
}

TEST_F(FilesGet, WhatIsNoDirectory) {
  Write(workspace_ / "f", "");
  EXPECT_EQ(Get("f/").status, 409);
  EXPECT_EQ(Get("f/.").status, 409);
  // Below a file there is nothing.
  EXPECT_EQ(Get("f/x").status, 404);
  EXPECT_EQ(Delete("f/x").status, 404);
}

TEST_F(FilesGet, WhatIsNoFile) {
  ASSERT_EQ(mkfifo((workspace_ / "fifo").c_str(), 0666), 0);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (workspace_ / "socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  std::filesystem::create_symlink("fifo", workspace_ / "to-fifo");
  for (const char* path : {"fifo", "socket", "to-fifo"}) {
    for (const char* method : {"GET", "HEAD"}) EXPECT_EQ(Ask(method, std::string("/files/") + path).status, 409);
    EXPECT_NE(ErrorOf(Get(path)), "") << path;
  }
  for (const char* path : {"fifo", "socket"}) {
    EXPECT_EQ(Put(path, {"x"}).status, 409) << path;
    EXPECT_EQ(Put(std::string(path) + "/x", {"x"}).status, 409) << path;
  }
  EXPECT_TRUE(S_ISFIFO(ModeOf(workspace_ / "fifo")));
  EXPECT_TRUE(S_ISSOCK(ModeOf(workspace_ / "socket")));
  EXPECT_EQ(Delete("fifo").status, 204);
  EXPECT_EQ(Delete("socket").status, 204);
  EXPECT_EQ(Get("").body, "{\"entries\":[{\"name\":\"to-fifo\",\"size\":4,\"isDir\":false}]}");
  close(fd);
}

TEST_F(FilesGet, ADeviceIsNotOpened) {
  const auto devices = contract::Workspace::Open("/dev");
  ASSERT_TRUE(devices.ok());
  for (const char* name : {"/files/null", "/files/zero", "/files/tty"}) {
    EXPECT_EQ(base::HttpStatusOf(devices->OpenForReading(*contract::ParseWorkspacePath(name)).status()), 409) << name;
  }
  if (geteuid() != 0) return;  // who may not make a device has seen the better part
  ASSERT_EQ(mknod((workspace_ / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  EXPECT_EQ(Get("null").status, 409);
  EXPECT_EQ(Put("null", {"x"}).status, 409);
  EXPECT_TRUE(S_ISCHR(ModeOf(workspace_ / "null")));
}

TEST_F(FilesGet, OtherMethods) {
  for (const char* method : {"POST", "PATCH", "OPTIONS", "get", "MKCOL"}) {
    const Seen seen = Ask(method, "/files/x");
    EXPECT_EQ(seen.status, 405);
    EXPECT_EQ(http::FindHeader(seen.headers, "Allow"), "GET, HEAD, PUT, DELETE");
    EXPECT_NE(ErrorOf(seen), "");
  }
}

TEST_F(FilesGet, EveryByteCanBeInAName) {
  std::string whole;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '/') continue;
    const std::string name = std::string("n") + static_cast<char>(byte) + "e";
    whole += static_cast<char>(byte);
    EXPECT_EQ(Put(base::PercentEncode(name), {name}).status, 204) << byte;
    EXPECT_EQ(ReadBelow(name), name) << byte;
    EXPECT_EQ(Get(base::PercentEncode(name)).body, name) << byte;
  }
  EXPECT_EQ(Put(base::PercentEncode(whole), {"all"}).status, 204);
  const Seen seen = Get("");
  EXPECT_TRUE(base::IsValidUtf8(seen.body));
  const auto json = base::ParseJson(seen.body);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->root()["entries"].Items().size(), 255u);
  EXPECT_THAT(seen.body, HasSubstr("\"n\xEF\xBF\xBD"
                                   "e\""));
  EXPECT_THAT(seen.body, HasSubstr("\"n\\\"e\""));
  EXPECT_EQ(Delete(base::PercentEncode(whole)).status, 204);
  EXPECT_EQ(json->root()["entries"].Items()[0]["name"].AsString().has_value(), true);
}

TEST_F(FilesGet, AnErrorOfABadNameIsValidJson) {
  const Seen seen = Get("%ff%0a%22");
  EXPECT_EQ(seen.status, 404);
  EXPECT_EQ(ErrorOf(seen), "no such file or directory: \xEF\xBF\xBD \"");
}

TEST_F(FilesGet, AWorkspaceThatWasRemovedIsEmpty) {
  std::filesystem::remove_all(workspace_);
  std::filesystem::create_directory(workspace_);
  Write(workspace_ / "f", "new");
  EXPECT_EQ(Get("f").status, 404);
  EXPECT_EQ(Get("").body, "{\"entries\":[]}");
  EXPECT_EQ(Put("g", {"x"}).status, 404);
}

TEST_F(FilesGet, AMissingWorkspaceIsAnErrorAtTheStart) {
  for (const std::filesystem::path& path : {top_ / "missing", top_ / "secret"}) {
    const auto opened = contract::Workspace::Open(path.string());
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(path.string()));
  }
}

}  // namespace
}  // namespace osbx::testing
