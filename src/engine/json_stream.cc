#include "engine/json_stream.h"

#include <utility>

#include "engine/json_reading.h"

namespace osbx::engine {
namespace {

using base::Code;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

absl::Status JsonStream::Feed(std::string_view bytes, const Sink& sink) {
  if (failed_) return Fail("the stream was not JSON");
  if (stopped_) return absl::OkStatus();
  size_t start = 0;  // of the part of `bytes` that belongs to the object under way
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (depth_ == 0) {
      if (IsBlank(c)) continue;
      if (c != '{') return Fail("expected an object");
      start = i;
      depth_ = 1;
      continue;
    }
    // Only where an object ends matters here; whether it is JSON is the parser's to say.
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      OSBX_RETURN_IF_ERROR(Emit(bytes.substr(start, i + 1 - start), sink));
      if (stopped_) return absl::OkStatus();
      start = i + 1;
    }
  }
  if (depth_ > 0) {
    if (partial_.size() + (bytes.size() - start) > kMaxObject) return Fail("an object is too long");
    partial_.append(bytes.substr(start));
  }
  return absl::OkStatus();
}

absl::Status JsonStream::Finish() const {
  if (failed_) return base::Error(Code::kBackend, "the stream was not JSON");
  if (depth_ > 0 && !stopped_) return base::Error(Code::kBackend, "the stream ended inside an object");
  return absl::OkStatus();
}

absl::Status JsonStream::Emit(std::string_view object, const Sink& sink) {
  if (partial_.size() + object.size() > kMaxObject) return Fail("an object is too long");
  std::string whole;
  if (!partial_.empty()) {
    whole = std::exchange(partial_, std::string());
    whole.append(object);
    object = whole;
  }
  absl::StatusOr<base::JsonDocument> document = base::ParseJson(object);
  if (!document.ok()) return Fail(std::string(document.status().message()));
  stopped_ = !sink(document->root());
  return absl::OkStatus();
}

absl::Status JsonStream::Fail(std::string_view why) {
  failed_ = true;
  partial_ = std::string();
  return base::Error(Code::kBackend, why);
}

bool JsonStreamBody::OnBody(std::string_view bytes, const JsonStream::Sink& sink) {
  if (!broken_.ok()) return false;
  broken_ = stream_.Feed(bytes, sink);
  return broken_.ok() && !stream_.stopped();
}

absl::Status JsonStreamBody::Finish(const absl::StatusOr<transport::Response>& end, std::string_view what) const {
  // A call that was ended because its stream is broken has failed with kCallback only as far as the transport knows.
  if (!broken_.ok()) return base::Annotate(broken_, what);
  if (!end.ok()) return base::Annotate(end.status(), what);
  OSBX_RETURN_IF_ERROR(CheckSuccess(*end, what));
  const absl::Status last = stream_.Finish();
  return last.ok() ? last : base::Annotate(last, what);
}

}  // namespace osbx::engine
