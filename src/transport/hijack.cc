#include "transport/hijack.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "http/head_parser.h"
#include "transport/body_decoder.h"
#include "transport/curl_error.h"
#include "transport/easy_handle.h"
#include "transport/hijacked_stream.h"
#include "transport/tls_stream.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;
using base::IoResult;
using http::EqualsIgnoringCase;

constexpr size_t kReadSize = 16 * 1024;
constexpr size_t kMaxErrorBody = 1u << 20;

// The request's bytes. Connection and Upgrade are ours; the rest is as for any other call.
std::string Serialize(const Endpoint& endpoint, const Request& request) {
  const bool unix_socket = endpoint.kind == Endpoint::Kind::kUnix;
  std::string text = request.method + " " + endpoint.base_path + request.target + " HTTP/1.1\r\n";
  text += "Host: " + (unix_socket ? "docker" : endpoint.authority) + "\r\n";
  text += "Connection: Upgrade\r\nUpgrade: tcp\r\n";
  for (const auto& [name, value] : request.headers) text += name + ": " + value + "\r\n";
  if (!SendsBody(request)) return text + "\r\n";
  if (request.content_type.empty()) return text + "Content-Length: 0\r\n\r\n";
  text += "Content-Type: " + request.content_type + "\r\n";
  text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n\r\n";
  return text + request.body;
}

bool IsStreamType(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return EqualsIgnoringCase(type, "application/vnd.docker.raw-stream") ||
         EqualsIgnoringCase(type, "application/vnd.docker.multiplexed-stream");
}

// Whether the answer is the start of a stream. A 200 that says where its body ends is an ordinary answer.
bool IsStream(const http::ResponseHead& head) {
  const std::string_view type = head.Header("Content-Type");
  if (head.status == 101) return type.empty() || IsStreamType(type);
  return head.status == 200 && IsStreamType(type) && head.Header("Content-Length").empty() &&
         head.Header("Transfer-Encoding").empty();
}

