// The strict reader of JSON text: checks everything that ParseJson() promises and reports what it meets on the way.
//
// It is the only reader. A second parser behind a validator could read the same text in another way.
#ifndef OSBX_BASE_JSON_GATE_H_
#define OSBX_BASE_JSON_GATE_H_

#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace osbx::base {

// Told of each value in the order of the text. Texts are valid during the call only; strings and keys come unescaped,
// numbers as they are written. A refused text may have been reported in part.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  virtual void OnNull() = 0;
  virtual void OnBool(bool value) = 0;
  virtual void OnNumber(std::string_view text) = 0;
  virtual void OnString(std::string_view value) = 0;
  virtual void OnKey(std::string_view key) = 0;  // before its value
  virtual void OnBegin(bool is_object) = 0;
  virtual void OnEnd() = 0;
};

// OK, or kInvalid with the byte offset in the message.
absl::Status ReadJson(std::string_view text, const JsonLimits& limits, JsonSink& sink);

}  // namespace osbx::base

#endif  // OSBX_BASE_JSON_GATE_H_
