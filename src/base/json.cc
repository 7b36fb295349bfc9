#include "base/json.h"

#include <cjson/cJSON.h>

#include <cmath>
#include <new>

#include "base/json_gate.h"
#include "base/json_number.h"

namespace osbx::base {
namespace {

struct CjsonDeleter {
  void operator()(cJSON* node) const { cJSON_Delete(node); }
};
using CjsonPtr = std::unique_ptr<cJSON, CjsonDeleter>;

// cJSON answers nothing but a lack of memory with a null pointer here.
CjsonPtr Checked(cJSON* node) {
  if (node == nullptr) throw std::bad_alloc();
  return CjsonPtr(node);
}

void AddToArray(cJSON* array, CjsonPtr item) {
  if (!cJSON_AddItemToArray(array, item.get())) throw std::bad_alloc();
  static_cast<void>(item.release());
}

void AddToObject(cJSON* object, const char* key, CjsonPtr item) {
  if (!cJSON_AddItemToObject(object, key, item.get())) throw std::bad_alloc();
  static_cast<void>(item.release());
}

CjsonPtr NewString(std::string_view value) { return Checked(cJSON_CreateString(std::string(value).c_str())); }

// Builds the tree. cJSON's own parser is not used: it depends on the locale and cuts long numbers.
class TreeSink final : public JsonSink {
 public:
  CjsonPtr TakeRoot() { return std::move(root_); }

  void OnNull() override { Place(Checked(cJSON_CreateNull())); }
  void OnBool(bool value) override { Place(Checked(cJSON_CreateBool(value))); }
  void OnNumber(std::string_view text) override {
    const JsonNumber number = ReadJsonNumber(text);
    CjsonPtr node = Checked(cJSON_CreateNumber(number.value));
    // cJSON's own rounded integer serves nobody here; its place says whether AsInt() has an answer.
    node->valueint = number.is_exact_integer ? 1 : 0;
    Place(std::move(node));
  }
  void OnString(std::string_view value) override { Place(NewString(value)); }
  void OnKey(std::string_view key) override { key_ = key; }
  void OnBegin(bool is_object) override {
    open_.push_back(Place(Checked(is_object ? cJSON_CreateObject() : cJSON_CreateArray())));
  }
  void OnEnd() override { open_.pop_back(); }

 private:
  cJSON* Place(CjsonPtr node) {
    cJSON* const placed = node.get();
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (cJSON_IsObject(open_.back())) {
      AddToObject(open_.back(), key_.c_str(), std::move(node));
    } else {
      AddToArray(open_.back(), std::move(node));
    }
    return placed;
  }

  CjsonPtr root_;
  std::vector<cJSON*> open_;
  std::string key_;
};

}  // namespace

absl::StatusOr<JsonDocument> ParseJson(std::string_view text, const JsonLimits& limits) {
  TreeSink sink;
  OSBX_RETURN_IF_ERROR(ReadJson(text, limits, sink));
  return JsonDocument(sink.TakeRoot().release());
}

JsonDocument::JsonDocument(JsonDocument&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}

JsonDocument& JsonDocument::operator=(JsonDocument&& other) noexcept {
  std::swap(node_, other.node_);
  return *this;
}

JsonDocument::~JsonDocument() { cJSON_Delete(node_); }

bool JsonValue::is_null() const { return cJSON_IsNull(node_); }
bool JsonValue::is_object() const { return cJSON_IsObject(node_); }
bool JsonValue::is_array() const { return cJSON_IsArray(node_); }

JsonValue JsonValue::operator[](std::string_view key) const {
  if (!is_object()) return JsonValue();
  const cJSON* member = nullptr;
  cJSON_ArrayForEach(member, node_) {
    if (key == member->string) return JsonValue(member);
  }
  return JsonValue();
}

std::optional<std::string> JsonValue::AsString() const {
  if (!cJSON_IsString(node_)) return std::nullopt;
  return std::string(node_->valuestring);
}

std::optional<bool> JsonValue::AsBool() const {
  if (!cJSON_IsBool(node_)) return std::nullopt;
  return cJSON_IsTrue(node_) != 0;
}

std::optional<double> JsonValue::AsNumber() const {
  if (!cJSON_IsNumber(node_) || !std::isfinite(node_->valuedouble)) return std::nullopt;
  return node_->valuedouble;
}

std::optional<int64_t> JsonValue::AsInt() const {
  if (!cJSON_IsNumber(node_) || node_->valueint == 0) return std::nullopt;
  return static_cast<int64_t>(node_->valuedouble);
}

std::vector<JsonValue> JsonValue::Items() const {
  std::vector<JsonValue> items;
  if (!is_array()) return items;
  const cJSON* item = nullptr;
  cJSON_ArrayForEach(item, node_) items.push_back(JsonValue(item));
  return items;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::Members() const {
  std::vector<std::pair<std::string, JsonValue>> members;
  if (!is_object()) return members;
  const cJSON* member = nullptr;
  cJSON_ArrayForEach(member, node_) members.emplace_back(member->string, JsonValue(member));
  return members;
}

std::string JsonValue::StringOr(std::string_view fallback) const {
  return cJSON_IsString(node_) ? std::string(node_->valuestring) : std::string(fallback);
}

int64_t JsonValue::IntOr(int64_t fallback) const { return AsInt().value_or(fallback); }
bool JsonValue::BoolOr(bool fallback) const { return AsBool().value_or(fallback); }

JsonBuilder JsonBuilder::Object() { return JsonBuilder(Checked(cJSON_CreateObject()).release()); }
JsonBuilder JsonBuilder::Array() { return JsonBuilder(Checked(cJSON_CreateArray()).release()); }

JsonBuilder::JsonBuilder(JsonBuilder&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}

JsonBuilder& JsonBuilder::operator=(JsonBuilder&& other) noexcept {
  std::swap(node_, other.node_);
  return *this;
}

JsonBuilder::~JsonBuilder() { cJSON_Delete(node_); }

JsonBuilder& JsonBuilder::Set(const char* key, std::string_view value) {
  AddToObject(node_, key, NewString(value));
  return *this;
}

JsonBuilder& JsonBuilder::Set(const char* key, bool value) {
  AddToObject(node_, key, Checked(cJSON_CreateBool(value)));
  return *this;
}

JsonBuilder& JsonBuilder::Set(const char* key, int64_t value) {
  // Raw, because cJSON prints a double, with the locale's decimal point to undo.
  AddToObject(node_, key, Checked(cJSON_CreateRaw(std::to_string(value).c_str())));
  return *this;
}

JsonBuilder& JsonBuilder::Set(const char* key, JsonBuilder value) {
  AddToObject(node_, key, CjsonPtr(std::exchange(value.node_, nullptr)));
  return *this;
}

JsonBuilder& JsonBuilder::Set(const char* key, const std::vector<std::string>& strings) {
  JsonBuilder array = Array();
  for (const std::string& string : strings) array.Add(string);
  return Set(key, std::move(array));
}

JsonBuilder& JsonBuilder::Add(std::string_view value) {
  AddToArray(node_, NewString(value));
  return *this;
}

JsonBuilder& JsonBuilder::Add(JsonBuilder value) {
  AddToArray(node_, CjsonPtr(std::exchange(value.node_, nullptr)));
  return *this;
}

std::string JsonBuilder::Print() const {
  char* const printed = cJSON_PrintUnformatted(node_);
  if (printed == nullptr) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(void*)> owned(printed, &cJSON_free);
  return std::string(printed);
}

}  // namespace osbx::base
