#include "docker/image_reference.h"

#include <algorithm>

namespace osbx::docker {
namespace {

constexpr std::string_view kDockerHub = "docker.io";
constexpr std::string_view kDockerHubLegacy = "index.docker.io";
constexpr std::string_view kOfficial = "library/";
constexpr size_t kMaxName = 255;  // of registry and repository together
constexpr size_t kMaxTag = 128;
constexpr size_t kIdDigits = 64;

constexpr char kFormat[] = "invalid reference format";

// std::isalpha and friends would ask the host program's locale.
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsAlphanumeric(char c) { return IsDigit(c) || IsLower(c) || IsUpper(c); }
bool IsLowerHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }
bool IsHex(char c) { return IsLowerHex(c) || (c >= 'A' && c <= 'F'); }

bool All(std::string_view text, bool (*is)(char)) { return !text.empty() && std::all_of(text.begin(), text.end(), is); }
bool HasUpper(std::string_view text) { return std::any_of(text.begin(), text.end(), IsUpper); }
bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

absl::Status Refuse(std::string_view text, std::string_view why) {
  std::string message = "image \"";
  message += text;
  message += "\": ";
  message += why;
  return base::Error(base::Code::kInvalid, message);
}

// Calls `check` for each part of `text` between separators; false as soon as one is.
template <typename Check>
bool EachPart(std::string_view text, char separator, Check check) {
  while (true) {
    const size_t end = text.find(separator);
    if (!check(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

// domain-component: letters, digits and hyphens, neither first nor last a hyphen.
bool IsDomainComponent(std::string_view text) {
  if (text.empty() || text.front() == '-' || text.back() == '-') return false;
  return All(text, [](char c) { return IsAlphanumeric(c) || c == '-'; });
}

// A host name, or an IPv6 address in brackets, with or without a port.
bool IsDomain(std::string_view text) {
  if (!text.empty() && text.front() == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    if (!All(text.substr(1, close - 1), [](char c) { return IsHex(c) || c == ':'; })) return false;
    text.remove_prefix(close + 1);
    return text.empty() || (text.front() == ':' && All(text.substr(1), IsDigit));
  }
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos && !All(text.substr(colon + 1), IsDigit)) return false;
  return EachPart(text.substr(0, colon), '.', IsDomainComponent);
}

// path-component: lower-case letters and digits, with ".", "_", "__" or any number of hyphens between them.
bool IsPathComponent(std::string_view text) {
  const auto is_word = [](char c) { return IsLower(c) || IsDigit(c); };
  if (text.empty() || !is_word(text.front()) || !is_word(text.back())) return false;
  for (size_t i = 0; i < text.size();) {
    if (is_word(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (!is_word(text[end])) ++end;  // ends: the last character is one
    const std::string_view separator = text.substr(i, end - i);
    const bool hyphens = separator.find_first_not_of('-') == std::string_view::npos;
    if (separator != "." && separator != "_" && separator != "__" && !hyphens) return false;
    i = end;
  }
  return true;
}

bool IsTag(std::string_view text) {
  if (text.empty() || text.size() > kMaxTag || text.front() == '.' || text.front() == '-') return false;
  return All(text, [](char c) { return IsAlphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

// Null when it is a digest, else what is wrong with it.
const char* WhyNotDigest(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return kFormat;
  const std::string_view algorithm = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (!All(digits, IsHex) || digits.size() < 32) return kFormat;
  size_t length = 0;
  if (algorithm == "sha256") length = 64;
  if (algorithm == "sha384") length = 96;
  if (algorithm == "sha512") length = 128;
  if (length == 0) {
    const bool letters = All(algorithm, [](char c) {
      return IsAlphanumeric(c) || (c != '\0' && std::string_view("+.-_").find(c) != std::string_view::npos);
    });
    return letters ? "unsupported digest algorithm" : kFormat;
  }
  if (digits.size() != length) return "invalid checksum digest length";
  return All(digits, IsLowerHex) ? nullptr : "invalid checksum digest format";
}

bool IsId(std::string_view digits) { return digits.size() == kIdDigits && All(digits, IsLowerHex); }

// Whether what stands before the first slash is a registry: nothing else can hold a dot, a colon or an upper-case
// letter.
bool IsRegistry(std::string_view text) {
  return text.find_first_of(".:") != std::string_view::npos || text == "localhost" || HasUpper(text);
}

}  // namespace

std::string ImageReference::PullName() const {
  return (registry.empty() ? std::string(kDockerHub) : registry) + "/" + repository;
}

std::string ImageReference::LocalName() const {
  if (is_id()) return id;
  std::string name = registry.empty() ? repository : registry + "/" + repository;
  if (registry.empty() && StartsWith(repository, kOfficial)) {
    const std::string_view rest = std::string_view(repository).substr(kOfficial.size());
    // "library/a/b" is no official image: without its first part it would be the repository a/b.
    if (rest.find('/') == std::string_view::npos) name = std::string(rest);
  }
  return digest.empty() ? name + ":" + tag : name + "@" + digest;
}

absl::StatusOr<ImageReference> ParseImageReference(std::string_view text) {
  ImageReference reference;
  if (text.empty()) return Refuse(text, "repository name must have at least one component");
  if (IsId(text)) {
    reference.id = "sha256:" + std::string(text);
    return reference;
  }
  if (StartsWith(text, "sha256:") && IsId(text.substr(7))) {
    reference.id = std::string(text);
    return reference;
  }

  std::string_view rest = text;
  std::string_view registry;
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && IsRegistry(text.substr(0, slash))) {
    registry = text.substr(0, slash);
    rest = text.substr(slash + 1);
  }
  if (registry == kDockerHub || registry == kDockerHubLegacy) registry = {};
  // Only what precedes the tag: a tag and the digits of a digest may be upper-case as far as this is concerned.
  const std::string_view spelled = rest.substr(0, rest.find_first_of(":@"));
  if (HasUpper(spelled)) {
    return Refuse(text, std::string(kFormat) + ": repository name (" + std::string(spelled) + ") must be lowercase");
  }

  const size_t at = rest.find('@');
  if (at != std::string_view::npos) {
    const std::string_view digest = rest.substr(at + 1);
    const char* why = WhyNotDigest(digest);
    if (why != nullptr) return Refuse(text, why);
    reference.digest = std::string(digest);
    rest = rest.substr(0, at);
  }
  const size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view tag = rest.substr(colon + 1);
    if (!IsTag(tag)) return Refuse(text, kFormat);
    reference.tag = std::string(tag);
    rest = rest.substr(0, colon);
  } else if (reference.digest.empty()) {
    reference.tag = "latest";
  }
  if (!registry.empty() && !IsDomain(registry)) return Refuse(text, kFormat);
  if (!EachPart(rest, '/', IsPathComponent)) return Refuse(text, kFormat);

  reference.registry = std::string(registry);
  if (registry.empty() && rest.find('/') == std::string_view::npos) reference.repository = kOfficial;
  reference.repository += rest;
  if (reference.PullName().size() > kMaxName) {
    return Refuse(text, "repository name must not be more than 255 characters");
  }
  return reference;
}

}  // namespace osbx::docker
