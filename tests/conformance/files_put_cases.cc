// /files: uploads, whole or not at all.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "contract_case.h"
#include "observation.h"

namespace osbx::conformance {
namespace {

namespace fs = std::filesystem;

class Put : public Case {
 protected:
  static Response Send(const std::string& url, const std::string& body, Fields fields = {}) {
    Connection connection(server());
    connection.Send(Message("PUT", url, body, std::move(fields)));
    return connection.Receive();
  }
  static std::string List(const std::string& url) { return Names(Call(server(), "GET", url)); }
};

std::string Pattern(size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 7 + i / 251 + seed) & 0xff);
  return text;
}

CONTRACT(Put, AFile, "`PUT` of a file | 204; parents are made",
         "A PUT takes any `Content-Type` or none, and a `Content-Length` or chunks.", "Chunked bodies are accepted.") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{5'000'000}}) {
    const std::string content = Pattern(size, 1);
    EXPECT_EQ(Send(Url("a/b c/" + std::to_string(size)).replace(Url("a/b").size(), 1, "%20"), content).status, 204);
    EXPECT_TRUE(ReadDisk(Disk("a/b c/" + std::to_string(size))) == content) << size;
    for (const size_t chunk : {size_t{1}, size_t{1000}, size_t{70'001}}) {
      if (size / chunk > 70'000) continue;
      Connection connection(server());
      connection.Send(Head("PUT", Url("chunked"), {{"Transfer-Encoding", "chunked"}}) + Chunked(content, chunk));
      EXPECT_EQ(connection.Receive().status, 204);
      EXPECT_TRUE(ReadDisk(Disk("chunked")) == content) << size << " by " << chunk;
    }
  }
  for (const char* type :
       {"application/json", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "?"}) {
    EXPECT_EQ(Send(Url("typed"), "{", {{"Content-Type", type}}).status, 204) << type;
    EXPECT_EQ(ReadDisk(Disk("typed")), "{");
  }
}

CONTRACT(Put, OntoAFile, "`PUT` onto a file | 204; the file is replaced and keeps its mode") {
  WriteDisk(Disk("file"), "a longer old content");
  for (const mode_t mode : {0600, 0755, 0640, 0444, 0777}) {
    ASSERT_EQ(chmod(Disk("file").c_str(), mode), 0);
    EXPECT_EQ(Send(Url("file"), "new").status, 204);
    struct stat info {};
    ASSERT_EQ(stat(Disk("file").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, mode);
    chmod(Disk("file").c_str(), 0600);
    EXPECT_EQ(ReadDisk(Disk("file")), "new");
  }
}

CONTRACT(Put, WrongPlace, "`PUT` onto a directory, with or without a slash at the end | 409",
         "`PUT` with a slash at the end, where there is no directory | 400", "`PUT` below a file | 409") {
  ASSERT_TRUE(fs::create_directory(Disk("folder")));
  WriteDisk(Disk("file"), "kept");
  for (const std::string& url : {Url("folder"), Url("folder/"), std::string("/files/")}) {
    EXPECT_TRUE(Refused(Send(url, "x"), 409)) << url;
  }
  EXPECT_TRUE(Refused(Send(Url("new/"), "x"), 400));
  EXPECT_TRUE(Refused(Send(Url("file/"), "x"), 400));
  EXPECT_TRUE(Refused(Send(Url("file/below"), "x"), 409));
  EXPECT_TRUE(Refused(Send(Url("file/below/that"), "x"), 409));
  EXPECT_EQ(List(Url("")), "file folder");
  EXPECT_EQ(ReadDisk(Disk("file")), "kept");
}

CONTRACT(Put, NothingIsSeenBefore,
         "Until its last byte has arrived a PUT changes nothing that can be seen, but for parents that it has made.",
         "A body that breaks off leaves the old file whole and nothing new in the listing.") {
  const std::string content = Pattern(3'000'000, 2);
  const std::string chunks = Chunked(content, 100'000);
  const struct {
    std::string bytes;
    bool reset;
  } uploads[] = {
      {Message("PUT", Url("file"), content), false},
      {Message("PUT", Url("file"), content), true},
      {Head("PUT", Url("file"), {{"Transfer-Encoding", "chunked"}}) + chunks, false},
      {Head("PUT", Url("file"), {{"Transfer-Encoding", "chunked"}}) + chunks, true},
  };
  WriteDisk(Disk("file"), "old");
  for (const auto& upload : uploads) {
    for (const size_t missing : {size_t{1}, size_t{1'500'000}}) {
      Connection connection(server());
      ASSERT_TRUE(connection.Send(upload.bytes.substr(0, upload.bytes.size() - missing)));
      EXPECT_EQ(Call(server(), "GET", Url("file")).body, "old");
      EXPECT_EQ(List(Url("")), "file");
      if (upload.reset) {
        connection.Reset();
      } else {
        connection.CloseSendingSide();
        EXPECT_NE(connection.Receive().status, 204);
        connection.Close();
      }
      EXPECT_EQ(List(Url("")), "file");
      EXPECT_EQ(Call(server(), "GET", Url("file")).body, "old");
    }
  }
  // What it had written is gone from the disk as well, soon.
  EXPECT_TRUE(Eventually([&] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(Disk(""))) ++count;
    return count == 1;
  }));
  EXPECT_EQ(ReadDisk(Disk("file")), "old");
}

CONTRACT(Put, BrokenChunks, "A body that breaks off leaves the old file whole and nothing new in the listing.",
         "A bad chunk size.") {
  WriteDisk(Disk("file"), "old");
  Connection connection(server());
  connection.Send(Head("PUT", Url("file"), {{"Transfer-Encoding", "chunked"}}) + "5\r\nhello\r\nzz\r\n");
  EXPECT_TRUE(Refused(connection.Receive(), 400));
  EXPECT_TRUE(connection.ClosedInSilence());
  EXPECT_EQ(ReadDisk(Disk("file")), "old");
  EXPECT_EQ(List(Url("")), "file");
}

CONTRACT(Put, TwoAtOnce, "Of two PUTs of one file at once, one wins whole.") {
  const std::string contents[] = {std::string(2'000'000, 'a'), std::string(1'500'000, 'b')};
  for (int round = 0; round < 5; ++round) {
    Connection first(server());
    Connection second(server());
    const std::string a = Message("PUT", Url("new/file"), contents[0]);
    const std::string b = Message("PUT", Url("new/file"), contents[1]);
    for (size_t at = 0; at < a.size(); at += 250'000) {
      first.Send(std::string_view(a).substr(at, 250'000));
      if (at < b.size()) second.Send(std::string_view(b).substr(at, 250'000));
    }
    EXPECT_EQ(first.Receive().status, 204);
    EXPECT_EQ(second.Receive().status, 204);
    const std::string won = ReadDisk(Disk("new/file"));
    EXPECT_TRUE(won == contents[0] || won == contents[1]) << won.size();
    EXPECT_EQ(List(Url("new")), "file");
  }
}

CONTRACT(Put, FullDisk, "no space left | 507",
         "A full disk leaves the old file whole and nothing new in the listing.") {
  NEEDS(kSmallDisk);
  StartOptions options;
  options.disk_mebibytes = 8;
  OwnServer small(options);
  ASSERT_TRUE(small.listening()) << small.Stderr();
  const std::string old = Pattern(1'000'000, 3);
  ASSERT_EQ(Call(small.address(), "PUT", "/files/file", old).status, 204);
  const std::string large(size_t{40} << 20, 'x');
  for (const char* url : {"/files/file", "/files/new", "/files/file"}) {
    EXPECT_TRUE(Refused(Call(small.address(), "PUT", url, large), 507)) << url;
    EXPECT_EQ(Names(Call(small.address(), "GET", "/files")), "file");
    EXPECT_TRUE(Call(small.address(), "GET", "/files/file").body == old);
  }
  // What it took is given back.
  EXPECT_EQ(Call(small.address(), "PUT", "/files/second", old).status, 204);
}

CONTRACT(Put, ServerKilled, "A server that is killed leaves the old file whole and nothing new in the listing.") {
  NEEDS(kOwnServer);
  const std::string content = Pattern(size_t{24} << 20, 4);
  StartOptions options;
  options.variables["SANDBOX_WORKSPACE"] = Disk("");
  WriteDisk(Disk("file"), "old");
  {
    OwnServer first(options);
    ASSERT_TRUE(first.listening()) << first.Stderr();
    Connection upload(first.address());
    Connection other(first.address());
    ASSERT_TRUE(upload.Send(Message("PUT", "/files/file", content).substr(0, size_t{20} << 20)));
    ASSERT_TRUE(other.Send(Message("PUT", "/files/new", content).substr(0, size_t{20} << 20)));
    first.Signal(SIGKILL);
    EXPECT_EQ(first.Wait(), 137);
  }
  OwnServer second(options);
  ASSERT_TRUE(second.listening()) << second.Stderr();
  EXPECT_EQ(Names(Call(second.address(), "GET", "/files")), "file");
  EXPECT_EQ(Call(second.address(), "GET", "/files/file").body, "old");
}

CONTRACT(Put, LargeFile, "Files of more than 2 GiB work both ways, in constant memory.") {
  NEEDS(kLarge);
  const std::string block = Pattern(size_t{1} << 20, 5);
  const uint64_t blocks = 3 << 10;
  const pid_t pid = SharedServer().pid();
  const int64_t before = pid > 0 ? PeakMemoryKibibytes(pid) : 0;
  // Each block begins with its number, so that one out of place shows.
  const auto numbered = [&](uint64_t i) {
    std::string piece = block;
    std::to_string(i).copy(piece.data(), 20);
    return piece;
  };
  Connection upload(server());
  upload.Send(Head("PUT", Url("large"), {{"Content-Length", std::to_string(blocks << 20)}}));
  for (uint64_t i = 0; i < blocks; ++i) ASSERT_TRUE(upload.Send(numbered(i))) << i;
  EXPECT_EQ(upload.Receive().status, 204);
  EXPECT_EQ(fs::file_size(Disk("large")), blocks << 20);

  Connection download(server());
  download.Send(Head("GET", Url("large")));
  uint64_t at = 0;
  bool same = true;
  std::string expected;
  const Response response = download.ReceiveInPieces([&](std::string_view piece) {
    while (!piece.empty()) {
      const size_t offset = at & ((1 << 20) - 1);
      if (offset == 0) expected = numbered(at >> 20);
      const size_t size = std::min(piece.size(), expected.size() - offset);
      same = same && std::string_view(expected).substr(offset, size) == piece.substr(0, size);
      piece.remove_prefix(size);
      at += size;
    }
  });
  EXPECT_EQ(response.status, 200) << response;
  EXPECT_EQ(at, blocks << 20);
  EXPECT_TRUE(same);
  if (pid > 0) {
    EXPECT_LT(PeakMemoryKibibytes(pid) - before, 32 << 10);
  }
}

}  // namespace
}  // namespace osbx::conformance
