#include "base/status.h"

#include <gtest/gtest.h>

#include <string>

namespace osbx::base {
namespace {

TEST(Status, CarriesEveryCodeAndTheHttpStatus) {
  for (int32_t number = -18; number <= -1; ++number) {
    const absl::Status status = Error(static_cast<Code>(number), "text", 404);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(static_cast<int32_t>(CodeOf(status)), number);
    EXPECT_EQ(HttpStatusOf(status), 404);
    EXPECT_EQ(status.message(), "text");
  }
  EXPECT_EQ(HttpStatusOf(Error(Code::kNotFound, "no answer")), 0);
}

TEST(Status, OkIsOk) {
  EXPECT_EQ(CodeOf(absl::OkStatus()), Code::kOk);
  EXPECT_EQ(HttpStatusOf(absl::OkStatus()), 0);
}

TEST(Status, ErrorNeverReadsAsSuccess) {
  EXPECT_EQ(CodeOf(Error(Code::kOk, "not so")), Code::kInternal);
  EXPECT_EQ(CodeOf(Error(static_cast<Code>(5), "not so")), Code::kInternal);
}

TEST(Status, MapsCodesThatWereNotMadeHere) {
  EXPECT_EQ(CodeOf(absl::CancelledError("x")), Code::kCanceled);
  EXPECT_EQ(CodeOf(absl::InvalidArgumentError("x")), Code::kInvalid);
  EXPECT_EQ(CodeOf(absl::DeadlineExceededError("x")), Code::kTimeout);
  EXPECT_EQ(CodeOf(absl::NotFoundError("x")), Code::kNotFound);
  EXPECT_EQ(CodeOf(absl::PermissionDeniedError("x")), Code::kPermission);
  EXPECT_EQ(CodeOf(absl::UnimplementedError("x")), Code::kUnsupported);
  EXPECT_EQ(CodeOf(absl::UnknownError("x")), Code::kInternal);
  EXPECT_EQ(CodeOf(absl::Status(static_cast<absl::StatusCode>(77), "x")), Code::kInternal);
}

TEST(Status, CanonicalCodeFitsOurs) {
  EXPECT_TRUE(absl::IsNotFound(Error(Code::kNotFound, "x")));
  EXPECT_TRUE(absl::IsCancelled(Error(Code::kCanceled, "x")));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Error(Code::kTimeout, "x")));
  EXPECT_TRUE(absl::IsUnavailable(Error(Code::kUnreachable, "x")));
}

TEST(Status, MessageIsOneShortPrintableLine) {
  EXPECT_EQ(Error(Code::kBackend, "a\r\nb\x1b[31m\xff").message(), "a  b [31m\xEF\xBF\xBD");
  EXPECT_EQ(Error(Code::kBackend, std::string(5000, 'x')).message().size(), 1024u);
}

TEST(Status, AnnotateKeepsEverythingElse) {
  const absl::Status status = Annotate(Error(Code::kConflict, "in use", 409), "remove");
  EXPECT_EQ(status.message(), "remove: in use");
  EXPECT_EQ(CodeOf(status), Code::kConflict);
  EXPECT_EQ(HttpStatusOf(status), 409);
  EXPECT_TRUE(Annotate(absl::OkStatus(), "remove").ok());
  EXPECT_EQ(CodeOf(Annotate(absl::NotFoundError("x"), "remove")), Code::kNotFound);
  EXPECT_EQ(Annotate(status, std::string(2000, 'x')).message().size(), 1024u);
}

TEST(Status, NamesEveryCodeAndNoOther) {
  EXPECT_STREQ(CodeName(0), "OSBX_OK");
  EXPECT_STREQ(CodeName(-1), "OSBX_E_INTERNAL");
  EXPECT_STREQ(CodeName(-18), "OSBX_E_NOT_RUNNING");
  for (int32_t code = -18; code <= 0; ++code) EXPECT_STRNE(CodeName(code), "OSBX_E_UNKNOWN") << code;
  for (const int32_t code : {1, -19, INT32_MIN, INT32_MAX}) EXPECT_STREQ(CodeName(code), "OSBX_E_UNKNOWN") << code;
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return Error(Code::kInvalid, "odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  OSBX_ASSIGN_OR_RETURN(const int half, Half(value));
  OSBX_ASSIGN_OR_RETURN(const int quarter, Half(half));
  OSBX_RETURN_IF_ERROR(quarter > 100 ? Error(Code::kTooLarge, "large") : absl::OkStatus());
  return quarter;
}

TEST(Status, MacrosPassErrorsOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(CodeOf(Quarter(6).status()), Code::kInvalid);
  EXPECT_EQ(CodeOf(Quarter(800).status()), Code::kTooLarge);
}

}  // namespace
}  // namespace osbx::base
