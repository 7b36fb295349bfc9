#include "transport/demultiplexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_daemon.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::CodeOf;
using osbx::testing::StreamFrame;
using ::testing::HasSubstr;

struct Output {
  std::string out;
  std::string err;
  Demultiplexer::Sink sink() {
    return [this](Demultiplexer::Stream stream, std::string_view bytes) {
      EXPECT_FALSE(bytes.empty());
      (stream == Demultiplexer::Stream::kStdout ? out : err).append(bytes);
    };
  }
};

const std::string kFrames = StreamFrame(1, "hello ") + StreamFrame(2, "oops") + StreamFrame(1, "") +
                            StreamFrame(1, std::string("wor\0ld", 6)) + StreamFrame(2, "!");

TEST(Demultiplexer, TakesEverySplitInTwo) {
  for (size_t split = 0; split <= kFrames.size(); ++split) {
    Demultiplexer demultiplexer;
    Output output;
    ASSERT_TRUE(demultiplexer.Feed(kFrames.substr(0, split), output.sink()).ok());
    ASSERT_TRUE(demultiplexer.Feed(kFrames.substr(split), output.sink()).ok());
    EXPECT_TRUE(demultiplexer.Finish().ok());
    EXPECT_EQ(output.out, std::string("hello wor\0ld", 12)) << split;
    EXPECT_EQ(output.err, "oops!") << split;
  }
}

TEST(Demultiplexer, TakesSingleBytesAndRandomSplits) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Demultiplexer demultiplexer;
    Output output;
    for (size_t at = 0; at < kFrames.size();) {
      const size_t size = round == 0 ? 1 : random() % 12;
      ASSERT_TRUE(demultiplexer.Feed(kFrames.substr(at, size), output.sink()).ok());
      at += std::min(size, kFrames.size() - at);
    }
    EXPECT_TRUE(demultiplexer.Finish().ok());
    EXPECT_EQ(output.out, std::string("hello wor\0ld", 12));
    EXPECT_EQ(output.err, "oops!");
  }
}

TEST(Demultiplexer, PassesPayloadOnBeforeItsFrameIsComplete) {
  Demultiplexer demultiplexer;
  Output output;
  ASSERT_TRUE(demultiplexer.Feed(StreamFrame(1, "abcdef").substr(0, 11), output.sink()).ok());
  EXPECT_EQ(output.out, "abc");
  EXPECT_EQ(CodeOf(demultiplexer.Finish()), Code::kBackend);
}

TEST(Demultiplexer, RefusesImpossibleFramesAtTheirFirstWrongByte) {
  const std::vector<std::string> impossible = {
      std::string("\0", 1), "\4", "\xff", "O", "\1\1", std::string("\1\0\1", 3), std::string("\2\0\0\1", 4),
  };
  for (const std::string& bytes : impossible) {
    Demultiplexer demultiplexer;
    Output output;
    EXPECT_EQ(CodeOf(demultiplexer.Feed(bytes, output.sink())), Code::kBackend);
    EXPECT_EQ(CodeOf(demultiplexer.Feed(StreamFrame(1, "x"), output.sink())), Code::kBackend);
    EXPECT_EQ(CodeOf(demultiplexer.Finish()), Code::kBackend);
    EXPECT_EQ(output.out, "");
  }
}

TEST(Demultiplexer, FindsAnImpossibleFrameBehindGoodOnes) {
  Demultiplexer demultiplexer;
  Output output;
  EXPECT_EQ(CodeOf(demultiplexer.Feed(StreamFrame(1, "good") + "garbage", output.sink())), Code::kBackend);
  EXPECT_EQ(output.out, "good");
}

TEST(Demultiplexer, AllocatesNothingForAClaimedLength) {
  Demultiplexer demultiplexer;
  size_t received = 0;
  const Demultiplexer::Sink sink = [&](Demultiplexer::Stream, std::string_view bytes) { received += bytes.size(); };
  const std::string header("\1\0\0\0\xff\xff\xff\xff", 8);
  const std::string some(100, 'x');
  const struct mallinfo2 before = mallinfo2();
  ASSERT_TRUE(demultiplexer.Feed(header, sink).ok());
  ASSERT_TRUE(demultiplexer.Feed(some, sink).ok());
  const struct mallinfo2 after = mallinfo2();
  EXPECT_EQ(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd);
  EXPECT_EQ(received, 100u);
  EXPECT_EQ(CodeOf(demultiplexer.Finish()), Code::kBackend);
}

TEST(Demultiplexer, CountsAFrameOfFourGigabytes) {
  Demultiplexer demultiplexer;
  uint64_t received = 0;
  const Demultiplexer::Sink sink = [&](Demultiplexer::Stream, std::string_view bytes) { received += bytes.size(); };
  ASSERT_TRUE(demultiplexer.Feed(std::string("\1\0\0\0\xff\xff\xff\xff", 8), sink).ok());
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 4095; ++i) ASSERT_TRUE(demultiplexer.Feed(block, sink).ok());
  ASSERT_TRUE(demultiplexer.Feed(block.substr(1), sink).ok());
  EXPECT_EQ(received, 0xffffffffu);
  EXPECT_TRUE(demultiplexer.Finish().ok());
}

TEST(Demultiplexer, TurnsStreamThreeIntoTheErrorsMessage) {
  const std::string frame = StreamFrame(3, "containerd is gone");
  for (size_t split = 0; split < frame.size(); ++split) {
    Demultiplexer demultiplexer;
    Output output;
    ASSERT_TRUE(demultiplexer.Feed(frame.substr(0, split), output.sink()).ok());
    const absl::Status status = demultiplexer.Feed(frame.substr(split), output.sink());
    EXPECT_EQ(CodeOf(status), Code::kBackend);
    EXPECT_THAT(std::string(status.message()), HasSubstr("containerd is gone"));
  }
}

TEST(Demultiplexer, BoundsTheMessageOfStreamThree) {
  Demultiplexer demultiplexer;
  Output output;
  ASSERT_TRUE(demultiplexer.Feed(std::string("\3\0\0\0\xff\xff\xff\xff", 8), output.sink()).ok());
  ASSERT_TRUE(demultiplexer.Feed(std::string(1023, 'e'), output.sink()).ok());
  EXPECT_THAT(std::string(demultiplexer.Finish().message()), HasSubstr("eeee"));
  EXPECT_EQ(CodeOf(demultiplexer.Feed("e", output.sink())), Code::kBackend);
}

TEST(Demultiplexer, KnowsWhetherTheStreamEndedInsideAFrame) {
  for (size_t size = 0; size <= kFrames.size(); ++size) {
    Demultiplexer demultiplexer;
    Output output;
    ASSERT_TRUE(demultiplexer.Feed(kFrames.substr(0, size), output.sink()).ok());
    const bool boundary = size == 0 || size == 14 || size == 26 || size == 34 || size == 48 || size == 57;
    EXPECT_EQ(demultiplexer.Finish().ok(), boundary) << size;
  }
}

}  // namespace
}  // namespace osbx::transport
