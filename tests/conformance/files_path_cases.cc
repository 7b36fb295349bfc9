// /files: paths, their spellings, and what they may not lead to.
#include <filesystem>

#include "contract_case.h"

namespace osbx::conformance {
namespace {

namespace fs = std::filesystem;

class Paths : public Case {
 protected:
  static Response Get(const std::string& url) { return Call(server(), "GET", url); }
};

CONTRACT(Paths, DecodedOnce, "A path is percent-decoded once.", "`+` stays `+`.",
         "`...` and `..a` are names like any other.", "A query string is ignored.") {
  const std::pair<const char*, const char*> spellings[] = {
      {"a%20b", "a b"},
      {"a+b", "a+b"},
      {"%2e", ""},
      {"%2520", "%20"},
      {"%252e%252e", "%2e%2e"},
      {"...", "..."},
      {"..a", "..a"},
      {"a..", "a.."},
      {"%2e%2ea", "..a"},
      {"%61%62", "ab"},
      {"q%3Fx?y=../..", "q?x"},
      {"plain?a/../b", "plain"},
      {"dir%2Ffile", "dir/file"},
      {"%C3%a9", "\xc3\xa9"},
  };
  for (const auto& [spelling, name] : spellings) {
    if (*name == '\0') continue;
    ASSERT_EQ(Call(server(), "PUT", Url(spelling), spelling).status, 204) << spelling;
    EXPECT_EQ(ReadDisk(Disk(name)), spelling) << spelling;
    EXPECT_EQ(Get(Url(spelling)).body, spelling);
    EXPECT_EQ(Call(server(), "DELETE", Url(spelling)).status, 204) << spelling;
    EXPECT_FALSE(fs::exists(Disk(name))) << spelling;
  }
  WriteDisk(Disk("file"), "x");
  EXPECT_EQ(Names(Get(Url("?file"))), "dir file");
}

CONTRACT(Paths, Refused400, "a `..` segment, percent-encoded or not | 400", "an absolute path | 400",
         "a NUL in the path | 400") {
  WriteDisk(Disk("file"), "kept");
  ASSERT_TRUE(fs::create_directory(Disk("folder")));
  const std::string here = "/files/" + place();
  const std::vector<std::string> urls = {"/files/..",
                                         "/files/../",
                                         "/files/../etc/passwd",
                                         "/files/../files/" + place() + "/file",
                                         here + "/folder/../file",
                                         here + "/folder/..",
                                         here + "/folder/../",
                                         here + "/%2e%2e/x",
                                         here + "/%2E%2E/x",
                                         here + "/.%2e/x",
                                         here + "/%2e./x",
                                         here + "/folder/%2e%2e",
                                         here + "/folder%2F..%2Ffile",
                                         here + "/..%2f..%2fx",
                                         here + "/missing/../file",
                                         "/files/%2e%2e%2fetc%2fpasswd",
                                         "/files/..?x",
                                         here + "/..%00",
                                         here + "/../../../../x",
                                         "/files//etc/passwd",
                                         "/files/%2Fetc/passwd",
                                         "/files/%2fetc%2fpasswd",
                                         "/files//" + place() + "/file",
                                         here + "/fi%00le",
                                         here + "/file%00",
                                         here + "/%00",
                                         here + "/file%00.txt"};
  for (const std::string& url : urls) {
    for (const char* method : {"GET", "DELETE", "PUT"}) {
      const Response response =
          std::string(method) == "PUT" ? Call(server(), method, url, "x") : Call(server(), method, url);
      EXPECT_TRUE(Refused(response, 400)) << method << " " << url;
    }
  }
  EXPECT_EQ(ReadDisk(Disk("file")), "kept");
  EXPECT_EQ(Names(Get(Url(""))), "file folder");
}

CONTRACT(
    Paths, Reserved,
    "Names of `.sandbox-put-` and 32 hex digits are reserved: they are 404, a PUT of one is 400, and no listing shows "
    "them.") {
  const std::string name = ".sandbox-put-0123456789abcdef0123456789abcdef";
  WriteDisk(Disk(name), "x");
  WriteDisk(Disk(name + "0"), "longer");
  WriteDisk(Disk(name.substr(0, name.size() - 1)), "shorter");
  WriteDisk(Disk(".sandbox-put-g123456789abcdef0123456789abcdef"), "no digits");
  EXPECT_TRUE(Refused(Get(Url(name)), 404));
  EXPECT_TRUE(Refused(Call(server(), "DELETE", Url(name)), 404));
  EXPECT_TRUE(Refused(Call(server(), "PUT", Url(name), "y"), 400));
  EXPECT_TRUE(Refused(Call(server(), "PUT", Url("%2esandbox-put-0123456789abcdef0123456789abcdef"), "y"), 400));
  EXPECT_EQ(ReadDisk(Disk(name)), "x");
  EXPECT_EQ(Names(Get(Url(""))),
            name.substr(0, name.size() - 1) + " " + name + "0 " + ".sandbox-put-g123456789abcdef0123456789abcdef");
  EXPECT_EQ(Get(Url(name + "0")).body, "longer");
}

CONTRACT(Paths, SymlinksInside, "A symlink inside the workspace is followed by GET and in the middle of a path.") {
  ASSERT_TRUE(fs::create_directories(Disk("real/deep")));
  WriteDisk(Disk("real/file"), "content");
  fs::create_symlink("real/file", Disk("to-file"));
  fs::create_symlink("real", Disk("to-folder"));
  fs::create_symlink("../../real", Disk("real/deep/up"));
  fs::create_symlink("to-folder", Disk("twice"));
  EXPECT_EQ(Get(Url("to-file")).body, "content");
  EXPECT_EQ(Call(server(), "HEAD", Url("to-file")).Field("Content-Length"), "7");
  for (const char* folder : {"to-folder", "real/deep/up", "twice"}) {
    EXPECT_EQ(Get(Url(folder) + "/file").body, "content") << folder;
    EXPECT_EQ(Names(Get(Url(folder))), "deep file") << folder;
    EXPECT_EQ(Call(server(), "PUT", Url(folder) + "/new/made", "x").status, 204) << folder;
    EXPECT_EQ(ReadDisk(Disk("real/new/made")), "x") << folder;
    EXPECT_EQ(Call(server(), "DELETE", Url(folder) + "/new").status, 204) << folder;
    EXPECT_FALSE(fs::exists(Disk("real/new"))) << folder;
  }
}

CONTRACT(Paths, SymlinksOut,
         "A symlink that leads out of the workspace is 403, at the end and in the middle of a path.") {
  // The file outside can be written, so that nothing but the server stands before it.
  std::string outside = (fs::temp_directory_path() / "conformance-out.XXXXXX").string();
  ASSERT_NE(mkdtemp(outside.data()), nullptr);
  WriteDisk(outside + "/file", "secret");
  const std::string up = "../../../../../../../../../../../..";
  ASSERT_TRUE(fs::create_directory(Disk("folder")));
  fs::create_symlink(outside + "/file", Disk("file"));
  fs::create_symlink(up + outside + "/file", Disk("relative-file"));
  fs::create_symlink(outside, Disk("absolute"));
  fs::create_symlink(up + outside, Disk("relative"));
  fs::create_symlink("absolute", Disk("second"));
  fs::create_symlink("../absolute", Disk("folder/third"));
  fs::create_symlink("/", Disk("root"));
  fs::create_symlink("../..", Disk("parent"));
  for (const char* name :
       {"file", "relative-file", "absolute", "relative", "second", "folder/third", "root", "parent"}) {
    EXPECT_TRUE(Refused(Get(Url(name)), 403)) << name;
  }
  for (const std::string& folder : {std::string("absolute"), std::string("relative"), std::string("second"),
                                    std::string("folder/third"), "root" + outside}) {
    EXPECT_TRUE(Refused(Get(Url(folder + "/file")), 403)) << folder;
    EXPECT_TRUE(Refused(Call(server(), "DELETE", Url(folder + "/file")), 403)) << folder;
    EXPECT_TRUE(Refused(Call(server(), "PUT", Url(folder + "/file"), "x"), 403)) << folder;
    EXPECT_TRUE(Refused(Call(server(), "PUT", Url(folder + "/new/file"), "x"), 403)) << folder;
  }
  EXPECT_TRUE(Refused(Get(Url("parent/" + fs::path(SharedServer().workspace()).filename().string())), 403))
      << "out and in again is out";
  EXPECT_EQ(ReadDisk(outside + "/file"), "secret");
  EXPECT_FALSE(fs::exists(outside + "/new"));
  fs::remove_all(outside);
}

CONTRACT(Paths, PutOntoASymlink, "A PUT replaces a symlink at the end of its path, wherever it leads.") {
  std::string outside = (fs::temp_directory_path() / "conformance-out.XXXXXX").string();
  ASSERT_NE(mkdtemp(outside.data()), nullptr);
  WriteDisk(outside + "/file", "secret");
  WriteDisk(Disk("target"), "target");
  fs::create_symlink("target", Disk("inside"));
  fs::create_symlink(outside + "/file", Disk("outside"));
  fs::create_symlink(outside + "/new", Disk("dangling"));
  for (const char* name : {"inside", "outside", "dangling"}) {
    EXPECT_EQ(Call(server(), "PUT", Url(name), name).status, 204) << name;
    EXPECT_FALSE(fs::is_symlink(Disk(name))) << name;
    EXPECT_EQ(ReadDisk(Disk(name)), name);
  }
  EXPECT_EQ(ReadDisk(Disk("target")), "target");
  EXPECT_EQ(ReadDisk(outside + "/file"), "secret");
  EXPECT_FALSE(fs::exists(outside + "/new"));
  fs::remove_all(outside);
}

}  // namespace
}  // namespace osbx::conformance
