#include "transport/curl_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <utility>

#include "transport/wakeup_descriptors.h"

namespace osbx::transport {

using base::Code;
using base::Error;

absl::StatusOr<std::shared_ptr<CurlLibrary>> CurlLibrary::Acquire() {
  const curl_version_info_data* info = curl_version_info(CURLVERSION_NOW);
  if ((info->features & CURL_VERSION_THREADSAFE) == 0) {
    return Error(Code::kUnsupported, "this build of libcurl cannot be started from several threads");
  }
  const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code == CURLE_OUT_OF_MEMORY) return Error(Code::kNoMemory, "out of memory");
  if (code != CURLE_OK) return Error(Code::kInternal, "libcurl cannot be started");
  return std::shared_ptr<CurlLibrary>(new CurlLibrary);
}

CurlLibrary::~CurlLibrary() { curl_global_cleanup(); }

void KeepLibcurlLoaded() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&curl_easy_init), &info) == 0 || info.dli_fname == nullptr) return;
  // The reference is given back; RTLD_NODELETE stays.
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library != nullptr) dlclose(library);
}

absl::StatusOr<std::unique_ptr<CurlMulti>> CurlMulti::Create(std::shared_ptr<CurlLibrary> library) {
  const int lowest_free = LowestFreeDescriptor();
  CURLM* const multi = curl_multi_init();
  if (multi == nullptr) return Error(Code::kNoMemory, "no memory or no descriptors for a connection to the engine");
  std::unique_ptr<CurlMulti> created(new CurlMulti(std::move(library), multi));
  CloseWakeupDescriptorsOnExec(multi, lowest_free);
  return created;
}

CurlMulti::CurlMulti(std::shared_ptr<CurlLibrary> library, CURLM* multi)
    : library_(std::move(library)), multi_(multi), creator_(getpid()) {}

CurlMulti::~CurlMulti() {
  if (getpid() != creator_) return;
  // curl_multi_cleanup() changes the process's SIGPIPE disposition for a moment, unless the last easy handle that was
  // added had CURLOPT_NOSIGNAL; so one is added to a multi that was never used as well.
  if (CURL* easy = curl_easy_init()) {
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (curl_multi_add_handle(multi_, easy) == CURLM_OK) curl_multi_remove_handle(multi_, easy);
    curl_easy_cleanup(easy);
  }
  curl_multi_cleanup(multi_);
}

}  // namespace osbx::transport
