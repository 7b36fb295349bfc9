#include "transport/easy_handle.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transport/certificate_file.h"
#include "transport/curl_error.h"

namespace osbx::transport {
namespace {

using base::Code;
using base::Error;

constexpr long kConnectTimeoutMs = 30'000;
constexpr long kBufferSize = 64L * 1024;

// A child that the host forked may hold a copy of the socket; the engine must see the end all the same.
int ShutdownAndCloseSocket(void*, curl_socket_t fd) {
  (void)shutdown(fd, SHUT_RDWR);
  return close(fd);
}

int CloseSocket(void*, curl_socket_t fd) { return close(fd); }

// Whether the endpoint's host must be looked up, which libcurl does on a thread of its own.
bool NeedsResolver(const Endpoint& endpoint) {
  if (endpoint.kind == Endpoint::Kind::kUnix || endpoint.authority.front() == '[') return false;
  const std::string_view authority = endpoint.authority;
  const std::string_view host = authority.substr(0, authority.rfind(':'));
  return host != "localhost" && host.find_first_not_of("0123456789.") != std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EasyHandle>> EasyHandle::Create(std::shared_ptr<CurlLibrary> library,
                                                               const Endpoint& endpoint, const Request& request,
                                                               Use use) {
  OSBX_RETURN_IF_ERROR(CheckRequest(request));
  CURL* const easy = curl_easy_init();
  if (easy == nullptr) return Error(Code::kNoMemory, "out of memory");
  std::unique_ptr<EasyHandle> handle(new EasyHandle(std::move(library), endpoint, request, easy));
  OSBX_RETURN_IF_ERROR(handle->SetUp(use));
  return handle;
}

EasyHandle::EasyHandle(std::shared_ptr<CurlLibrary> library, const Endpoint& endpoint, const Request& request,
                       CURL* easy)
    : library_(std::move(library)),
      endpoint_(endpoint),
      request_(request),
      easy_(easy),
      collector_(request.max_response) {}

EasyHandle::~EasyHandle() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

template <typename Value>
void EasyHandle::Set(CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy_, option, value);
  if (setup_error_ == CURLE_OK) setup_error_ = code;
}

absl::Status EasyHandle::SetUp(Use use) {
  Set(CURLOPT_ERRORBUFFER, error_text_.data());
  SetConnectionOptions(use);
  if (endpoint_.kind == Endpoint::Kind::kTls) OSBX_RETURN_IF_ERROR(SetTlsOptions());
  if (use == Use::kConnectOnly) {
    Set(CURLOPT_CONNECT_ONLY, 1L);
  } else {
    OSBX_RETURN_IF_ERROR(SetRequestOptions());
  }
  if (setup_error_ == CURLE_OUT_OF_MEMORY) return Error(Code::kNoMemory, "out of memory");
  if (setup_error_ != CURLE_OK) {
    return Error(Code::kUnsupported, std::string("libcurl refuses an option: ") + curl_easy_strerror(setup_error_));
  }
  return absl::OkStatus();
}

// libcurl's own socket() call does not set FD_CLOEXEC, and its failure leaves no errno.
curl_socket_t EasyHandle::OpenSocket(void* self, curlsocktype, curl_sockaddr* address) {
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
  if (fd < 0) static_cast<EasyHandle*>(self)->socket_error_ = errno;
  return fd;
}

void EasyHandle::SetConnectionOptions(Use use) {
  const bool tls = endpoint_.kind == Endpoint::Kind::kTls;
  const bool unix_socket = endpoint_.kind == Endpoint::Kind::kUnix;
  const std::string authority = unix_socket ? "docker" : endpoint_.authority;
  Set(CURLOPT_URL, ((tls ? "https://" : "http://") + authority + "/").c_str());
  Set(CURLOPT_PROTOCOLS_STR, tls ? "https" : "http");
  if (unix_socket) Set(CURLOPT_UNIX_SOCKET_PATH, endpoint_.socket_path.c_str());
  // Nothing from the environment or the home directory has a say.
  Set(CURLOPT_PROXY, "");
  Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  Set(CURLOPT_NOSIGNAL, 1L);
  // A name lookup that hangs must not hold up a call that was given up; see NoteGivenUp().
  Set(CURLOPT_QUICK_EXIT, 1L);
  Set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  Set(CURLOPT_TCP_NODELAY, 1L);
  Set(CURLOPT_TCP_KEEPALIVE, 1L);
  Set(CURLOPT_OPENSOCKETFUNCTION, &EasyHandle::OpenSocket);
  Set(CURLOPT_OPENSOCKETDATA, this);
  Set(CURLOPT_CLOSESOCKETFUNCTION, use == Use::kConnectOnly ? &CloseSocket : &ShutdownAndCloseSocket);
  if (use != Use::kKeptConnection) Set(CURLOPT_FRESH_CONNECT, 1L);
  // With this option a handle that only connects would lose its connection at once.
  if (use == Use::kFreshConnection) Set(CURLOPT_FORBID_REUSE, 1L);
}

absl::Status EasyHandle::SetTlsOptions() {
  Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Set(CURLOPT_SSL_VERIFYPEER, 1L);
  Set(CURLOPT_SSL_VERIFYHOST, 2L);
  // The engine's own authority and no other: the system's are libcurl's defaults.
  Set(CURLOPT_CAINFO, static_cast<char*>(nullptr));
  Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  OSBX_RETURN_IF_ERROR(SetCertificate(CURLOPT_CAINFO_BLOB, "/ca.pem"));
  OSBX_RETURN_IF_ERROR(SetCertificate(CURLOPT_SSLCERT_BLOB, "/cert.pem"));
  return SetCertificate(CURLOPT_SSLKEY_BLOB, "/key.pem");
}

absl::Status EasyHandle::SetCertificate(CURLoption option, const char* name) {
  OSBX_ASSIGN_OR_RETURN(std::string content, ReadCertificateFile(endpoint_.cert_path + name));
  curl_blob blob{content.data(), content.size(), CURL_BLOB_COPY};
  Set(option, &blob);
  return absl::OkStatus();
}

absl::Status EasyHandle::SetRequestOptions() {
  Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Set(CURLOPT_HTTP09_ALLOWED, 0L);
  Set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  Set(CURLOPT_FOLLOWLOCATION, 0L);
  Set(CURLOPT_BUFFERSIZE, kBufferSize);
  // The target as it is, not taken apart and put together again.
  Set(CURLOPT_PATH_AS_IS, 1L);
  Set(CURLOPT_REQUEST_TARGET, (endpoint_.base_path + request_.target).c_str());
  if (request_.method == "HEAD") {
    Set(CURLOPT_NOBODY, 1L);
  } else {
    Set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  if (SendsBody(request_)) {
    const bool has_content = !request_.content_type.empty();
    Set(CURLOPT_POSTFIELDS, has_content ? request_.body.data() : "");
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(has_content ? request_.body.size() : 0));
    // Without a value, libcurl's own header of that name is left out.
    OSBX_RETURN_IF_ERROR(AddHeader("Content-Type:" + (has_content ? " " + request_.content_type : std::string())));
    OSBX_RETURN_IF_ERROR(AddHeader("Expect:"));
  }
  for (const auto& [name, value] : request_.headers) {
    // A semicolon is libcurl's spelling of a header without a value.
    OSBX_RETURN_IF_ERROR(AddHeader(value.empty() ? name + ";" : name + ": " + value));
  }
  Set(CURLOPT_HTTPHEADER, headers_);
  collector_.Install(easy_);
  return absl::OkStatus();
}

absl::Status EasyHandle::AddHeader(const std::string& line) {
  curl_slist* const grown = curl_slist_append(headers_, line.c_str());
  if (grown == nullptr) return Error(Code::kNoMemory, "out of memory");
  headers_ = grown;
  return absl::OkStatus();
}

absl::StatusOr<Response> EasyHandle::Finish(CURLcode code) {
  if (!collector_.failure().ok()) return collector_.failure();
  if (code == CURLE_OK) {
    if (collector_.head_complete()) return collector_.TakeResponse();
    code = CURLE_GOT_NOTHING;
  }
  return ErrorOf(code);
}

absl::Status EasyHandle::ErrorOf(CURLcode code) const {
  long os_error = 0;
  curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &os_error);
  if (os_error == 0) os_error = socket_error_;
  return ErrorOfTransfer(endpoint_, code, static_cast<int>(os_error), ReasonOf(code), collector_.received());
}

std::string EasyHandle::ReasonOf(CURLcode code) const {
  return error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
}

bool EasyHandle::DiedOnReusedConnection(CURLcode code) const {
  if (code != CURLE_SEND_ERROR && code != CURLE_RECV_ERROR && code != CURLE_GOT_NOTHING) return false;
  long connects = 0;
  curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &connects);
  return connects == 0 && !collector_.received();
}

void EasyHandle::NoteGivenUp() const {
  if (!NeedsResolver(endpoint_)) return;
  curl_off_t looked_up = 0;
  curl_easy_getinfo(easy_, CURLINFO_NAMELOOKUP_TIME_T, &looked_up);
  if (looked_up == 0) KeepLibcurlLoaded();
}

}  // namespace osbx::transport
