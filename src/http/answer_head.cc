#include "http/answer_head.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <ostream>  // Beast's header needs it
#include <string_view>

namespace osbx::http {
namespace {

bool IsOwn(std::string_view name) {
  for (const std::string_view own : {"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive"}) {
    if (EqualsIgnoringCase(name, own)) return true;
  }
  return false;
}

bool Breaks(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

}  // namespace

bool IsBodyless(int status) { return status < 200 || status == 204 || status == 304; }

std::string AnswerHead(int status, const Headers& headers, uint64_t content_length, ConnectionField connection) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head.append(reason.data(), reason.size()).append("\r\n");
  for (const auto& [name, value] : headers) {
    if (name.empty() || IsOwn(name) || Breaks(name) || name.find_first_of(": ") != std::string::npos || Breaks(value)) {
      continue;
    }
    head.append(name).append(": ").append(value).append("\r\n");
  }
  if (!IsBodyless(status)) head.append("Content-Length: ").append(std::to_string(content_length)).append("\r\n");
  if (connection == ConnectionField::kClose) head.append("Connection: close\r\n");
  if (connection == ConnectionField::kKeepAlive) head.append("Connection: keep-alive\r\n");
  return head.append("\r\n");
}

}  // namespace osbx::http
