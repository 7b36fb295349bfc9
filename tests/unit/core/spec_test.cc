#include "core/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace osbx::core {
namespace {

using base::Code;
using base::CodeOf;
using std::chrono::milliseconds;
using testing::HasSubstr;

SpecBuilder WithImage() {
  SpecBuilder spec;
  spec.SetImage("busybox");
  return spec;
}

// The message with which a spec is refused; "" when it is not.
std::string Refusal(const SpecBuilder& spec) {
  const absl::StatusOr<Options> options = spec.Resolve();
  if (options.ok()) return "";
  EXPECT_EQ(CodeOf(options.status()), Code::kInvalid);
  return std::string(options.status().message());
}

template <typename Argument, typename Value>
std::string RefusalOf(void (SpecBuilder::*set)(Argument), Value value) {
  SpecBuilder spec = WithImage();
  (spec.*set)(value);
  return Refusal(spec);
}

TEST(Spec, DefaultsAreTheSafeOnes) {
  const absl::StatusOr<Options> options = WithImage().Resolve();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->image, "busybox");
  EXPECT_EQ(options->runtime, "runsc");
  EXPECT_EQ(options->user, "1000:1000");
  EXPECT_EQ(options->cpus, 2);
  EXPECT_EQ(options->memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(options->disk_bytes, int64_t{1} << 30);
  EXPECT_EQ(options->max_processes, 256);
  EXPECT_EQ(options->idle_timeout, std::chrono::minutes(15));
  EXPECT_EQ(options->max_age, std::chrono::hours(2));
  EXPECT_EQ(options->default_timeout, std::chrono::seconds(60));
  EXPECT_EQ(options->max_timeout, std::chrono::minutes(10));
  EXPECT_EQ(options->egress, Egress::kNone);
  EXPECT_FALSE(options->allow_exec);
  EXPECT_TRUE(options->env.empty());
  EXPECT_TRUE(options->labels.empty());
}

TEST(Spec, EveryOptionIsPassedOn) {
  SpecBuilder spec = WithImage();
  spec.SetRuntime("runc");
  spec.SetUser("1:2");
  spec.SetCpus(0.5);
  spec.SetMemoryBytes(64 << 20);
  spec.SetDiskBytes(8 << 20);
  spec.SetMaxProcesses(32);
  spec.SetIdleTimeoutMs(1);
  spec.SetMaxAgeMs(2);
  spec.SetDefaultTimeoutMs(3);
  spec.SetMaxTimeoutMs(4);
  spec.SetEgress(1);
  spec.SetAllowExec(true);
  spec.AddEnv("A", "1");
  spec.AddLabel("k", "v");
  const absl::StatusOr<Options> options = spec.Resolve();
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->runtime, "runc");
  EXPECT_EQ(options->user, "1:2");
  EXPECT_EQ(options->cpus, 0.5);
  EXPECT_EQ(options->memory_bytes, 64 << 20);
  EXPECT_EQ(options->disk_bytes, 8 << 20);
  EXPECT_EQ(options->max_processes, 32);
  EXPECT_EQ(options->idle_timeout, milliseconds(1));
  EXPECT_EQ(options->max_age, milliseconds(2));
  EXPECT_EQ(options->default_timeout, milliseconds(3));
  EXPECT_EQ(options->max_timeout, milliseconds(4));
  EXPECT_EQ(options->egress, Egress::kUnrestricted);
  EXPECT_TRUE(options->allow_exec);
  EXPECT_THAT(options->env, testing::ElementsAre("A=1"));
  EXPECT_THAT(options->labels, testing::ElementsAre(testing::Pair("k", "v")));
}

TEST(Spec, ImageIsRequiredAndHasNoSpaces) {
  EXPECT_THAT(Refusal(SpecBuilder()), HasSubstr("image"));
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetImage, "localhost:5000/a/b:tag@sha256:00"), "");
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("a\n"), std::string("a\xff"),
                                 std::string("a\0b", 3), std::string(1025, 'a')}) {
    EXPECT_THAT(RefusalOf(&SpecBuilder::SetImage, bad), HasSubstr("image")) << bad;
  }
}

