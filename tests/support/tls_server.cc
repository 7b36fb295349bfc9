#include "support/tls_server.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

namespace osbx::testing {
namespace {

struct Free {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

void Require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

Key NewKey() {
  Key key(EVP_EC_gen("P-256"));
  Require(key != nullptr, "EVP_EC_gen");
  return key;
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension != nullptr, "X509V3_EXT_conf_nid");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or by itself when there is none.
Certificate NewCertificate(const std::string& name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                           const std::string& alternative_name) {
  static std::atomic<long> serial{static_cast<long>(time(nullptr)) * 1000};
  Certificate certificate(X509_new());
  Require(certificate != nullptr, "X509_new");
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509* const signer = issuer != nullptr ? issuer : certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  AddExtension(certificate.get(), signer, NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!alternative_name.empty()) AddExtension(certificate.get(), signer, NID_subject_alt_name, alternative_name);
  Require(X509_sign(certificate.get(), issuer_key != nullptr ? issuer_key : key, EVP_sha256()) > 0, "X509_sign");
  return certificate;
}

template <typename Write>
void WriteFile(const std::string& path, Write write) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  Require(file != nullptr, "fopen");
  Require(write(file) == 1, "PEM_write");
  std::fclose(file);
}

}  // namespace

std::shared_ptr<TestCertificates> TestCertificates::Create(const std::string& host) {
  const Key ca_key = NewKey();
  const Key server_key = NewKey();
  const Key client_key = NewKey();
  // Every authority has a name of its own, so that one is not tried with the key of another.
  static std::atomic<int> authorities{0};
  const std::string name = "test authority " + std::to_string(++authorities);
  const Certificate ca = NewCertificate(name, ca_key.get(), nullptr, nullptr, "");
  const Certificate server = NewCertificate("engine", server_key.get(), ca.get(), ca_key.get(), "IP:" + host);
  const Certificate client = NewCertificate("client", client_key.get(), ca.get(), ca_key.get(), "");

  std::shared_ptr<TestCertificates> made(new TestCertificates);
  char folder[] = "/tmp/osbx-test-certificates-XXXXXX";
  Require(mkdtemp(folder) != nullptr, "mkdtemp");
  made->client_folder_ = folder;
  WriteFile(made->client_folder_ + "/ca.pem", [&](FILE* file) { return PEM_write_X509(file, ca.get()); });
  WriteFile(made->client_folder_ + "/cert.pem", [&](FILE* file) { return PEM_write_X509(file, client.get()); });
  WriteFile(made->client_folder_ + "/key.pem", [&](FILE* file) {
    return PEM_write_PrivateKey(file, client_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });

  made->context_ = SSL_CTX_new(TLS_server_method());
  Require(made->context_ != nullptr, "SSL_CTX_new");
  SSL_CTX_use_certificate(made->context_, server.get());
  SSL_CTX_use_PrivateKey(made->context_, server_key.get());
  X509_STORE_add_cert(SSL_CTX_get_cert_store(made->context_), ca.get());
  SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return made;
}

TestCertificates::~TestCertificates() {
  SSL_CTX_free(context_);
  for (const char* name : {"/ca.pem", "/cert.pem", "/key.pem"}) unlink((client_folder_ + name).c_str());
  rmdir(client_folder_.c_str());
}

std::unique_ptr<TlsSession> TlsSession::Accept(SSL_CTX* context, int fd) {
  // OpenSSL writes with write(2); this server's own threads must not raise SIGPIPE.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::unique_ptr<TlsSession> session(new TlsSession(SSL_new(context)));
  SSL_set_fd(session->ssl_, fd);
  return SSL_accept(session->ssl_) == 1 ? std::move(session) : nullptr;
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

int TlsSession::Read(char* buffer, size_t capacity) {
  const int count = SSL_read(ssl_, buffer, static_cast<int>(capacity));
  if (count > 0) return count;
  return SSL_get_error(ssl_, count) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

bool TlsSession::Write(std::string_view bytes) {
  return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
}

void TlsSession::SendCloseNotify() { (void)SSL_shutdown(ssl_); }

}  // namespace osbx::testing
