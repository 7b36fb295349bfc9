#include <string>

#include "base/text.h"
#include "core/spec.h"

namespace osbx::core {
namespace {

using base::Code;
using base::Error;

constexpr int64_t kMaxId = 2147483646;
constexpr char kAllowed[] = "user: allowed are uid or uid:gid (plain decimal, 1 to 2147483646), name, or name:group";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The portable user name of POSIX, not led by a digit or a sign, so that no number passes for a name.
bool IsAccountName(std::string_view name) {
  if (name.empty() || name.size() > 255 || !(IsLetter(name[0]) || name[0] == '_')) return false;
  for (const char c : name) {
    if (!IsLetter(c) && !IsDigit(c) && c != '_' && c != '.' && c != '-') return false;
  }
  return true;
}

absl::Status RootRefused() { return Error(Code::kInvalid, "user: root is refused, as user and as group"); }

// Whether `text` is a spelling of zero, however odd: the engine reads "00", "+0" and "-0" as root.
bool IsZero(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::optional<UserId>> ParseNumericUser(std::string_view user) {
  if (!user.empty() && (IsLetter(user[0]) || user[0] == '_')) return std::optional<UserId>();
  const size_t colon = user.find(':');
  const std::string_view uid_text = user.substr(0, colon);
  const std::string_view gid_text = colon == std::string_view::npos ? uid_text : user.substr(colon + 1);
  if (IsZero(uid_text) || IsZero(gid_text)) return RootRefused();
  const std::optional<int64_t> uid = base::ParseDecimal(uid_text, 1, kMaxId);
  const std::optional<int64_t> gid = base::ParseDecimal(gid_text, 1, kMaxId);
  if (!uid.has_value() || !gid.has_value()) return Error(Code::kInvalid, kAllowed);
  return std::optional<UserId>(UserId{*uid, *gid});
}

absl::Status ValidateUser(std::string_view user) {
  OSBX_ASSIGN_OR_RETURN(const std::optional<UserId> numeric, ParseNumericUser(user));
  if (numeric.has_value()) return absl::OkStatus();
  const size_t colon = user.find(':');
  const std::string_view name = user.substr(0, colon);
  if (!IsAccountName(name)) return Error(Code::kInvalid, kAllowed);
  if (name == "root") return RootRefused();
  if (colon == std::string_view::npos) return absl::OkStatus();
  const std::string_view group = user.substr(colon + 1);
  if (group == "root" || IsZero(group)) return RootRefused();
  if (!IsAccountName(group)) return Error(Code::kInvalid, kAllowed);
  return absl::OkStatus();
}

}  // namespace osbx::core
