#include "docker/exec_outcome.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace osbx::docker {
namespace {

// How the sentence begins: Docker on stdout, Podman on stderr.
constexpr std::array<std::string_view, 4> kSentences = {
    "OCI runtime exec failed: ",
    "cannot exec in a ",
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
  return std::any_of(kSentences.begin(), kSentences.end(),
                     [text](std::string_view sentence) { return text.substr(0, sentence.size()) == sentence; });
}

// The reason stands behind the last quoted name, which is the guest's.
bool ReasonHas(std::string_view text, std::initializer_list<std::string_view> signs) {
  const size_t quote = text.rfind('"');
  const std::string_view reason = quote == std::string_view::npos ? text : text.substr(quote);
  return std::any_of(signs.begin(), signs.end(),
                     [reason](std::string_view sign) { return reason.find(sign) != std::string_view::npos; });
}

bool SaysNotFound(std::string_view text) {
  return ReasonHas(text, {"no such file or directory", "executable file not found", "not found in $PATH"});
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

// EAGAIN, in gVisor's words and in those of Linux.
bool StartFailureFilter::at_capacity() const {
  return ReasonHas(held_, {"try again", "resource temporarily unavailable"});
}

bool StartFailureFilter::not_running() const {
  return ReasonHas(held_, {"cannot exec in a stopped ", "cannot exec in a deleted "});
}

// containerd's words when the runtime's process ended without any of its own (seen of runsc on a busy host).
bool StartFailureFilter::runtime_failed() const { return ReasonHas(held_, {"did not terminate successfully"}); }

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
