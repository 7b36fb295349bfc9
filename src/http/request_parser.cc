#include "http/request_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "http/head_check.h"

namespace osbx::http {
namespace {

namespace beast_http = boost::beast::http;
using base::Code;
using boost::beast::error_code;

constexpr int kBadRequest = 400;
constexpr int kExpectationFailed = 417;
constexpr int kHeadTooLarge = 431;
constexpr size_t kMaxExtensions = size_t{16} << 10;  // of all chunks together
constexpr std::string_view kEmptyLine = "\r\n";

absl::Status Refused(std::string_view what, int http_status = kBadRequest) {
  return base::Error(Code::kInvalid, what, http_status);
}

// Collects what Beast's parser finds.
class Collector : public beast_http::basic_parser<true> {
 public:
  Request request;
  uint64_t left = 0;  // of the body, or of the chunk
  std::string* out = nullptr;
  bool done = false;

 private:
  using string_view = boost::beast::string_view;

  void on_request_impl(beast_http::verb, string_view method, string_view target, int version, error_code&) override {
    request.method.assign(method.data(), method.size());
    request.target.assign(target.data(), target.size());
    request.version = version;
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(beast_http::field, string_view name, string_view value, error_code& error) override {
    if (is_header_done()) return;  // a trailer
    if (request.headers.size() >= kMaxHeaders) {
      error = beast_http::error::header_limit;
      return;
    }
    request.headers.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(string_view piece, error_code&) override { return Take(piece); }
  void on_chunk_header_impl(uint64_t size, string_view, error_code&) override { left = size; }
  size_t on_chunk_body_impl(uint64_t, string_view piece, error_code&) override { return Take(piece); }
  void on_finish_impl(error_code&) override { done = true; }

  size_t Take(string_view piece) {
    out->append(piece.data(), piece.size());
    left -= piece.size();
    return piece.size();
  }
};

// Of "http://host/path" the part behind the authority: RFC 9112 section 3.2.2 wants it taken from any client.
absl::Status TakeTarget(Request& request) {
  std::string& target = request.target;
  if (target[0] == '/' || (target == "*" && request.method == "OPTIONS")) return absl::OkStatus();
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!EqualsIgnoringCase(std::string_view(target).substr(0, scheme.size()), scheme)) continue;
    const size_t path = std::min(target.find_first_of("/?#", scheme.size()), target.size());
    if (path == scheme.size()) break;  // no host
    target.erase(0, path);
    if (target.empty() || target[0] != '/') target.insert(0, 1, '/');
    return absl::OkStatus();
  }
  return Refused("the target does not begin with /");
}

}  // namespace

struct RequestParser::Impl {
  explicit Impl(size_t max) : max_head_bytes(max) {}

  const size_t max_head_bytes;
  HeadScanner scanner;  // of the head, then of the trailer
  Collector parser;
  Framing framing;
  bool keep_alive = false;
  bool expects_continue = false;
  bool behind_chunk = false;  // the line end of the chunk before has not been given to the parser
  size_t extensions = 0;

  absl::Status CheckHead();
  absl::Status CheckExpectation();
  absl::StatusOr<size_t> FindChunkHead(std::string_view bytes);

