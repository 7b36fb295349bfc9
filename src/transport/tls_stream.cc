#include "transport/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "transport/curl_error.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;
using base::IoResult;

constexpr size_t kMaxRecord = 16 * 1024;

IoResult Failed(std::string_view message) {
  return {IoResult::State::kError, 0, Error(Code::kBackend, "TLS stream to the engine: " + std::string(message))};
}

// libcurl's own OpenSSL session, or null when its TLS is something else.
SSL* SessionOf(CURL* easy) {
  // The two libraries must be the same one, or an SSL* of one means nothing to the other.
  const char* curl_tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
  const std::string ours = "OpenSSL/" + std::to_string(OPENSSL_version_major()) + ".";
  if (curl_tls == nullptr || std::string_view(curl_tls).find(ours) == std::string_view::npos) return nullptr;
  curl_tlssessioninfo* info = nullptr;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == nullptr) return nullptr;
  return info->backend == CURLSSLBACKEND_OPENSSL ? static_cast<SSL*>(info->internals) : nullptr;
}

class TlsStream final : public HijackedStream {
 public:
  TlsStream(TlsConnection connection, SSL* session, int fd)
      : HijackedStream(fd), connection_(std::move(connection)), session_(session) {
    // A write that would block may be repeated from another address, with more behind it.
    SSL_set_mode(session_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_options(session_, SSL_OP_NO_RENEGOTIATION);
    SSL_clear_options(session_, SSL_OP_IGNORE_UNEXPECTED_EOF);
  }
  ~TlsStream() override { Close(); }

 private:
  CURL* easy() const { return connection_.easy->get(); }

  IoResult Receive(uint8_t* buffer, size_t capacity) override {
    size_t count = 0;
    const CURLcode code = curl_easy_recv(easy(), buffer, capacity, &count);
    if (code == CURLE_OK && count > 0) return {IoResult::State::kDone, count, absl::OkStatus()};
    if (code == CURLE_OK) {
      // Without a close_notify anybody on the way could have cut the stream.
      if ((SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) == 0) return Failed("it broke off");
      return {IoResult::State::kEof, 0, absl::OkStatus()};
    }
    if (code != CURLE_AGAIN) return Failed(connection_.easy->ReasonOf(code));
    read_needs_write_ = SSL_want_write(session_);
    return {IoResult::State::kWouldBlock, 0, absl::OkStatus()};
  }

  // After a write that would block, OpenSSL holds the record that it made of it: the next write must begin with the
  // same bytes and be no shorter, as it is with any caller that keeps what was not taken.
  IoResult Send(const uint8_t* data, size_t size) override {
    size_t count = 0;
    const CURLcode code = curl_easy_send(easy(), data, std::min(size, kMaxRecord), &count);
    if (code == CURLE_OK && count > 0) return {IoResult::State::kDone, count, absl::OkStatus()};
    if (code != CURLE_OK && code != CURLE_AGAIN) return Failed(connection_.easy->ReasonOf(code));
    write_needs_read_ = SSL_want_read(session_);
    return {IoResult::State::kWouldBlock, 0, absl::OkStatus()};
  }

  IoResult EndSending() override {
    if (!notify_made_) {
      if (IoResult result = MakeCloseNotify(); result.state != IoResult::State::kDone) return result;
      notify_made_ = true;
    }
    while (!close_notify_.empty()) {
      const ssize_t count = send(fd(), close_notify_.data(), close_notify_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) {
        close_notify_.erase(0, static_cast<size_t>(count));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return {IoResult::State::kWouldBlock, 0, absl::OkStatus()};
      } else if (errno != EINTR) {
        return Failed("send: " + ErrnoText(errno));
      }
    }
    return {};
  }

  // Lets OpenSSL write its close_notify into memory, to be sent from here. libcurl's own writer works only inside a
  // call of libcurl's (it needs the handle that the call is for), and OpenSSL's socket writer can raise SIGPIPE.
  IoResult MakeCloseNotify() {
    BIO* const memory = BIO_new(BIO_s_mem());
    BIO* const writer = SSL_get_wbio(session_);
    if (memory == nullptr || writer == nullptr || BIO_up_ref(writer) != 1) {
      BIO_free(memory);
      return {IoResult::State::kError, 0, Error(Code::kNoMemory, "out of memory")};
    }
    (void)BIO_up_ref(memory);
    SSL_set0_wbio(session_, memory);
    ERR_clear_error();
    const int sent = SSL_shutdown(session_);  // 0: sent, and the peer's has not come yet
    SSL_set0_wbio(session_, writer);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(memory, &bytes);
    if (size > 0) close_notify_.assign(bytes, static_cast<size_t>(size));
    BIO_free(memory);
    if (sent < 0) {
      ERR_clear_error();
      return Failed("it cannot be ended for writing");
    }
    return {};
  }

  void Release(bool in_forked_child) override {
    if (!in_forked_child) {
      connection_.added.reset();
      connection_.easy.reset();
      connection_.channel.reset();
      return;
    }
    // Leaked: taking it apart would end the parent's TLS session.
    (void)connection_.added.release();
    (void)connection_.easy.release();
    (void)new std::shared_ptr<CallChannel>(std::move(connection_.channel));
    (void)connection_.request.release();
    (void)connection_.endpoint.release();
  }

  TlsConnection connection_;
  SSL* const session_;
  bool notify_made_ = false;
  std::string close_notify_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HijackedStream>> NewTlsStream(TlsConnection connection, int fd) {
  // libcurl shows its session only once its connection has been used through the handle. Bytes that are there already
  // are kept; an alert against the client's certificate may be found here.
  char early[256];
  size_t early_size = 0;
  const CURLcode code = curl_easy_recv(connection.easy->get(), early, sizeof(early), &early_size);
  if (code != CURLE_OK && code != CURLE_AGAIN) return connection.easy->ErrorOf(code);
  SSL* const session = SessionOf(connection.easy->get());
  if (session == nullptr) {
    return Error(Code::kUnsupported, "streams over TLS need a libcurl that is built with this OpenSSL");
  }
  std::unique_ptr<HijackedStream> stream(new TlsStream(std::move(connection), session, fd));
  stream->Prepend(std::string(early, early_size));
  return stream;
}

}  // namespace osbx::transport