TEST(Spec, RuntimeIsAPlainName) {
  for (const std::string& good : {std::string("runc"), std::string("0.runsc_22-x"), std::string(128, 'a')}) {
    EXPECT_EQ(RefusalOf(&SpecBuilder::SetRuntime, good), "") << good;
  }
  for (const std::string& bad : {std::string(), std::string("-r"), std::string(".r"), std::string("a b"),
                                 std::string("a/b"), std::string("a\n"), std::string(129, 'a')}) {
    EXPECT_THAT(RefusalOf(&SpecBuilder::SetRuntime, bad), HasSubstr("runtime")) << bad;
  }
}

TEST(Spec, CpusThatWouldBecomeUnlimitedAreRefused) {
  for (const double bad : {0.0, -1.0, 1e-10, 0.00999, 1000000.5, std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max()}) {
    EXPECT_THAT(RefusalOf(&SpecBuilder::SetCpus, bad), HasSubstr("0.01")) << bad;
  }
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetCpus, 0.01), "");
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetCpus, 1000000.0), "");
}

TEST(Spec, MemoryHasBothBounds) {
  for (const int64_t bad :
       {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, kMinMemoryBytes - 1, kMaxMemoryBytes + 1, INT64_MAX}) {
    EXPECT_THAT(RefusalOf(&SpecBuilder::SetMemoryBytes, bad), HasSubstr("16 MiB")) << bad;
  }
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetMemoryBytes, kMinMemoryBytes), "");
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetMemoryBytes, kMaxMemoryBytes), "");
}

TEST(Spec, DiskIsPartOfTheMemory) {
  for (const int64_t bad : {INT64_MIN, int64_t{0}, int64_t{1}, int64_t{4095}, kMinDiskBytes - 1}) {
    EXPECT_THAT(RefusalOf(&SpecBuilder::SetDiskBytes, bad), HasSubstr("1 MiB")) << bad;
  }
  SpecBuilder spec = WithImage();
  spec.SetMemoryBytes(32 << 20);
  spec.SetDiskBytes(32 << 20);
  EXPECT_EQ(Refusal(spec), "");
  spec.SetDiskBytes((32 << 20) + 1);
  EXPECT_THAT(Refusal(spec), HasSubstr("33554432 bytes"));
}

TEST(Spec, DefaultDiskFollowsASmallMemoryToItsHalf) {
  SpecBuilder spec = WithImage();
  spec.SetMemoryBytes(64 << 20);
  EXPECT_EQ(spec.Resolve()->disk_bytes, 32 << 20);
  spec.SetMemoryBytes(kMinMemoryBytes);
  EXPECT_GE(spec.Resolve()->disk_bytes, kMinDiskBytes);
  spec.SetMemoryBytes(int64_t{8} << 30);
  EXPECT_EQ(spec.Resolve()->disk_bytes, int64_t{1} << 30);
}

TEST(Spec, ProcessesHaveBothBounds) {
  for (const int64_t bad : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1000001}, INT64_MAX}) {
    EXPECT_THAT(RefusalOf(&SpecBuilder::SetMaxProcesses, bad), HasSubstr("processes")) << bad;
  }
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetMaxProcesses, 1), "");
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetMaxProcesses, 1000000), "");
}

TEST(Spec, ZeroKeepsABoundAndNegativeDisablesIt) {
  SpecBuilder spec = WithImage();
  spec.SetIdleTimeoutMs(0);
  spec.SetMaxAgeMs(0);
  EXPECT_EQ(spec.Resolve()->idle_timeout, std::chrono::minutes(15));
  EXPECT_EQ(spec.Resolve()->max_age, std::chrono::hours(2));
  spec.SetIdleTimeoutMs(INT64_MIN);
  spec.SetMaxAgeMs(-5);
  EXPECT_LT(spec.Resolve()->idle_timeout.count(), 0);
  EXPECT_LT(spec.Resolve()->max_age.count(), 0);
}

