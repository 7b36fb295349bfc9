// File transfers whose connection breaks: a put leaves the old file or the whole new one, a get is never a success with
// less than the file, and no temporary file stays behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fault/stream_fixture.h"

namespace osbx::testing {
namespace {

using Action = ProxyRule::Action;

class TransferCut : public ExecStream {
 protected:
  void PutOld() {
    const Status status = Put(owner_->get(), "/workspace/d/file", "old");
    ASSERT_TRUE(status.ok()) << status;
  }
  std::string Content() {
    std::string bytes;
    const Status status = Get(owner_->get(), "/workspace/d/file", &bytes);
    EXPECT_TRUE(status.ok()) << status;
    return bytes;
  }
  // The guest cleans up behind a put that broke; that takes a moment.
  void ExpectNoTemporary() {
    std::string names;
    EXPECT_TRUE(WaitUntil([&] {
      names = Shell(owner_->get(), "ls -A /workspace/d").out;
      return names == "file\n";
    })) << names;
  }
  static Reader Source(size_t size) {
    return [left = size](uint8_t* buffer, size_t capacity) mutable -> int64_t {
      const size_t part = std::min(left, capacity);
      std::fill_n(buffer, part, 'n');
      left -= part;
      return static_cast<int64_t>(part);
    };
  }
  static void PrintStatus(const char* what, size_t at, const Status& status) {
    Figure("%s at byte %zu: %s after %lld ms: %s", what, at, osbx_status_name(status.code),
           static_cast<long long>(status.ms), status.message.c_str());
  }
};

TEST_F(TransferCut, PutCutAnywhereLeavesTheOldFileOrTheWholeNewOne) {
  for (const size_t size : {size_t{10}, size_t{300000}, size_t{3000000}}) {
    for (const size_t at : {size_t{0}, size_t{1}, size / 2, size - 1, size}) {
      PutOld();
      const int rule = proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutRequest).At(at).Times(1));
      const Status status = Put(sandbox_.get(), "/workspace/d/file", std::string(size, 'n'));
      EXPECT_GE(proxy_.Hits(rule), 1);
      PrintStatus("put cut", at, status);
      EXPECT_LT(status.ms, kBoundMs);
      ExpectNoTemporary();
      const std::string content = Content();
      if (status.ok()) {
        EXPECT_EQ(content.size(), size) << "a success that is none";
      } else {
        EXPECT_TRUE(content == "old" || (at == size && content.size() == size)) << content.size();
      }
      proxy_.ClearRules();
    }
  }
}

TEST_F(TransferCut, PutStreamCutAnywhereLeavesTheOldFileOrTheWholeNewOne) {
  constexpr size_t kSize = 2000000;
  constexpr size_t kRecord = 52;  // what tells the guest that all of it came
  for (const size_t at : {size_t{0}, kSize / 2, kSize, kSize + 1, kSize + kRecord - 1, kSize + kRecord}) {
    PutOld();
    proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutRequest).At(at).Times(1));
    const Status status = PutStream(sandbox_.get(), "/workspace/d/file", Source(kSize));
    PrintStatus("put_stream cut", at, status);
    EXPECT_LT(status.ms, kBoundMs);
    ExpectNoTemporary();
    const std::string content = Content();
    const bool whole = content == std::string(kSize, 'n');
    if (status.ok()) {
      EXPECT_TRUE(whole) << "a success that is none";
    } else {
      EXPECT_TRUE(content == "old" || (at == kSize + kRecord && whole)) << content.size();
    }
    proxy_.ClearRules();
  }
}

TEST_F(TransferCut, PutThatStallsEndsByDeadlineAndByCancel) {
  PutOld();
  for (const bool fire : {false, true}) {
    proxy_.AddRule(ProxyRule("POST", kStart, Action::kStallRequest).At(100000).Times(1));
    const Cancel cancel = NewCancel(fire ? -1 : 1500);
    std::unique_ptr<FireLater> later;
    if (fire) later = std::make_unique<FireLater>(cancel.get(), 1500);
    const Status status = PutStream(sandbox_.get(), "/workspace/d/file", Source(size_t{50} << 20), cancel.get());
    PrintStatus(fire ? "put stalled, cancelled after 1.5 s," : "put stalled, deadline 1.5 s,", 100000, status);
    EXPECT_EQ(status.code, fire ? OSBX_E_CANCELED : OSBX_E_TIMEOUT) << status;
    EXPECT_LT(status.ms, 1500 + 2000);
    ExpectNoTemporary();
    EXPECT_EQ(Content(), "old");
    proxy_.ClearRules();
  }
}

