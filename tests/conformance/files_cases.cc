// /files: what is answered to GET, HEAD and DELETE, and listings.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "contract_case.h"

namespace osbx::conformance {
namespace {

namespace fs = std::filesystem;

class Files : public Case {
 protected:
  static Response Get(const std::string& url) { return Call(server(), "GET", url); }
  static Response Delete(const std::string& url) { return Call(server(), "DELETE", url); }
};

std::string AllBytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

CONTRACT(Files, GetAFile, "`GET` of a file | 200, the bytes, `application/octet-stream`, exact `Content-Length`",
         "`HEAD` | the head of the `GET`, without a body") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{256}, size_t{65536}, size_t{3'000'001}}) {
    std::string content;
    while (content.size() < size) content += AllBytes();
    content.resize(size);
    WriteDisk(Disk("file"), content);
    const Response got = Get(Url("file"));
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.Field("Content-Type"), "application/octet-stream");
    EXPECT_EQ(got.Field("Content-Length"), std::to_string(size));
    EXPECT_TRUE(got.body == content) << size;
    const Response head = Call(server(), "HEAD", Url("file"));
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.Field("Content-Type"), "application/octet-stream");
    EXPECT_EQ(head.Field("Content-Length"), std::to_string(size));
  }
}

CONTRACT(Files, HeadOfOthers, "`HEAD` | the head of the `GET`, without a body") {
  ASSERT_TRUE(fs::create_directory(Disk("folder")));
  for (const std::string& url : {Url("folder"), Url("missing"), std::string("/files"), Url("../x")}) {
    const Response get = Get(url);
    const Response head = Call(server(), "HEAD", url);
    EXPECT_EQ(head.status, get.status) << url;
    EXPECT_EQ(head.Field("Content-Type"), get.Field("Content-Type")) << url;
    if (url != "/files") {
      EXPECT_EQ(head.Field("Content-Length"), get.Field("Content-Length")) << url;
    }
  }
}

CONTRACT(Files, Listing, "`GET` of a directory, `GET /files/`, `GET /files` | 200, the listing",
         "A listing is `{\"entries\":[{\"name\",\"size\",\"isDir\"}]}`, sorted by name, with dot-files.",
         "The size of a directory is listed as 0.", "A symlink is listed as itself, with `isDir` false.") {
  for (const char* name : {"b", "B", "a", "a.b", "a-b", ".dot", "10", "9", "\xc3\xa9"}) WriteDisk(Disk(name), "12345");
  ASSERT_TRUE(fs::create_directories(Disk("aa/inner")));
  fs::create_symlink("aa", Disk("to-folder"));
  fs::create_symlink("missing", Disk("to-nothing"));
  for (const std::string& url : {Url(""), Url("").substr(0, Url("").size() - 1)}) {
    const Response listing = Get(url);
    EXPECT_EQ(Names(listing), ".dot 10 9 B a a-b a.b aa b to-folder to-nothing \xc3\xa9");
    EXPECT_EQ(listing.Field("Content-Type"), "application/json");
    const auto json = ParseJson(listing.body);
    ASSERT_TRUE(json) << listing;
    EXPECT_EQ(json->members.size(), 1u);
    for (const Json& entry : (*json)["entries"].items) {
      const std::string& name = entry["name"].text;
      EXPECT_EQ(entry.members.size(), 3u) << name;
      EXPECT_TRUE(entry["isDir"].is(Json::Kind::kBool) && entry["size"].is(Json::Kind::kInteger)) << name;
      EXPECT_EQ(entry["isDir"].truth, name == "aa") << name;
      if (name == "aa") {
        EXPECT_EQ(entry["size"].number, 0);
      } else if (name.rfind("to-", 0) != 0) {
        EXPECT_EQ(entry["size"].number, 5) << name;
      }
    }
  }
  EXPECT_EQ(Get(Url("aa/inner")).body, "{\"entries\":[]}");
  for (const char* url : {"/files", "/files/"}) {
    EXPECT_NE((" " + Names(Get(url)) + " ").find(" " + place() + " "), std::string::npos) << url;
  }
}

CONTRACT(Files, ListingOfAnyName, "A listing is valid JSON whatever the names are.",
         "Every byte but NUL and `/` can be in a name.") {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '/') continue;
    const std::string name = std::string("n") + static_cast<char>(byte);
    const std::string url = Url(std::string("n%") + kHex[byte / 16] + kHex[byte % 16]);
    ASSERT_EQ(Call(server(), "PUT", url, "x").status, 204) << byte;
    struct stat info {};
    ASSERT_EQ(stat(Disk(name).c_str(), &info), 0) << byte;
    EXPECT_EQ(Get(url).body, "x") << byte;
  }
  const Response listing = Get(Url(""));
  const auto json = ParseJson(listing.body);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["entries"].items.size(), 254u);
}

