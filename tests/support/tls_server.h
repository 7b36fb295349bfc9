// The TLS side of a fake daemon, and certificates made for one test.
#ifndef OSBX_TESTS_SUPPORT_TLS_SERVER_H_
#define OSBX_TESTS_SUPPORT_TLS_SERVER_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

namespace osbx::testing {

// A certificate authority, a server certificate for `host` (an IPv4 address) and a client certificate from it.
class TestCertificates {
 public:
  static std::shared_ptr<TestCertificates> Create(const std::string& host = "127.0.0.1");
  ~TestCertificates();
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  // With ca.pem, cert.pem and key.pem, as DOCKER_CERT_PATH wants it.
  const std::string& client_folder() const { return client_folder_; }
  SSL_CTX* server_context() const { return context_; }
  // At most this version; TLS1_2_VERSION to try the older one.
  void LimitVersion(int version) { SSL_CTX_set_max_proto_version(context_, version); }

 private:
  TestCertificates() = default;

  std::string client_folder_;
  SSL_CTX* context_ = nullptr;
};

// One server session on a connected socket. A client certificate of the same authority is required.
class TlsSession {
 public:
  // Null when the handshake fails.
  static std::unique_ptr<TlsSession> Accept(SSL_CTX* context, int fd);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // 0 after the peer's close_notify, -1 when the connection broke without one.
  int Read(char* buffer, size_t capacity);
  bool Write(std::string_view bytes);
  void SendCloseNotify();
  SSL* ssl() const { return ssl_; }

 private:
  explicit TlsSession(SSL* ssl) : ssl_(ssl) {}
  SSL* const ssl_;
};

}  // namespace osbx::testing

#endif  // OSBX_TESTS_SUPPORT_TLS_SERVER_H_
