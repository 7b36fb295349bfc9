// Many JSON objects in one endless body: the engine's pull progress and its events.
#ifndef OSBX_ENGINE_JSON_STREAM_H_
#define OSBX_ENGINE_JSON_STREAM_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "transport/http_message.h"

namespace osbx::engine {

// Splits bytes that come in any pieces into objects: one a line in practice, but several may share a line, lines may be
// blank, and the last may lack its end. Memory is bounded by the largest object allowed.
class JsonStream {
 public:
  // Longer objects are refused.
  static constexpr size_t kMaxObject = size_t{2} << 20;

  // A false ends the stream: Feed() returns at once, and what follows is dropped.
  using Sink = std::function<bool(base::JsonValue object)>;

  // kBackend for what is not a sequence of JSON objects or an object over kMaxObject, and for every call after that.
  absl::Status Feed(std::string_view bytes, const Sink& sink);

  // kBackend when the body ended inside an object.
  absl::Status Finish() const;

  bool stopped() const { return stopped_; }

 private:
  absl::Status Emit(std::string_view object, const Sink& sink);
  absl::Status Fail(std::string_view why);

  std::string partial_;  // of an object whose end has not come yet
  size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool failed_ = false;
  bool stopped_ = false;
};

// A streamed answer: objects where it succeeds; an HTTP error's body is collected by the transport.
class JsonStreamBody {
 public:
  // False when nothing more is wanted: the sink ended it, or the stream is broken.
  bool OnBody(std::string_view bytes, const JsonStream::Sink& sink);
  // How it ended, given how the call did: OK for a whole stream. `what` names the call.
  absl::Status Finish(const absl::StatusOr<transport::Response>& end, std::string_view what) const;

 private:
  JsonStream stream_;
  absl::Status broken_;
};

}  // namespace osbx::engine

#endif  // OSBX_ENGINE_JSON_STREAM_H_
