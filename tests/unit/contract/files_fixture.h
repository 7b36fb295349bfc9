// A workspace in a temporary directory, with something secret beside it, and requests to the handler.
#ifndef OSBX_TESTS_UNIT_CONTRACT_FILES_FIXTURE_H_
#define OSBX_TESTS_UNIT_CONTRACT_FILES_FIXTURE_H_

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/json.h"
#include "base/worker_pool.h"
#include "contract/files_handler.h"
#include "contract/temporary_file.h"
#include "unit/contract/fake_exchange.h"

namespace osbx::testing {

inline constexpr char kSecret[] = "nothing of this may ever be seen";

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string made = (std::filesystem::temp_directory_path() / "osbx-files.XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    top_ = made;
    ASSERT_EQ(chmod(made.c_str(), 0755), 0);
    workspace_ = top_ / "workspace";
    std::filesystem::create_directory(workspace_);
    Write(top_ / "secret", kSecret);
    std::filesystem::create_directory(top_ / "outside");
    Write(top_ / "outside" / "secret", kSecret);
    absl::StatusOr<contract::Workspace> opened = contract::Workspace::Open(workspace_.string());
    ASSERT_TRUE(opened.ok()) << opened.status();
    loop_ = base::EventLoop::Create();
    pool_ = std::make_unique<base::WorkerPool>(2);
    context_ = std::make_shared<contract::FilesContext>(*std::move(opened), contract::Workers{loop_.get(), pool_.get()},
                                                        std::make_shared<contract::UnsentAnswers>());
  }
  void TearDown() override {
    pool_.reset();
    loop_.reset();
    context_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }

  static void Write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string Read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string ReadBelow(const std::string& name) const { return Read(workspace_ / name); }
  static mode_t ModeOf(const std::filesystem::path& path) {
    struct stat info {};
    return lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
  }
  // Temporary files that lie directly in `directory`.
  static int CountTemporary(const std::filesystem::path& directory) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      count += contract::IsTemporaryName(entry.path().filename().string()) ? 1 : 0;
    }
    return count;
  }
  static int CountDescriptors() {
    int count = 0;
    DIR* const directory = opendir("/proc/self/fd");
    while (readdir(directory) != nullptr) ++count;
    closedir(directory);
    return count;
  }

  static std::shared_ptr<FakeExchange> Make(const std::string& method, const std::string& target) {
    http::Request request;
    request.method = method;
    request.target = target;
    return std::make_shared<FakeExchange>(std::move(request));
  }
  // Hands the exchange over to the handler.
  void Start(std::shared_ptr<FakeExchange> exchange) const {
    ASSERT_TRUE(loop_
                    ->Post([context = context_, exchange = std::move(exchange)]() mutable {
                      contract::HandleFiles(context, std::move(exchange));
                    })
                    .ok());
  }
  Seen Run(std::shared_ptr<FakeExchange> exchange) const {
    std::future<Seen> result = exchange->Result();
    Start(std::move(exchange));
    return result.get();
  }
  Seen Ask(const std::string& method, const std::string& target) const { return Run(Make(method, target)); }
  Seen Get(const std::string& path) const { return Ask("GET", "/files/" + path); }
  Seen Delete(const std::string& path) const { return Ask("DELETE", "/files/" + path); }
  Seen Put(const std::string& path, std::vector<std::string> pieces) const {
    std::shared_ptr<FakeExchange> exchange = Make("PUT", "/files/" + path);
    for (std::string& piece : pieces) exchange->pieces.emplace_back(std::move(piece));
    return Run(std::move(exchange));
  }
  // Until what was answered has been let go of as well.
  void Settle() const {
    ASSERT_TRUE(loop_->RunAndWait([] {}).ok());
  }

  // The one line of an error; empty where the answer is none.
  static std::string ErrorOf(const Seen& seen) {
    if (http::FindHeader(seen.headers, "Content-Type") != "application/json") return "";
    const auto json = base::ParseJson(seen.body);
    return json.ok() && json->root().Members().size() == 1 ? json->root()["error"].StringOr("") : "";
  }

  std::filesystem::path top_;
  std::filesystem::path workspace_;
  std::shared_ptr<base::EventLoop> loop_;
  std::unique_ptr<base::WorkerPool> pool_;
  std::shared_ptr<contract::FilesContext> context_;
};

}  // namespace osbx::testing

#endif  // OSBX_TESTS_UNIT_CONTRACT_FILES_FIXTURE_H_