CONTRACT(Files, LongListing, "A listing of more than 262,144 entries is 507.") {
  NEEDS(kSoak);
  ASSERT_TRUE(fs::create_directory(Disk("many")));
  for (int i = 0; i < 262'144; ++i) std::ofstream(Disk("many/" + std::to_string(i)));
  const Response most = Get(Url("many"));
  EXPECT_EQ(most.status, 200);
  EXPECT_EQ(std::count(most.body.begin(), most.body.end(), '{'), 262'145);
  WriteDisk(Disk("many/more"), "");
  EXPECT_TRUE(Refused(Get(Url("many")), 507));
}

CONTRACT(Files, Delete, "`DELETE` of a file | 204", "`DELETE` of a directory | 204; the tree goes with it",
         "`DELETE` of a symlink | 204; the link goes, never its target") {
  WriteDisk(Disk("file"), "x");
  ASSERT_TRUE(fs::create_directories(Disk("tree/a/b/c")));
  WriteDisk(Disk("tree/a/b/file"), "x");
  WriteDisk(Disk("tree/.dot"), "x");
  ASSERT_TRUE(fs::create_directory(Disk("target")));
  WriteDisk(Disk("target/kept"), "kept");
  fs::create_symlink("../../target", Disk("tree/a/out"));  // met while the tree goes
  fs::create_symlink("target", Disk("link"));
  fs::create_symlink("/etc", Disk("outside"));
  for (const char* name : {"file", "tree", "link", "outside"}) {
    const Response response = Delete(Url(name));
    EXPECT_EQ(response.status, 204) << name << response;
    EXPECT_FALSE(fs::exists(fs::symlink_status(Disk(name)))) << name;
  }
  EXPECT_EQ(ReadDisk(Disk("target/kept")), "kept");
  EXPECT_TRUE(fs::exists("/etc"));
  EXPECT_EQ(Names(Get(Url(""))), "target");
}

CONTRACT(Files, Missing, "`GET` or `DELETE` of what does not exist | 404",
         "`GET` or `DELETE` of something below a file | 404") {
  WriteDisk(Disk("file"), "x");
  fs::create_symlink("nothing", Disk("dangling"));
  for (const char* name : {"missing", "missing/deeper", "file/below", "file/below/that", "dangling"}) {
    EXPECT_TRUE(Refused(Get(Url(name)), 404)) << name;
  }
  for (const char* name : {"missing", "missing/deeper", "file/below", "file/below/that"}) {
    EXPECT_TRUE(Refused(Delete(Url(name)), 404)) << name;
  }
  EXPECT_EQ(ReadDisk(Disk("file")), "x");
}

CONTRACT(Files, TheWorkspaceItself, "`DELETE /files/` (the workspace itself) | 400") {
  WriteDisk(Disk("kept"), "kept");
  for (const char* url : {"/files/", "/files", "/files?x", "/files/?x"}) EXPECT_TRUE(Refused(Delete(url), 400)) << url;
  EXPECT_EQ(ReadDisk(Disk("kept")), "kept");
}

CONTRACT(Files, WrongKind, "`GET` or `PUT` of a FIFO or a socket | 409",
         "Opening never blocks, whatever stands there.") {
  ASSERT_EQ(mkfifo(Disk("fifo").c_str(), 0666), 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // A path of its own length may be too long for the address.
  const int directory = open(Disk("").c_str(), O_PATH | O_CLOEXEC);
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/socket";
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  for (const char* kind : {"fifo", "socket"}) {
    EXPECT_TRUE(Refused(Get(Url(kind)), 409)) << kind;
    EXPECT_TRUE(Refused(Call(server(), "PUT", Url(kind), "x"), 409)) << kind;
    struct stat info {};
    ASSERT_EQ(lstat(Disk(kind).c_str(), &info), 0);
    EXPECT_FALSE(S_ISREG(info.st_mode)) << kind;
    EXPECT_TRUE(Refused(Call(server(), "PUT", Url(kind) + std::string("/below"), "x"), 409)) << kind;
  }
  EXPECT_EQ(Names(Get(Url(""))), "fifo socket");
  for (const char* kind : {"fifo", "socket"}) EXPECT_EQ(Delete(Url(kind)).status, 204) << kind;
  close(listener);
  close(directory);
}

CONTRACT(Files, Devices, "`GET` or `PUT` of a device | 409", "Opening never blocks, whatever stands there.") {
  NEEDS(kDevices);
  ASSERT_EQ(mknod(Disk("zero").c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);
  ASSERT_EQ(mknod(Disk("console").c_str(), S_IFCHR | 0666, makedev(5, 0)), 0);
  for (const char* name : {"zero", "console"}) {
    EXPECT_TRUE(Refused(Get(Url(name)), 409)) << name;
    EXPECT_TRUE(Refused(Call(server(), "PUT", Url(name), "x"), 409)) << name;
  }
}

CONTRACT(Files, NoPermission, "no permission | 403") {
  NEEDS(kUnprivileged);
  std::unique_ptr<OwnServer> own;
  if (geteuid() == 0) {
    StartOptions options;
    options.uid = 65532;
    own = std::make_unique<OwnServer>(options);
    ASSERT_TRUE(own->listening()) << own->Stderr();
  }
  const Address& address = own ? own->address() : server();
  const std::string disk = own ? own->workspace() + "/" : Disk("");
  const std::string url = own ? "/files/" : Url("");
  WriteDisk(disk + "secret", "x");
  chmod((disk + "secret").c_str(), 0);
  ASSERT_TRUE(fs::create_directory(disk + "closed"));
  WriteDisk(disk + "closed/file", "x");
  chmod((disk + "closed").c_str(), 0555);
  ASSERT_TRUE(fs::create_directory(disk + "dark"));
  chmod((disk + "dark").c_str(), 0);
  EXPECT_TRUE(Refused(Call(address, "GET", url + "secret"), 403));
  EXPECT_TRUE(Refused(Call(address, "PUT", url + "closed/new", "x"), 403));
  EXPECT_TRUE(Refused(Call(address, "DELETE", url + "closed/file"), 403));
  EXPECT_TRUE(Refused(Call(address, "GET", url + "dark"), 403));
  EXPECT_TRUE(Refused(Call(address, "GET", url + "dark/file"), 403));
  chmod((disk + "closed").c_str(), 0755);
  chmod((disk + "dark").c_str(), 0755);
}

}  // namespace
}  // namespace osbx::conformance
