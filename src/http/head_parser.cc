#include "http/head_parser.h"

// The only file of this layer that includes Beast.
#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace osbx::http {
namespace {

namespace beast_http = boost::beast::http;
using base::Code;
using base::Error;
using boost::beast::error_code;

constexpr size_t kMaxHeaders = 100;
constexpr int kMaxInterimHeads = 16;  // each call parses all of them again
constexpr std::string_view kVersionStart = "HTTP/1.";

absl::Status Malformed(std::string_view what) {
  return Error(Code::kBackend, "malformed HTTP answer: " + std::string(what));
}

// Collects the status and the fields that Beast's parser finds; the body is never given to it.
class HeadCollector : public beast_http::basic_parser<false> {
 public:
  explicit HeadCollector(ResponseHead& head) : head_(head) {}

 private:
  using string_view = boost::beast::string_view;

  void on_request_impl(beast_http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int, error_code&) override { head_.status = code; }
  void on_field_impl(beast_http::field, string_view name, string_view value, error_code& error) override {
    if (head_.headers.size() >= kMaxHeaders) {
      error = beast_http::error::header_limit;
      return;
    }
    head_.headers.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(string_view, error_code&) override { return 0; }
  void on_chunk_header_impl(uint64_t, string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, string_view, error_code&) override { return 0; }
  void on_finish_impl(error_code&) override {}

  ResponseHead& head_;
};

// The size of the first head in `bytes`, or 0 when its end has not arrived. Every line must end in CRLF, which Beast
// would find out only at the end; found out here, a peer that speaks something else fails at once.
absl::StatusOr<size_t> FindEnd(std::string_view bytes) {
  const std::string_view start = kVersionStart.substr(0, bytes.size());
  if (bytes.substr(0, start.size()) != start) return Malformed("it does not begin with HTTP/1.");
  for (size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    if (bytes[at - 1] != '\r') return Malformed("a line does not end in CRLF");  // at > 0: it begins with HTTP/1.
    const size_t next = at + 1;
    if (next < bytes.size() && (bytes[next] == ' ' || bytes[next] == '\t')) {
      return Malformed("a header is folded over lines");
    }
    if (at >= 3 && bytes[at - 2] == '\n') return next;
  }
  return size_t{0};
}

// What decides where the body ends must be said once and in one way. RFC 9112 section 6.3 lets a client repair some of
// these; an answer that needs repair is not trusted here.
absl::Status CheckFraming(const ResponseHead& head) {
  size_t lengths = 0;
  size_t encodings = 0;
  for (const auto& [name, value] : head.headers) {
    if (EqualsIgnoringCase(name, "Content-Length")) {
      ++lengths;
      const auto digit = [](char c) { return c >= '0' && c <= '9'; };
      // 18 digits always fit into 63 bits.
      if (value.empty() || value.size() > 18 || !std::all_of(value.begin(), value.end(), digit)) {
        return Malformed("its Content-Length is not a number");
      }
    } else if (EqualsIgnoringCase(name, "Transfer-Encoding")) {
      ++encodings;
      if (!EqualsIgnoringCase(value, "chunked")) return Malformed("its transfer encoding is not known");
    }
  }
  if (lengths > 1) return Malformed("it has several Content-Length headers");
  if (encodings > 1) return Malformed("it has several Transfer-Encoding headers");
  if (lengths > 0 && encodings > 0) return Malformed("it has both Content-Length and Transfer-Encoding");
  return absl::OkStatus();
}

absl::StatusOr<ResponseHead> ParseOne(std::string_view bytes) {
  ResponseHead head;
  HeadCollector parser(head);
  parser.header_limit(static_cast<uint32_t>(bytes.size()));
  parser.body_limit(boost::none);
  parser.eager(false);
  error_code error;
  parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  // What Beast says about framing is said more plainly by CheckFraming, for the headers up to that one.
  if (error && error != beast_http::error::need_more) {
    OSBX_RETURN_IF_ERROR(CheckFraming(head));
    if (error == beast_http::error::header_limit) return Malformed("it has too many headers");
    return Malformed(error.message());
  }
  if (!parser.is_header_done()) return Malformed("its head is incomplete");
  if (head.status < 100 || head.status > 599) return Malformed("its status is out of range");
  OSBX_RETURN_IF_ERROR(CheckFraming(head));
  return head;
}

}  // namespace

std::string_view ResponseHead::Header(std::string_view name) const { return FindHeader(headers, name); }

absl::StatusOr<std::optional<ResponseHead>> ParseResponseHead(std::string_view bytes, size_t max_size) {
  const std::string_view considered = bytes.substr(0, max_size);
  size_t offset = 0;
  for (int heads = 0; heads <= kMaxInterimHeads; ++heads) {
    const std::string_view rest = considered.substr(offset);
    OSBX_ASSIGN_OR_RETURN(const size_t size, FindEnd(rest));
    if (size == 0) {
      // A head that fills the limit without having ended is longer than it.
      if (bytes.size() >= max_size) return Malformed("its head is too long");
      return std::optional<ResponseHead>();
    }
    OSBX_ASSIGN_OR_RETURN(ResponseHead head, ParseOne(rest.substr(0, size)));
    offset += size;
    if (head.status >= 200 || head.status == 101) {
      head.size = offset;
      return std::optional<ResponseHead>(std::move(head));
    }
  }
  return Malformed("it has too many interim heads");
}

}  // namespace osbx::http