TEST(Spec, HugeTimesCannotOverflow) {
  SpecBuilder spec = WithImage();
  spec.SetIdleTimeoutMs(INT64_MAX);
  spec.SetMaxAgeMs(INT64_MAX);
  spec.SetMaxTimeoutMs(INT64_MAX);
  spec.SetDefaultTimeoutMs(INT64_MAX - 1);
  const absl::StatusOr<Options> options = spec.Resolve();
  ASSERT_TRUE(options.ok()) << options.status();
  for (const milliseconds ms :
       {options->idle_timeout, options->max_age, options->max_timeout, options->default_timeout}) {
    EXPECT_EQ(ms, kMaxDuration);
    EXPECT_GT(std::chrono::nanoseconds(ms).count(), 0);
  }
}

TEST(Spec, DefaultTimeoutIsAtMostTheCeiling) {
  SpecBuilder spec = WithImage();
  spec.SetMaxTimeoutMs(5000);
  EXPECT_EQ(spec.Resolve()->default_timeout, milliseconds(5000)) << "a default gives way to what was set";
  spec.SetDefaultTimeoutMs(5000);
  EXPECT_EQ(spec.Resolve()->default_timeout, milliseconds(5000));
  spec.SetDefaultTimeoutMs(5001);
  EXPECT_THAT(Refusal(spec), HasSubstr("5000 ms"));

  // Against the default ceiling as well.
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetDefaultTimeoutMs, 600000), "");
  EXPECT_THAT(RefusalOf(&SpecBuilder::SetDefaultTimeoutMs, 600001), HasSubstr("default timeout"));
}

TEST(Spec, ZeroTimeoutsKeepTheDefaultsAndNegativeOnesAreRefused) {
  SpecBuilder spec = WithImage();
  spec.SetDefaultTimeoutMs(0);
  spec.SetMaxTimeoutMs(0);
  EXPECT_EQ(spec.Resolve()->default_timeout, std::chrono::seconds(60));
  EXPECT_EQ(spec.Resolve()->max_timeout, std::chrono::minutes(10));
  EXPECT_THAT(RefusalOf(&SpecBuilder::SetDefaultTimeoutMs, -1), HasSubstr("default timeout"));
  EXPECT_THAT(RefusalOf(&SpecBuilder::SetMaxTimeoutMs, INT64_MIN), HasSubstr("maximum timeout"));
}

TEST(Spec, EgressIsOneOfTwo) {
  EXPECT_EQ(RefusalOf(&SpecBuilder::SetEgress, 1), "");
  EXPECT_THAT(RefusalOf(&SpecBuilder::SetEgress, 2), HasSubstr("egress"));
  EXPECT_THAT(RefusalOf(&SpecBuilder::SetEgress, UINT32_MAX), HasSubstr("egress"));
}

TEST(Spec, ProfileIsRefusedWhereThereAreNone) {
  EXPECT_THAT(RefusalOf(&SpecBuilder::SetProfile, "small"), HasSubstr("profile"));
}

TEST(Spec, LaterEnvironmentValueReplacesTheEarlierInPlace) {
  SpecBuilder spec = WithImage();
  spec.AddEnv("A", "1");
  spec.AddEnv("B", "");
  spec.AddEnv("A", "x=y\nz");
  EXPECT_THAT(spec.Resolve()->env, testing::ElementsAre("A=x=y\nz", "B="));
}