absl::Status BrokeOff(const Endpoint& endpoint, std::string_view reason) {
  return Error(Code::kBackend,
               "the Docker daemon at " + endpoint.ToString() + " did not answer properly: " + std::string(reason));
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// The stream on the calling thread, before it belongs to a loop.
class Exchange {
 public:
  Exchange(HijackedStream& stream, CallChannel& channel, const Endpoint& endpoint, const base::Context& context)
      : stream_(stream), channel_(channel), endpoint_(endpoint), context_(context) {}

  // An engine may answer, and close, before it has read everything; then its answer counts.
  absl::Status Send(std::string_view bytes) {
    while (!bytes.empty()) {
      OSBX_RETURN_IF_ERROR(context_.Check());
      const IoResult result = stream_.Write(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      if (result.state == IoResult::State::kDone) {
        bytes.remove_prefix(result.bytes);
      } else if (result.state == IoResult::State::kWouldBlock) {
        const short events = stream_.write_needs_read() ? CURL_WAIT_POLLIN : CURL_WAIT_POLLOUT;
        OSBX_RETURN_IF_ERROR(channel_.WaitForSocket(stream_.fd(), events, context_));
      } else {
        send_error_ = result.status;
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  // The next bytes, at least one; none at the end of the connection.
  absl::StatusOr<std::string_view> Receive() {
    for (;;) {
      OSBX_RETURN_IF_ERROR(context_.Check());
      const IoResult result = stream_.Read(buffer_, sizeof(buffer_));
      switch (result.state) {
        case IoResult::State::kDone:
          return std::string_view(reinterpret_cast<const char*>(buffer_), result.bytes);
        case IoResult::State::kEof:
          return std::string_view();
        case IoResult::State::kError:
          return BrokeOff(endpoint_, MessageOf(send_error_.ok() ? result.status : send_error_));
        case IoResult::State::kWouldBlock: {
          const short events = stream_.read_needs_write() ? CURL_WAIT_POLLOUT : CURL_WAIT_POLLIN;
          OSBX_RETURN_IF_ERROR(channel_.WaitForSocket(stream_.fd(), events, context_));
          break;
        }
      }
    }
  }

  // The head; `received` then begins with it.
  absl::StatusOr<http::ResponseHead> ReceiveHead(std::string& received) {
    for (;;) {
      OSBX_ASSIGN_OR_RETURN(const std::string_view bytes, Receive());
      if (bytes.empty()) return BrokeOff(endpoint_, "it closed the connection");
      received.append(bytes);
      // A head ends with its last line, so only a line's end can complete it.
      if (received.size() >= 8 && bytes.find('\n') == std::string_view::npos && received.size() < kMaxHead) continue;
      OSBX_ASSIGN_OR_RETURN(auto head, http::ParseResponseHead(received, kMaxHead));
      if (head) return *std::move(head);
    }
  }

  // An error's body, as much of it as comes: the status already says that the request failed.
  absl::StatusOr<std::string> ReceiveBody(const http::ResponseHead& head, std::string_view begun, size_t max_body) {
    BodyDecoder decoder(head, max_body);
    OSBX_RETURN_IF_ERROR(decoder.Feed(begun));
    while (!decoder.done()) {
      const absl::StatusOr<std::string_view> bytes = Receive();
      if (!bytes.ok() && base::CodeOf(bytes.status()) != Code::kBackend) return bytes.status();
      if (!bytes.ok() || bytes->empty()) break;
      OSBX_RETURN_IF_ERROR(decoder.Feed(*bytes));
    }
    return decoder.TakeBody();
  }

 private:
  static constexpr size_t kMaxHead = 64 * 1024;

  HijackedStream& stream_;
  CallChannel& channel_;
  const Endpoint& endpoint_;
  const base::Context& context_;
  absl::Status send_error_;
  uint8_t buffer_[kReadSize];
};

absl::StatusOr<HijackResult> RunExchange(std::unique_ptr<HijackedStream> stream, CallChannel& channel,
                                         const Endpoint& endpoint, const Request& request,
                                         const base::Context& context) {
  Exchange exchange(*stream, channel, endpoint, context);
  OSBX_RETURN_IF_ERROR(exchange.Send(Serialize(endpoint, request)));
  std::string received;
  OSBX_ASSIGN_OR_RETURN(http::ResponseHead head, exchange.ReceiveHead(received));
  HijackResult result;
  if (IsStream(head)) {
    received.erase(0, head.size);
    stream->Prepend(std::move(received));
    result.stream = std::move(stream);
  } else if (head.status == 101) {
    return BrokeOff(endpoint, "it switched to a protocol that was not asked for");
  } else {
    const size_t max_body = std::min(request.max_response, kMaxErrorBody);
    OSBX_ASSIGN_OR_RETURN(result.response.body,
                          exchange.ReceiveBody(head, std::string_view(received).substr(head.size), max_body));
  }
  result.response.status = head.status;
  result.response.headers = std::move(head.headers);
  return result;
}

absl::StatusOr<int> SocketOf(CURL* easy) {
  curl_socket_t fd = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK && fd != CURL_SOCKET_BAD) return fd;
  return Error(Code::kInternal, "libcurl has no socket after it connected");
}

absl::StatusOr<HijackResult> HijackPlain(const std::shared_ptr<CurlLibrary>& library, CallChannel& channel,
                                         const Endpoint& endpoint, const Request& request,
                                         const base::Context& context) {
  base::UniqueFd socket;
  {
    OSBX_ASSIGN_OR_RETURN(const auto easy,
                          EasyHandle::Create(library, endpoint, request, EasyHandle::Use::kConnectOnly));
    CallChannel::Added added(channel, *easy);
    OSBX_ASSIGN_OR_RETURN(const CURLcode code, added.Run(context));
    if (code != CURLE_OK) return easy->ErrorOf(code);
    OSBX_ASSIGN_OR_RETURN(const int fd, SocketOf(easy->get()));
    // libcurl closes its own descriptor with the handle.
    socket.Reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!socket.valid()) return Error(Code::kInternal, "no descriptor for a stream: " + ErrnoText(errno));
  }
  return RunExchange(NewPlainStream(std::move(socket)), channel, endpoint, request, context);
}

absl::StatusOr<HijackResult> HijackTls(const std::shared_ptr<CurlLibrary>& library,
                                       const std::shared_ptr<CallChannel>& channel, const Endpoint& endpoint,
                                       const Request& request, const base::Context& context) {
  TlsConnection connection;
  connection.channel = channel;
  // The handle outlives the call, and so must what it refers to.
  connection.endpoint = std::make_unique<Endpoint>(endpoint);
  connection.request = std::make_unique<Request>();
  connection.request->target = "/";
  OSBX_ASSIGN_OR_RETURN(connection.easy, EasyHandle::Create(library, *connection.endpoint, *connection.request,
                                                            EasyHandle::Use::kConnectOnly));
  connection.added = std::make_unique<CallChannel::Added>(*channel, *connection.easy);
  OSBX_ASSIGN_OR_RETURN(const CURLcode code, connection.added->Run(context));
  if (code != CURLE_OK) return connection.easy->ErrorOf(code);
  OSBX_ASSIGN_OR_RETURN(const int fd, SocketOf(connection.easy->get()));
  OSBX_ASSIGN_OR_RETURN(auto stream, NewTlsStream(std::move(connection), fd));
  return RunExchange(std::move(stream), *channel, endpoint, request, context);
}

}  // namespace

absl::StatusOr<HijackResult> HijackCall(const std::shared_ptr<CurlLibrary>& library, ChannelPool& pool,
                                        const Endpoint& endpoint, const Request& request,
                                        const base::Context& context) {
  OSBX_RETURN_IF_ERROR(context.Check());
  OSBX_RETURN_IF_ERROR(CheckRequest(request));
  if (endpoint.kind != Endpoint::Kind::kTls) {
    OSBX_ASSIGN_OR_RETURN(const ChannelPool::Lease channel, pool.Take());
    const base::ScopedWakeup wakeup(context, [&channel] { channel->WakeUp(); });
    return HijackPlain(library, *channel, endpoint, request, context);
  }
  // The stream keeps its channel, and may be gone before the wakeup is.
  OSBX_ASSIGN_OR_RETURN(const std::shared_ptr<CallChannel> channel, pool.NewChannel());
  const base::ScopedWakeup wakeup(context, [channel] { channel->WakeUp(); });
  return HijackTls(library, channel, endpoint, request, context);
}

}  // namespace osbx::transport
