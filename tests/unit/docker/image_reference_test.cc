#include "docker/image_reference.h"

#include <gtest/gtest.h>

namespace osbx::docker {
namespace {

const std::string kHex(64, 'a');
const std::string kDigest = "sha256:" + kHex;

TEST(ImageReference, ReadsDockersGrammar) {
  const struct {
    std::string text;
    std::string registry, repository, tag, digest;
    std::string pull_name, local_name;
  } kCases[] = {
      {"busybox", "", "library/busybox", "latest", "", "docker.io/library/busybox", "busybox:latest"},
      {"busybox:1.36", "", "library/busybox", "1.36", "", "docker.io/library/busybox", "busybox:1.36"},
      {"osbx/busybox", "", "osbx/busybox", "latest", "", "docker.io/osbx/busybox", "osbx/busybox:latest"},
      {"docker.io/busybox", "", "library/busybox", "latest", "", "docker.io/library/busybox", "busybox:latest"},
      {"index.docker.io/a/b", "", "a/b", "latest", "", "docker.io/a/b", "a/b:latest"},
      {"library/a/b", "", "library/a/b", "latest", "", "docker.io/library/a/b", "library/a/b:latest"},
      {"host/i", "", "host/i", "latest", "", "docker.io/host/i", "host/i:latest"},
      {"localhost/i", "localhost", "i", "latest", "", "localhost/i", "localhost/i:latest"},
      {"localhost:5000/i", "localhost:5000", "i", "latest", "", "localhost:5000/i", "localhost:5000/i:latest"},
      {"localhost:5000", "", "library/localhost", "5000", "", "docker.io/library/localhost", "localhost:5000"},
      {"test.com:tag", "", "library/test.com", "tag", "", "docker.io/library/test.com", "test.com:tag"},
      {"test.com/i:tag", "test.com", "i", "tag", "", "test.com/i", "test.com/i:tag"},
      {"h:5/a/b:t@" + kDigest, "h:5", "a/b", "t", kDigest, "h:5/a/b", "h:5/a/b@" + kDigest},
      {"a@" + kDigest, "", "library/a", "", kDigest, "docker.io/library/a", "a@" + kDigest},
      {"[::1]:5000/i", "[::1]:5000", "i", "latest", "", "[::1]:5000/i", "[::1]:5000/i:latest"},
      {"[fe80::1]/i:T", "[fe80::1]", "i", "T", "", "[fe80::1]/i", "[fe80::1]/i:T"},
      {"127.0.0.1/i", "127.0.0.1", "i", "latest", "", "127.0.0.1/i", "127.0.0.1/i:latest"},
      {"Host.Com/i:Tag", "Host.Com", "i", "Tag", "", "Host.Com/i", "Host.Com/i:Tag"},
      {"Host/i", "Host", "i", "latest", "", "Host/i", "Host/i:latest"},
      {"xn--n3h.com/i", "xn--n3h.com", "i", "latest", "", "xn--n3h.com/i", "xn--n3h.com/i:latest"},
      {"f-g/a_b.c__d---e:_x.-Y", "", "f-g/a_b.c__d---e", "_x.-Y", "", "docker.io/f-g/a_b.c__d---e",
       "f-g/a_b.c__d---e:_x.-Y"},
      {"i:" + std::string(128, 't'), "", "library/i", std::string(128, 't'), "", "docker.io/library/i",
       "i:" + std::string(128, 't')},
      {"sha256:abc", "", "library/sha256", "abc", "", "docker.io/library/sha256", "sha256:abc"},
      {"abcdef123456", "", "library/abcdef123456", "latest", "", "docker.io/library/abcdef123456",
       "abcdef123456:latest"},
      {"i@sha512:" + kHex + kHex, "", "library/i", "", "sha512:" + kHex + kHex, "docker.io/library/i",
       "i@sha512:" + kHex + kHex},
  };
  for (const auto& test : kCases) {
    const absl::StatusOr<ImageReference> reference = ParseImageReference(test.text);
    ASSERT_TRUE(reference.ok()) << reference.status();
    EXPECT_FALSE(reference->is_id()) << test.text;
    EXPECT_EQ(reference->registry, test.registry) << test.text;
    EXPECT_EQ(reference->repository, test.repository) << test.text;
    EXPECT_EQ(reference->tag, test.tag) << test.text;
    EXPECT_EQ(reference->digest, test.digest) << test.text;
    EXPECT_EQ(reference->PullName(), test.pull_name);
    EXPECT_EQ(reference->LocalName(), test.local_name);
    EXPECT_EQ(reference->PullTag(), test.digest.empty() ? test.tag : test.digest);
    EXPECT_FALSE(reference->PullTag().empty()) << "an empty tag would pull all of them";
  }
}

TEST(ImageReference, TakesAnIdOfALocalImage) {
  for (const std::string& text : {kHex, kDigest}) {
    const absl::StatusOr<ImageReference> reference = ParseImageReference(text);
    ASSERT_TRUE(reference.ok()) << reference.status();
    EXPECT_TRUE(reference->is_id());
    EXPECT_EQ(reference->id, kDigest);
    EXPECT_EQ(reference->LocalName(), kDigest);
    EXPECT_TRUE(reference->repository.empty() && reference->tag.empty() && reference->digest.empty());
  }
}

TEST(ImageReference, TakesAlmostAnIdForAName) {
  const std::string text(63, 'a');
  EXPECT_EQ(ParseImageReference(text)->repository, "library/" + text);
}

TEST(ImageReference, SaysWhatIsWrongInDockersWords) {
  const std::string kFormat = "invalid reference format";
  const struct {
    std::string text;
    std::string why;
  } kCases[] = {
      {"", "repository name must have at least one component"},
      {"Busybox", kFormat + ": repository name (Busybox) must be lowercase"},
      {"a/B:t", kFormat + ": repository name (a/B) must be lowercase"},
      {"test.com/A/b", kFormat + ": repository name (A/b) must be lowercase"},
      {"i:", kFormat},
      {"i:" + std::string(129, 't'), kFormat},
      {"i:-t", kFormat},
      {"i:.t", kFormat},
      {"i:t:u", kFormat},
      {"i:t/u", kFormat},
      {":t", kFormat},
      {"@" + kDigest, kFormat},
      {"i@", kFormat},
      {"i@sha256:abc", kFormat},
      {"i@sha256", kFormat},
      {"i@sha256:" + std::string(63, 'a'), "invalid checksum digest length"},
      {"i@sha256:" + std::string(65, 'a'), "invalid checksum digest length"},
      {"i@sha256:" + std::string(64, 'A'), "invalid checksum digest format"},
      {"i@sha256:" + std::string(64, 'g'), kFormat},
      {"i@md5:" + std::string(32, 'a'), "unsupported digest algorithm"},
      {"i@" + kDigest + "@" + kDigest, kFormat},
      {"i@" + kDigest + ":t", kFormat},
      {"/i", kFormat},
      {"i/", kFormat},
      {"a//b", kFormat},
      {"-i", kFormat},
      {"i-", kFormat},
      {".i", kFormat},
      {"a..b", kFormat},
      {"a___b", kFormat},
      {"a.-b", kFormat},
      {"a b", kFormat},
      {" i", kFormat},
      {"i\n", kFormat},
      {"http://test.com/i", kFormat},
      {"test.com:x/i", kFormat},
      {"test.com:/i", kFormat},
      {"test..com/i", kFormat},
      {"-test.com/i", kFormat},
      {"test.com-/i", kFormat},
      {"user:pw@test.com/i", kFormat},
      {"[::1/i", kFormat},
      {"[]:5/i", kFormat},
      {"[::g]/i", kFormat},
      {"[::1]5/i", kFormat},
      {"\xc3\xa9", kFormat},
      {"../i", kFormat},
      {"i:t?x=1", kFormat},
      {"i%2f", kFormat},
      {std::string("i\0", 2), kFormat},
      {std::string(256, 'a'), "repository name must not be more than 255 characters"},
  };
  for (const auto& test : kCases) {
    const absl::Status status = ParseImageReference(test.text).status();
    EXPECT_EQ(base::CodeOf(status), base::Code::kInvalid) << test.text;
    const std::string message(status.message());
    const std::string ending = "\": " + test.why;
    ASSERT_GE(message.size(), ending.size()) << test.text;
    EXPECT_EQ(message.substr(message.size() - ending.size()), ending) << test.text;
  }
}

TEST(ImageReference, CountsTheWholeNameWithItsRegistry) {
  // "docker.io/library/" is part of the name as Docker counts it.
  EXPECT_TRUE(ParseImageReference(std::string(255 - 18, 'a')).ok());
  EXPECT_FALSE(ParseImageReference(std::string(255 - 17, 'a')).ok());
}

}  // namespace
}  // namespace osbx::docker