TEST_F(TransferCut, SourceThatFailsLeavesTheOldFile) {
  PutOld();
  size_t given = 0;
  const Status status =
      PutStream(sandbox_.get(), "/workspace/d/file", [&](uint8_t* buffer, size_t capacity) -> int64_t {
        if (given > 1000000) return -1;
        std::fill_n(buffer, capacity, 'n');
        given += capacity;
        return static_cast<int64_t>(capacity);
      });
  EXPECT_EQ(status.code, OSBX_E_CALLBACK) << status;
  ExpectNoTemporary();
  EXPECT_EQ(Content(), "old");
}

TEST_F(TransferCut, GetCutAnywhereIsNeverASuccess) {
  constexpr size_t kSize = 1000000;
  ASSERT_TRUE(Put(owner_->get(), "/workspace/d/file", std::string(kSize, 'n')).ok());
  for (const size_t at : {size_t{0}, size_t{4}, size_t{8}, size_t{20000}, size_t{500000}, kSize}) {
    proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutResponse).BehindHead(at).Times(1));
    size_t got = 0;
    const Cancel cancel = NewCancel(20000);
    const Status status = GetStream(
        sandbox_.get(), "/workspace/d/file",
        [&](const uint8_t*, size_t size) {
          got += size;
          return 0;
        },
        cancel.get());
    PrintStatus("get cut", at, status);
    EXPECT_FALSE(status.ok() && got != kSize) << got << " bytes are said to be all of " << kSize;
    EXPECT_LT(status.ms, kBoundMs);
    proxy_.ClearRules();
  }
}

// The cut falls between two frames, and the engine says that all went well: the nastiest place.
TEST_F(TransferCut, GetCutBetweenFramesIsNeverAShortSuccess) {
  const std::string content(100, 'n');
  ASSERT_TRUE(Put(owner_->get(), "/workspace/d/file", content).ok());
  proxy_.AddRule(ProxyRule("POST", kStart, Action::kCutResponse).BehindHead(0).Times(1));
  std::string got;
  const Status status = Get(sandbox_.get(), "/workspace/d/file", &got);
  PrintStatus("get cut before the first frame", 0, status);
  EXPECT_FALSE(status.ok() && got != content) << got.size() << " bytes are said to be all";
}

TEST_F(TransferCut, GetWhoseDaemonGoesAwayIsAnError) {
  ASSERT_TRUE(Put(owner_->get(), "/workspace/d/file", std::string(5000000, 'n')).ok());
  const Status status = GetStream(sandbox_.get(), "/workspace/d/file", [&](const uint8_t*, size_t) {
    proxy_.Die();
    return 0;
  });
  PrintStatus("daemon gone during a get", 0, status);
  EXPECT_TRUE(status.code == OSBX_E_BACKEND || status.code == OSBX_E_UNREACHABLE) << status;
  EXPECT_LT(status.ms, kBoundMs);
  proxy_.Revive();
}

TEST_F(TransferCut, GetThatStallsEndsByDeadlineAndByCancel) {
  ASSERT_TRUE(Put(owner_->get(), "/workspace/d/file", std::string(5000000, 'n')).ok());
  for (const bool fire : {false, true}) {
    proxy_.AddRule(ProxyRule("POST", kStart, Action::kStallResponse).BehindHead(100000).Times(1));
    const Cancel cancel = NewCancel(fire ? -1 : 1500);
    std::unique_ptr<FireLater> later;
    if (fire) later = std::make_unique<FireLater>(cancel.get(), 1500);
    const Status status = GetStream(
        sandbox_.get(), "/workspace/d/file", [](const uint8_t*, size_t) { return 0; }, cancel.get());
    PrintStatus(fire ? "get stalled, cancelled after 1.5 s," : "get stalled, deadline 1.5 s,", 100000, status);
    EXPECT_EQ(status.code, fire ? OSBX_E_CANCELED : OSBX_E_TIMEOUT) << status;
    EXPECT_LT(status.ms, kBoundMs);
    proxy_.ClearRules();
  }
}

}  // namespace
}  // namespace osbx::testing
