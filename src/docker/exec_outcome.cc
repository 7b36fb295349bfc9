#include "docker/exec_outcome.h"

#include <algorithm>
#include <array>

namespace osbx::docker {
namespace {

// How the sentence begins: Docker on stdout, Podman on stderr.
constexpr std::array<std::string_view, 3> kSentences = {
    "OCI runtime exec failed: ",
    "Error: OCI runtime ",
    "Error: runc: ",
};

bool MayBeSentence(std::string_view text) {
  return std::any_of(kSentences.begin(), kSentences.end(), [text](std::string_view sentence) {
    size_t size = std::min(text.size(), sentence.size());
    return text.substr(0, size) == sentence.substr(0, size);
  });
}

bool IsSentence(std::string_view text) {
  return std::any_of(kSentences.begin(), kSentences.end(), [text](std::string_view sentence) {
    return text.substr(0, sentence.size()) == sentence;
  });
}

// The reason stands behind the last quoted name, which is the guest's.
bool SaysNotFound(std::string_view text) {
  const size_t quote = text.rfind('"');
  const std::string_view reason = quote == std::string_view::npos ? text : text.substr(quote);
  for (std::string_view sign : {"no such file or directory", "executable file not found", "not found in $PATH"}) {
    if (reason.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void StartFailureFilter::Feed(uint32_t stream, std::string_view bytes, const Sink& sink) {
  if (decided_) return sink(stream, bytes);
  if (held_.empty()) stream_ = stream;
  if (stream == stream_ && held_.size() + bytes.size() <= kMostHeld) {
    held_.append(bytes);
    if (MayBeSentence(held_)) return;
    bytes = {};
  }
  decided_ = true;
  std::string held = std::move(held_);
  held_.clear();
  if (!held.empty()) sink(stream_, held);
  if (!bytes.empty()) sink(stream, bytes);
}

std::optional<int32_t> StartFailureFilter::Conclude(int64_t exit_code, const Sink& sink) {
  if (decided_ || held_.empty()) return std::nullopt;
  decided_ = true;
  if (IsSentence(held_) && exit_code >= 125 && exit_code <= 128) return SaysNotFound(held_) ? 127 : 126;
  sink(stream_, held_);
  held_.clear();
  return std::nullopt;
}

core::JobEnd EndFromExitCode(int64_t exit_code) {
  core::JobEnd end;
  end.exit_code = static_cast<int32_t>(exit_code & 0xff);
  end.reason = core::EndReason::kExited;
  constexpr int32_t kHighestSignal = 64;
  if (end.exit_code > 128 && end.exit_code <= 128 + kHighestSignal) {
    end.reason = core::EndReason::kSignalled;
    end.signal = end.exit_code - 128;
  }
  return end;
}

}  // namespace osbx::docker