TEST(Spec, EnvironmentKeysAndValuesAreChecked) {
  const auto refusal = [](std::string_view key, std::string_view value) {
    SpecBuilder spec = WithImage();
    spec.AddEnv(key, value);
    return Refusal(spec);
  };
  EXPECT_EQ(refusal("a b.c", "\xC3\xA9"), "");
  EXPECT_THAT(refusal("", "v"), HasSubstr("key"));
  EXPECT_THAT(refusal("A=B", "v"), HasSubstr("key"));
  EXPECT_THAT(refusal(std::string_view("A\0", 2), "v"), HasSubstr("key"));
  EXPECT_THAT(refusal("A\xff", "v"), HasSubstr("key"));
  EXPECT_THAT(refusal("A", std::string_view("\0", 1)), HasSubstr("value"));
  EXPECT_THAT(refusal("A", "\xff"), HasSubstr("value"));
}

TEST(Spec, EnvironmentIsBoundedAltogether) {
  SpecBuilder spec = WithImage();
  const std::string half(kMaxEnvBytes / 2 - 3, 'x');  // with "A=" and NUL, half of the bound
  spec.AddEnv("A", half);
  spec.AddEnv("A", half);  // replaced: counts once
  spec.AddEnv("B", half);
  EXPECT_EQ(Refusal(spec), "");
  spec.AddEnv("C", "");
  EXPECT_THAT(Refusal(spec), HasSubstr("1 MiB"));

  EXPECT_THAT(
      [&] {
        SpecBuilder one = WithImage();
        one.AddEnv("A", std::string(kMaxEnvBytes, 'x'));
        return Refusal(one);
      }(),
      HasSubstr("1 MiB"));
}

TEST(Spec, LabelKeysAndTotalAreBounded) {
  const auto refusal = [](std::string_view key, std::string_view value) {
    SpecBuilder spec = WithImage();
    spec.AddLabel(key, value);
    return Refusal(spec);
  };
  EXPECT_EQ(refusal("osbx.managed", "multi\nline \xE2\x82\xAC"), "") << "stored under a prefix, so no key is reserved";
  EXPECT_EQ(refusal(std::string(255, 'k'), ""), "");
  EXPECT_THAT(refusal(std::string(256, 'k'), ""), HasSubstr("label key"));
  EXPECT_THAT(refusal("", "v"), HasSubstr("label key"));
  EXPECT_THAT(refusal("a\tb", "v"), HasSubstr("label key"));
  EXPECT_THAT(refusal("a\xff", "v"), HasSubstr("label key"));
  EXPECT_THAT(refusal("k", "\xff"), HasSubstr("label value"));
  EXPECT_EQ(refusal("k", std::string(kMaxLabelBytes - 1, 'v')), "");
  EXPECT_THAT(refusal("k", std::string(kMaxLabelBytes, 'v')), HasSubstr("64 KiB"));

  SpecBuilder spec = WithImage();
  for (int i = 0; i < 3; ++i) spec.AddLabel("k", std::string(kMaxLabelBytes - 1, 'v'));
  EXPECT_EQ(Refusal(spec), "") << "a replaced value does not count";
}

TEST(Spec, FirstBadValueSticks) {
  SpecBuilder spec = WithImage();
  spec.SetCpus(0);
  spec.SetMemoryBytes(0);
  spec.SetCpus(1);
  spec.Refuse("image is NULL");
  EXPECT_THAT(Refusal(spec), HasSubstr("cpus"));
}

TEST(SandboxName, IsOneTo255BytesWithoutControlCharacters) {
  EXPECT_TRUE(ValidateSandboxName("a").ok());
  EXPECT_TRUE(ValidateSandboxName("../ %2f \xF0\x9F\x90\xB3").ok());
  EXPECT_TRUE(ValidateSandboxName(std::string(255, 'n')).ok());
  for (const std::string& bad : {std::string(), std::string(256, 'n'), std::string("a\0b", 3), std::string("a\n"),
                                 std::string("\x7f"), std::string("\xC2\x85"), std::string("\xff")}) {
    EXPECT_EQ(CodeOf(ValidateSandboxName(bad)), Code::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace osbx::core
