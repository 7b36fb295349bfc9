#include "http/head_check.h"

#include <algorithm>

namespace osbx::http {
namespace {

using base::Code;

constexpr int kBadRequest = 400;
constexpr int kVersionNotSupported = 505;
constexpr size_t kMaxDigits = 15;  // of a chunk's size: 60 bits

absl::Status Refused(std::string_view what, int http_status = kBadRequest) {
  return base::Error(Code::kInvalid, what, http_status);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

absl::StatusOr<size_t> HeadScanner::FindEnd(std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    const char c = bytes[scanned_];
    const char before = scanned_ > 0 ? bytes[scanned_ - 1] : '\0';
    if ((c == '\n') != (before == '\r')) return Refused("a line does not end in CRLF");
    if (before == '\n' && (c == ' ' || c == '\t')) return Refused("a header is folded over lines");
    if (IsControl(c) && c != '\r' && c != '\n' && c != '\t') return Refused("there is a control character in the head");
    if (c == '\n' && scanned_ >= 3 && bytes[scanned_ - 2] == '\n') return scanned_ + 1;
  }
  return size_t{0};
}

absl::StatusOr<Framing> CheckFraming(const Headers& headers, int version) {
  Framing framing;
  for (const auto& [name, value] : headers) {
    if (EqualsIgnoringCase(name, "Content-Length")) {
      if (framing.content_length.has_value()) return Refused("there are several Content-Length headers");
      // 18 digits always fit into 63 bits.
      if (value.empty() || value.size() > 18 || !std::all_of(value.begin(), value.end(), IsDigit)) {
        return Refused("the Content-Length is not a number");
      }
      uint64_t length = 0;
      for (const char digit : value) length = length * 10 + static_cast<uint64_t>(digit - '0');
      framing.content_length = length;
    } else if (EqualsIgnoringCase(name, "Transfer-Encoding")) {
      if (framing.chunked) return Refused("there are several Transfer-Encoding headers");
      if (!EqualsIgnoringCase(value, "chunked")) return Refused("the transfer encoding is not known");
      if (version < 11) return Refused("HTTP/1.0 has no transfer encoding");
      framing.chunked = true;
    }
  }
  if (framing.content_length.has_value() && framing.chunked) {
    return Refused("there are both Content-Length and Transfer-Encoding");
  }
  return framing;
}

absl::Status CheckHost(const Headers& headers, int version) {
  const auto hosts = std::count_if(headers.begin(), headers.end(),
                                   [](const auto& header) { return EqualsIgnoringCase(header.first, "Host"); });
  if (hosts > 1) return Refused("there are several Host headers");
  if (hosts == 0 && version >= 11) return Refused("there is no Host header");
  return absl::OkStatus();
}

absl::Status CheckVersion(std::string_view line) {
  constexpr std::string_view kName = "HTTP/";
  const size_t space = line.rfind(' ');
  const std::string_view version = space == std::string_view::npos ? line : line.substr(space + 1);
  if (version.size() != kName.size() + 3 || version.substr(0, kName.size()) != kName || !IsDigit(version[5]) ||
      version[6] != '.' || !IsDigit(version[7])) {
    return Refused("the request line does not end in an HTTP version");
  }
  if (version[5] != '1' || version[7] > '1') {
    return Refused("this server speaks HTTP/1.1 and HTTP/1.0", kVersionNotSupported);
  }
  return absl::OkStatus();
}

absl::StatusOr<ChunkLine> CheckChunkLine(std::string_view bytes) {
  constexpr std::string_view kMalformed = "a chunk's size is malformed";
  const std::string_view line = bytes.substr(0, kMaxChunkLine);
  ChunkLine result;
  size_t at = 0;
  for (; at < line.size() && HexValue(line[at]) >= 0; ++at) {
    if (at == kMaxDigits) return Refused(kMalformed);
    result.size = result.size * 16 + static_cast<uint64_t>(HexValue(line[at]));
  }
  if (at < line.size() && (at == 0 || (line[at] != ';' && line[at] != '\r'))) return Refused(kMalformed);
  for (; at < line.size(); ++at) {
    if (line[at] == '\n' && line[at - 1] == '\r') {
      result.bytes = at + 1;
      return result;
    }
    if (line[at - 1] == '\r' || (IsControl(line[at]) && line[at] != '\r' && line[at] != '\t')) {
      return Refused(kMalformed);
    }
  }
  if (bytes.size() >= kMaxChunkLine) return Refused("a chunk's extensions are too long");
  return result;
}

}  // namespace osbx::http
