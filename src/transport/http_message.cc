#include "transport/http_message.h"

#include <algorithm>

#include "http/head_parser.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter); }

// Bytes above 0x7f are allowed: they cannot end a line.
bool IsFieldValue(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool IsOriginForm(std::string_view target) {
  return !target.empty() && target.front() == '/' &&
         std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

}  // namespace

std::string_view Response::Header(std::string_view name) const { return http::FindHeader(headers, name); }

absl::Status CheckRequest(const Request& request) {
  if (!IsToken(request.method)) return Error(Code::kInvalid, "the HTTP method is not a token");
  if (!IsOriginForm(request.target)) return Error(Code::kInvalid, "the request target is not percent-encoded");
  if (!IsFieldValue(request.content_type)) return Error(Code::kInvalid, "the content type has a control character");
  for (const auto& [name, value] : request.headers) {
    if (!IsToken(name)) return Error(Code::kInvalid, "a header's name is not a token");
    if (!IsFieldValue(value)) return Error(Code::kInvalid, "header " + name + " has a control character");
  }
  return absl::OkStatus();
}

bool SendsBody(const Request& request) {
  return !request.content_type.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

}  // namespace osbx::transport