  // Gives the parser exactly `bytes`, which it has to use up.
  absl::Status Put(std::string_view bytes) {
    error_code error;
    const size_t used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (error == beast_http::error::header_limit) return Refused("there are too many headers", kHeadTooLarge);
    if (error) return Refused("malformed request: " + error.message());
    if (used != bytes.size()) return Refused("malformed request");
    return absl::OkStatus();
  }
};

absl::Status RequestParser::Impl::CheckHead() {
  const Request& request = parser.request;
  OSBX_ASSIGN_OR_RETURN(framing, CheckFraming(request.headers, request.version));
  OSBX_RETURN_IF_ERROR(CheckHost(request.headers, request.version));
  OSBX_RETURN_IF_ERROR(TakeTarget(parser.request));
  parser.request.content_length = framing.content_length;
  parser.left = framing.content_length.value_or(0);
  keep_alive = parser.keep_alive();
  return CheckExpectation();
}

absl::Status RequestParser::Impl::CheckExpectation() {
  if (parser.request.version < 11) return absl::OkStatus();
  for (const auto& [name, value] : parser.request.headers) {
    if (!EqualsIgnoringCase(name, "Expect")) continue;
    if (!EqualsIgnoringCase(value, "100-continue")) return Refused("the expectation is not known", kExpectationFailed);
    expects_continue = !parser.done;
  }
  return absl::OkStatus();
}

// The size of what leads to the next chunk's data: the end of the chunk before and a line; of the last chunk, also the
// trailer. Beast's parser would take "0x5", and keep a line of any length waiting; it gets whole and checked ones.
absl::StatusOr<size_t> RequestParser::Impl::FindChunkHead(std::string_view bytes) {
  const std::string_view line_end = behind_chunk ? kEmptyLine : std::string_view();
  const size_t compared = std::min(line_end.size(), bytes.size());
  if (bytes.substr(0, compared) != line_end.substr(0, compared)) return Refused("a chunk is longer than its size");
  const std::string_view rest = bytes.substr(compared);
  OSBX_ASSIGN_OR_RETURN(const ChunkLine line, CheckChunkLine(rest));
  if (line.bytes == 0) return size_t{0};
  size_t size = line.bytes;
  if (line.size == 0) {
    const std::string_view considered = rest.substr(0, kMaxTrailer);
    OSBX_ASSIGN_OR_RETURN(size, scanner.FindEnd(considered));
    if (size == 0 && rest.size() >= kMaxTrailer) return Refused("the trailer is too long", kHeadTooLarge);
    if (size == 0) return size_t{0};
  }
  extensions += line.bytes;
  const size_t digits = rest.find_first_of(";\r");
  extensions -= digits + kEmptyLine.size();
  if (extensions > kMaxExtensions) return Refused("the chunks' extensions are too long");
  return compared + size;
}

RequestParser::RequestParser(size_t max_head_bytes) : impl_(std::make_unique<Impl>(max_head_bytes)) {}
RequestParser::~RequestParser() = default;

absl::StatusOr<size_t> RequestParser::ParseHead(std::string_view bytes) {
  Impl& impl = *impl_;
  // An empty line in front is of a client that ends a body with one; RFC 9112 section 2.2 wants it ignored.
  const size_t before = bytes.substr(0, kEmptyLine.size()) == kEmptyLine ? kEmptyLine.size() : 0;
  if (before == 0 && bytes == kEmptyLine.substr(0, bytes.size())) return size_t{0};
  const size_t limit = std::max(impl.max_head_bytes, before) - before;
  const std::string_view considered = bytes.substr(before, limit);
  OSBX_ASSIGN_OR_RETURN(const size_t size, impl.scanner.FindEnd(considered));
  if (size == 0) {
    if (considered.size() >= limit) return Refused("the head is too long", kHeadTooLarge);
    return size_t{0};
  }
  const std::string_view head = considered.substr(0, size);
  OSBX_RETURN_IF_ERROR(CheckVersion(head.substr(0, head.find('\r'))));
  impl.scanner = HeadScanner();
  impl.parser.header_limit(static_cast<uint32_t>(size));
  impl.parser.body_limit(boost::none);
  impl.parser.eager(false);
  const absl::Status put = impl.Put(head);
  // What Beast says about framing is said more plainly by our own check, of the fields up to that one.
  if (!put.ok()) {
    OSBX_RETURN_IF_ERROR(CheckFraming(impl.parser.request.headers, impl.parser.request.version).status());
    return put;
  }
  OSBX_RETURN_IF_ERROR(impl.CheckHead());
  return before + size;
}

Request RequestParser::TakeRequest() { return std::move(impl_->parser.request); }
bool RequestParser::keep_alive() const { return impl_->keep_alive; }
bool RequestParser::expects_continue() const { return impl_->expects_continue; }
bool RequestParser::complete() const { return impl_->parser.done; }

std::optional<uint64_t> RequestParser::remaining() const {
  if (impl_->framing.chunked && !complete()) return std::nullopt;
  return impl_->parser.left;
}

absl::StatusOr<size_t> RequestParser::ParseBody(std::string_view bytes, size_t limit, std::string& out) {
  Impl& impl = *impl_;
  impl.parser.out = &out;
  const std::string_view all = bytes;
  while (!complete() && !bytes.empty() && limit > 0) {
    size_t count = 0;
    if (impl.framing.chunked && impl.parser.left == 0) {
      OSBX_ASSIGN_OR_RETURN(count, impl.FindChunkHead(bytes));
      if (count == 0) break;
      impl.behind_chunk = true;
    } else {
      count = static_cast<size_t>(std::min<uint64_t>({impl.parser.left, bytes.size(), limit}));
      limit -= count;
    }
    OSBX_RETURN_IF_ERROR(impl.Put(bytes.substr(0, count)));
    bytes.remove_prefix(count);
  }
  return all.size() - bytes.size();
}

}  // namespace osbx::http
