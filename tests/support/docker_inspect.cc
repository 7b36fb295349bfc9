#include "support/docker_inspect.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <openssl/sha.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace osbx::test {
namespace {

constexpr long kCallSeconds = 120;

size_t Append(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The URL of a path, and the options that reach the daemon's socket.
std::string Target(CURL* curl, const std::string& path) {
  const std::string host = Environment("DOCKER_HOST");
  if (host.rfind("unix://", 0) == 0) {
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, host.substr(7).c_str());
    return "http://daemon/v1.41" + path;
  }
  const std::string address = host.substr(host.find("://") + 3);
  const std::string certificates = Environment("DOCKER_CERT_PATH");
  if (certificates.empty()) return "http://" + address + "/v1.41" + path;
  curl_easy_setopt(curl, CURLOPT_CAINFO, (certificates + "/ca.pem").c_str());
  curl_easy_setopt(curl, CURLOPT_SSLCERT, (certificates + "/cert.pem").c_str());
  curl_easy_setopt(curl, CURLOPT_SSLKEY, (certificates + "/key.pem").c_str());
  return "https://" + address + "/v1.41" + path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Document::Document(const std::string& json) : root_(cJSON_ParseWithLength(json.data(), json.size()), cJSON_Delete) {}

const cJSON* Document::Find(const std::string& path) const {
  const cJSON* value = root_.get();
  size_t begin = 0;
  while (value != nullptr && begin < path.size()) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    begin = end + 1;
    value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, std::atoi(key.c_str()))
                                 : cJSON_GetObjectItemCaseSensitive(value, key.c_str());
  }
  return value;
}

std::string Document::Text(const std::string& path) const {
  const cJSON* value = Find(path);
  return cJSON_IsString(value) ? value->valuestring : "";
}

int64_t Document::Number(const std::string& path) const {
  const cJSON* value = Find(path);
  return cJSON_IsNumber(value) ? static_cast<int64_t>(value->valuedouble) : -1;
}

bool Document::True(const std::string& path) const { return cJSON_IsTrue(Find(path)); }

std::string Document::Json(const std::string& path) const {
  const cJSON* value = Find(path);
  if (value == nullptr) return "";
  const std::unique_ptr<char, void (*)(void*)> text(cJSON_PrintUnformatted(value), cJSON_free);
  return text.get();
}

std::string Document::Member(const std::string& path, const std::string& key) const {
  const cJSON* object = Find(path);
  const cJSON* value = object == nullptr ? nullptr : cJSON_GetObjectItemCaseSensitive(object, key.c_str());
  return cJSON_IsString(value) ? value->valuestring : "";
}

int Document::Size(const std::string& path) const {
  const cJSON* value = Find(path);
  return value == nullptr ? 0 : cJSON_GetArraySize(value);
}

Answer Ask(const std::string& method, const std::string& path, const std::string& json_body) {
  Answer answer;
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  const std::string url = Target(curl.get(), path);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kCallSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  if (method == "POST") curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, json_body.c_str());
  if (curl_easy_perform(curl.get()) == CURLE_OK) {
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  }
  return answer;
}

Document InspectContainer(const std::string& container) {
  return Document(Ask("GET", "/containers/" + container + "/json").body);
}

bool ContainerExists(const std::string& container) {
  return Ask("GET", "/containers/" + container + "/json").status == 200;
}

int CountContainersNamed(const std::string& part) {
  return Document(Ask("GET", "/containers/json?all=1&filters=%7B%22name%22%3A%5B%22" + part + "%22%5D%7D").body)
      .Size("");
}

std::string ExpectedContainerName(const std::string& sandbox_name) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(sandbox_name.data()), sandbox_name.size(), digest.data());
  std::string name = "osbx-";
  for (size_t i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", digest[i]);
    name += hex;
  }
  return name;
}

std::string HostCgroupValue(const std::string& container_id, const std::string& v1_controller,
                            const std::string& v1_file, const std::string& v2_file) {
  const std::string v1 = ReadFile("/sys/fs/cgroup/" + v1_controller + "/docker/" + container_id + "/" + v1_file);
  return !v1.empty() ? v1 : ReadFile("/sys/fs/cgroup/docker/" + container_id + "/" + v2_file);
}

}  // namespace osbx::test
