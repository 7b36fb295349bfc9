// What must hold for any bytes that an engine may send as an answer: the head's parser, and the decoder of the body
// behind it. Shared by the fuzz target and by the replay of its corpus.
#ifndef OSBX_TESTS_SUPPORT_RESPONSE_HEAD_PROPERTIES_H_
#define OSBX_TESTS_SUPPORT_RESPONSE_HEAD_PROPERTIES_H_

#include <string>
#include <string_view>

#include "http/head_parser.h"
#include "transport/body_decoder.h"

namespace osbx::testing {

inline bool SameHead(const http::ResponseHead& a, const http::ResponseHead& b) {
  return a.status == b.status && a.headers == b.headers && a.size == b.size;
}

inline std::string HeadViolation(const http::ResponseHead& head, std::string_view bytes) {
  if (head.size > bytes.size()) return "the head is longer than what was given";
  if (bytes.substr(head.size - 4, 4) != "\r\n\r\n") return "the head does not end in a blank line";
  if (head.status != 101 && (head.status < 200 || head.status > 599)) return "the status is out of range";
  if (head.headers.size() > 100) return "there are too many headers";
  for (const auto& [name, value] : head.headers) {
    if (name.empty() || name.find_first_of(std::string_view("\r\n\0: \t", 6)) != std::string::npos) return "a bad name";
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) return "a bad value";
  }
  if (!head.Header("Content-Length").empty() && !head.Header("Transfer-Encoding").empty()) return "two framings";
  return {};
}

// The body whole and byte by byte must come out the same.
inline std::string BodyViolation(const http::ResponseHead& head, std::string_view bytes) {
  constexpr size_t kLimit = 4096;
  transport::BodyDecoder whole(head, kLimit);
  transport::BodyDecoder pieces(head, kLimit);
  const absl::Status whole_status = whole.Feed(bytes);
  absl::Status pieces_status;
  for (size_t i = 0; i < bytes.size() && pieces_status.ok(); ++i) pieces_status = pieces.Feed(bytes.substr(i, 1));
  if (base::CodeOf(whole_status) != base::CodeOf(pieces_status)) return "the split changes whether a body is taken";
  if (whole.done() != pieces.done()) return "the split changes whether a body is complete";
  const std::string body = whole.TakeBody();
  if (body.size() > kLimit) return "the body is longer than its limit";
  if (whole_status.ok() && body != pieces.TakeBody()) return "the split changes a body";
  return {};
}

// Empty when everything holds. The first byte chooses where the bytes behind it are split.
inline std::string ResponseHeadViolation(std::string_view input) {
  if (input.empty()) return {};
  const std::string_view bytes = input.substr(1);
  const std::string_view part = bytes.substr(0, bytes.size() * static_cast<unsigned char>(input[0]) / 255);
  const auto early = http::ParseResponseHead(part);
  const auto late = http::ParseResponseHead(bytes);
  if (!early.ok()) return late.ok() ? "a refused beginning was taken later" : "";
  if (early->has_value()) {
    if (!late.ok() || !late->has_value() || !SameHead(**early, **late)) return "more bytes change a complete head";
  }
  if (!late.ok() || !late->has_value()) return {};
  const http::ResponseHead& head = **late;
  if (std::string violation = HeadViolation(head, bytes); !violation.empty()) return violation;
  const auto shorter = http::ParseResponseHead(bytes.substr(0, head.size - 1));
  if (!shorter.ok() || shorter->has_value()) return "a head is complete, or refused, before its last byte";
  return BodyViolation(head, bytes.substr(head.size));
}

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_RESPONSE_HEAD_PROPERTIES_H_
