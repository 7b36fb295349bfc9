// create_racer NAME IMAGE RUNTIME THREADS: creates one sandbox from many threads at once, as a process of its own.
// Prints "ready", waits for a line, and prints the id that each thread got, or the error.
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "osbx.h"

namespace {

std::string Race(osbx_backend* backend, const char* name, const char* image, const char* runtime) {
  osbx_spec* spec = osbx_spec_new();
  osbx_spec_set_image(spec, image);
  osbx_spec_set_runtime(spec, runtime);
  osbx_sandbox* sandbox = nullptr;
  osbx_error* error = nullptr;
  std::string answer;
  if (osbx_create(backend, name, spec, nullptr, &sandbox, &error) == OSBX_OK) {
    answer = osbx_info_id(osbx_sandbox_info(sandbox));
  } else {
    answer = std::string(osbx_status_name(osbx_error_code(error))) + ": " + osbx_error_message(error);
  }
  osbx_error_free(error);
  osbx_sandbox_free(sandbox);
  osbx_spec_free(spec);
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  osbx_backend* backend = nullptr;
  if (osbx_backend_new(nullptr, &backend, nullptr) != OSBX_OK) return 1;
  std::vector<std::string> answers(static_cast<size_t>(std::atoi(argv[4])));
  std::promise<void> go;
  const std::shared_future<void> started = go.get_future().share();
  std::vector<std::thread> threads;
  for (std::string& answer : answers) {
    threads.emplace_back([&answer, &started, backend, argv] {
      started.wait();
      answer = Race(backend, argv[1], argv[2], argv[3]);
    });
  }
  std::puts("ready");
  std::fflush(stdout);
  (void)std::getchar();
  go.set_value();
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers) std::printf("%s\n", answer.c_str());
  osbx_backend_free(backend);
  return 0;
}
