#include "docker/labels.h"

#include <gtest/gtest.h>

namespace osbx::docker {
namespace {

std::map<std::string, std::string> GoodLabels(const std::string& name) {
  core::Options options;
  options.labels = {{"team", "a"}, {"osbx.managed", "0"}, {"empty", ""}};
  return MakeLabels(name, options, {1234, 5678}, 1700000000000);
}

TEST(Labels, ContainerNameIsAHashOfTheName) {
  // printf 'job-1' | sha256sum
  EXPECT_EQ(ContainerName("job-1"), "osbx-" + ContainerName("job-1").substr(5));
  EXPECT_EQ(ContainerName("job-1").size(), 5u + 32u);
  EXPECT_NE(ContainerName("job-1"), ContainerName("job-2"));
  EXPECT_EQ(ContainerName("abc"), "osbx-ba7816bf8f01cfea414140de5dae2223");
}

TEST(Labels, WhatWasSetIsReadBackExactly) {
  auto labels = GoodLabels("job-1");
  auto record = ReadRecord(ContainerName("job-1"), labels);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->name, "job-1");
  EXPECT_EQ(record->created_ms, 1700000000000);
  EXPECT_EQ(record->user.uid, 1234);
  EXPECT_EQ(record->user.gid, 5678);
  EXPECT_EQ(record->default_timeout, std::chrono::seconds(60));
  EXPECT_EQ(record->max_timeout, std::chrono::minutes(10));
  // A caller's label that looks like ours stays the caller's.
  EXPECT_EQ(record->user_labels,
            (std::map<std::string, std::string>{{"team", "a"}, {"osbx.managed", "0"}, {"empty", ""}}));
  EXPECT_EQ(labels["osbx.managed"], "1");
}

TEST(Labels, ADisabledBoundIsNoNumber) {
  core::Options options;
  options.idle_timeout = std::chrono::milliseconds(-1);
  auto labels = MakeLabels("n", options, {1, 1}, 0);
  EXPECT_EQ(labels["osbx.idle-ms"], "");
  EXPECT_EQ(labels["osbx.max-age-ms"], "7200000");
}

TEST(Labels, LabelAndContainerNameMustAgree) {
  auto labels = GoodLabels("job-1");
  EXPECT_EQ(base::CodeOf(ReadRecord(ContainerName("job-2"), labels).status()), base::Code::kNotFound);
  EXPECT_EQ(base::CodeOf(ReadRecord("job-1", labels).status()), base::Code::kNotFound);
  labels["osbx.managed"] = "true";
  EXPECT_EQ(base::CodeOf(ReadRecord(ContainerName("job-1"), labels).status()), base::Code::kNotFound);
  EXPECT_EQ(base::CodeOf(ReadRecord(ContainerName("job-1"), {}).status()), base::Code::kNotFound);
}

TEST(Labels, BoundsAreCheckedLikeInput) {
  for (const auto& [key, value] : std::map<std::string, std::string>{{"osbx.created-ms", "junk"},
                                                                     {"osbx.created-ms", "-1"},
                                                                     {"osbx.timeout-ms", "0"},
                                                                     {"osbx.timeout-ms", "1e3"},
                                                                     {"osbx.timeout-max-ms", "99999999999999999999"},
                                                                     {"osbx.user-id", "0:0"},
                                                                     {"osbx.user-id", "root"},
                                                                     {"osbx.user-id", ""},
                                                                     {"osbx.format", "x"}}) {
    auto labels = GoodLabels("job-1");
    labels[key] = value;
    EXPECT_FALSE(ReadRecord(ContainerName("job-1"), labels).ok()) << key << "=" << value;
    labels.erase(key);
    EXPECT_EQ(base::CodeOf(ReadRecord(ContainerName("job-1"), labels).status()), base::Code::kBackend) << key;
  }
}

TEST(Labels, ANewerFormatIsListedWithoutItsBounds) {
  auto labels = GoodLabels("job-1");
  labels["osbx.format"] = "2";
  labels["osbx.timeout-ms"] = "a new meaning";
  auto record = ReadRecord(ContainerName("job-1"), labels);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->newer_format());
}

TEST(Labels, StatesOfTheEngine) {
  EXPECT_EQ(StateFromStatus("running"), core::State::kRunning);
  EXPECT_EQ(StateFromStatus("created"), core::State::kStopped);
  EXPECT_EQ(StateFromStatus("exited"), core::State::kStopped);
  for (const char* status : {"paused", "restarting", "removing", "dead", "", "Running"}) {
    EXPECT_EQ(StateFromStatus(status), core::State::kError) << status;
  }
}

}  // namespace
}  // namespace osbx::docker
