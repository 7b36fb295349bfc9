#include "http/head_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "http/head_check.h"

namespace osbx::http {
namespace {

namespace beast_http = boost::beast::http;
using base::Code;
using base::Error;
using boost::beast::error_code;

constexpr int kMaxInterimHeads = 16;  // each call parses all of them again
constexpr std::string_view kVersionStart = "HTTP/1.";

absl::Status Malformed(std::string_view what) {
  return Error(Code::kBackend, "malformed HTTP answer: " + std::string(what));
}

// Collects the status and the fields that Beast's parser finds; the body is never given to it.
class HeadCollector : public beast_http::basic_parser<false> {
 public:
  explicit HeadCollector(ResponseHead& head) : head_(head) {}
  int version() const { return version_; }

 private:
  using string_view = boost::beast::string_view;

  void on_request_impl(beast_http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int version, error_code&) override {
    head_.status = code;
    version_ = version;
  }
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
  int version_ = 11;
};

// The size of the first head in `bytes`, or 0 when its end has not arrived. A peer that speaks something else fails at
// its first bytes.
absl::StatusOr<size_t> FindEnd(std::string_view bytes) {
  const std::string_view start = kVersionStart.substr(0, bytes.size());
  if (bytes.substr(0, start.size()) != start) return Malformed("it does not begin with HTTP/1.");
  const absl::StatusOr<size_t> end = HeadScanner().FindEnd(bytes);
  if (!end.ok()) return Malformed(std::string(end.status().message()));
  return end;
}

// RFC 9112 section 6.3 lets a client repair some of what is refused here; an answer that needs repair is not trusted.
absl::Status CheckBodyEnd(const ResponseHead& head, int version) {
  const absl::Status framing = CheckFraming(head.headers, version).status();
  return framing.ok() ? framing : Malformed(std::string(framing.message()));
}

absl::StatusOr<ResponseHead> ParseOne(std::string_view bytes) {
  ResponseHead head;
  HeadCollector parser(head);
  parser.header_limit(static_cast<uint32_t>(bytes.size()));
  parser.body_limit(boost::none);
  parser.eager(false);
  error_code error;
  parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  // What Beast says about framing is said more plainly by our own check, for the headers up to that one.
  if (error && error != beast_http::error::need_more) {
    OSBX_RETURN_IF_ERROR(CheckBodyEnd(head, parser.version()));
    if (error == beast_http::error::header_limit) return Malformed("it has too many headers");
    return Malformed(error.message());
  }
  if (!parser.is_header_done()) return Malformed("its head is incomplete");
  if (head.status < 100 || head.status > 599) return Malformed("its status is out of range");
  OSBX_RETURN_IF_ERROR(CheckBodyEnd(head, parser.version()));
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
