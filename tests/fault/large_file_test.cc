// A file of 5 GiB, made as it is read, goes in and comes out: the same bytes, in constant memory.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fault/fault_support.h"

namespace osbx::testing {
namespace {

constexpr uint64_t kSize = (uint64_t{5} << 30) + 12345;  // beyond 32 bits, and no multiple of anything
// A quiet machine needs a small part of it.
constexpr int64_t kDeadlineMs = 840000;
constexpr long kMostGrowthKib = 8 * 1024;

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void Add(const uint8_t* data, size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    std::string hex;
    char digits[3];
    for (unsigned int i = 0; i < size; ++i) {
      std::snprintf(digits, sizeof(digits), "%02x", digest[i]);
      hex += digits;
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// Random bytes, and in each piece the position that it has in the file, so that no loss, repetition or exchange of
// pieces would go unseen. Cheap, since it is the transfer that is to be measured.
class Generator {
 public:
  Generator() : block_(kBlock) {
    uint64_t state = 0x9e3779b97f4a7c15;
    for (uint8_t& byte : block_) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      byte = static_cast<uint8_t>(state);
    }
  }
  void Fill(uint8_t* buffer, size_t size) {
    for (size_t at = 0; at < size; at += kBlock) std::memcpy(buffer + at, block_.data(), std::min(kBlock, size - at));
    std::memcpy(buffer, &position_, std::min(size, sizeof(position_)));
    position_ += size;
  }

 private:
  static constexpr size_t kBlock = size_t{64} << 10;
  std::vector<uint8_t> block_;
  uint64_t position_ = 1;
};

long StatusKib(const char* file_name, const char* key) {
  FILE* file = std::fopen(file_name, "re");
  char line[256];
  long kib = -1;
  while (file != nullptr && kib < 0 && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) == 0) kib = std::strtol(line + std::strlen(key), nullptr, 10);
  }
  if (file != nullptr) std::fclose(file);
  return kib;
}
long PeakKib() { return StatusKib("/proc/self/status", "VmHWM:"); }

double MibPerSecond(int64_t ms) { return static_cast<double>(kSize) / 1048576.0 / (static_cast<double>(ms) / 1000.0); }

TEST(LargeFileSoak, FiveGibibytesInAndOut) {
  ASSERT_GT(StatusKib("/proc/meminfo", "MemAvailable:"), 10L << 20) << "this test needs 10 GiB of free memory";
  const Spec spec = NewSpec();
  osbx_spec_set_memory_bytes(spec.get(), int64_t{9} << 30);
  osbx_spec_set_disk_bytes(spec.get(), int64_t{7} << 30);  // three quarters of it are /workspace
  SandboxForTest owner("large", spec.get());
  ASSERT_TRUE(Put(owner.get(), "/workspace/warm", "warm").ok());
  const long idle = PeakKib();

  Generator generator;
  Sha256 sent;
  uint64_t left = kSize;
  const Cancel cancel = NewCancel(kDeadlineMs);
  Status status = PutStream(
      owner.get(), "/workspace/large",
      [&](uint8_t* buffer, size_t capacity) -> int64_t {
        const auto part = static_cast<size_t>(std::min<uint64_t>(left, capacity));
        generator.Fill(buffer, part);
        sent.Add(buffer, part);
        left -= part;
        return static_cast<int64_t>(part);
      },
      cancel.get());
  ASSERT_TRUE(status.ok()) << status << ", " << left << " bytes left";
  const std::string hash = sent.Hex();
  Figure("put of %llu bytes: %lld ms (%.0f MiB/s), peak +%ld KiB", static_cast<unsigned long long>(kSize),
         static_cast<long long>(status.ms), MibPerSecond(status.ms), PeakKib() - idle);
  EXPECT_EQ(Shell(owner.get(), "stat -c %s /workspace/large").out, std::to_string(kSize) + "\n");

  Sha256 received;
  uint64_t bytes = 0;
  osbx_cancel_set_timeout_ms(cancel.get(), kDeadlineMs);
  status = GetStream(
      owner.get(), "/workspace/large",
      [&](const uint8_t* data, size_t size) {
        received.Add(data, size);
        bytes += size;
        return 0;
      },
      cancel.get());
  ASSERT_TRUE(status.ok()) << status << ", " << bytes << " bytes came";
  EXPECT_EQ(bytes, kSize);
  EXPECT_EQ(received.Hex(), hash);
  Figure("get: %lld ms (%.0f MiB/s), peak +%ld KiB, SHA-256 %s", static_cast<long long>(status.ms),
         MibPerSecond(status.ms), PeakKib() - idle, hash.c_str());
  EXPECT_LE(PeakKib() - idle, kMostGrowthKib);
}

}  // namespace
}  // namespace osbx::testing
