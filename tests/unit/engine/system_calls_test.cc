#include "engine/system_calls.h"

#include <gtest/gtest.h>

#include "unit/engine/fake_connection.h"

namespace osbx::engine {
namespace {

using base::Code;

TEST(EngineInfoJson, ReadsWhatTheDaemonSays) {
  const Call<EngineInfo> call = Info();
  EXPECT_EQ(call.request.target, "/info");
  const auto info = call.parse(Answer(200, R"({"ID":"T2EL","ServerVersion":"20.10.24","DefaultRuntime":"runc",
      "MemoryLimit":true,"SwapLimit":false,"CpuCfsQuota":true,"PidsLimit":true,
      "Runtimes":{"runc":{"path":"runc"},"runsc":{"path":"/usr/bin/runsc","runtimeArgs":["--network=none"]}}})"));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->id, "T2EL");
  EXPECT_EQ(info->server_version, "20.10.24");
  EXPECT_EQ(info->default_runtime, "runc");
  EXPECT_TRUE(info->memory_limit && info->cpu_cfs_quota && info->pids_limit);
  EXPECT_FALSE(info->swap_limit);
  ASSERT_EQ(info->runtimes.size(), 2u);
  EXPECT_NE(info->runtimes.at("runsc").find("--network"), std::string::npos) << info->runtimes.at("runsc");
}

TEST(EngineInfoJson, PromisesNoLimitThatTheDaemonDoesNotPromise) {
  for (const char* body : {"{}", R"({"MemoryLimit":1,"SwapLimit":"true","CpuCfsQuota":null,"Runtimes":[]})"}) {
    const auto info = Info().parse(Answer(200, body));
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_FALSE(info->memory_limit || info->swap_limit || info->cpu_cfs_quota || info->pids_limit) << body;
    EXPECT_TRUE(info->runtimes.empty());
  }
  EXPECT_EQ(base::CodeOf(Info().parse(Answer(200, "[]")).status()), Code::kBackend);
}

TEST(EngineInfoJson, KeepsDifferentRuntimeEntriesApart) {
  const char* entries[] = {R"({"path":"a b"})",
                           R"({"path":"a","runtimeArgs":["b"]})",
                           R"({"path":"a","runtimeArgs":["b","c"]})",
                           R"({"path":"a","runtimeArgs":["b c"]})",
                           R"({"path":"a","runtimeArgs":["b' 'c"]})",
                           R"({"runtimeType":"a"})",
                           R"({"path":"a","options":{"ConfigPath":"/x"}})",
                           R"({"path":"a","options":{"ConfigPath":"/y","Flag":true}})",
                           R"({"path":"a","options":{"ConfigPath":"/y","Flag":1}})"};
  std::map<std::string, std::string> seen;
  for (const char* entry : entries) {
    const auto info = Info().parse(Answer(200, std::string(R"({"Runtimes":{"r":)") + entry + "}}"));
    ASSERT_TRUE(info.ok());
    const auto [at, is_new] = seen.emplace(info->runtimes.at("r"), entry);
    EXPECT_TRUE(is_new) << entry << " reads like " << at->second;
  }
}

TEST(EngineInfoJson, SpellsTheSameRuntimeEntryTheSame) {
  const auto entry = [](const std::string& text) {
    return Info().parse(Answer(200, R"({"Runtimes":{"r":)" + text + "}}"))->runtimes.at("r");
  };
  EXPECT_EQ(entry(R"({"path":"a","runtimeArgs":null})"), entry(R"({"path":"a"})"));
  EXPECT_EQ(entry(R"({"options":{"x":1,"y":2},"path":"a"})"), entry(R"({"path":"a","options":{"y":2,"x":1}})"));
  EXPECT_EQ(entry(R"({"path":"a","status":{"features":"{}"}})"), entry(R"({"path":"a"})"));
}

class EventsFromTheEngine : public ::testing::Test {
 protected:
  using Started = FakeConnection::Started;

  void SetUp() override { ASSERT_TRUE(client_.Negotiate(base::Context()).ok()); }

  void OnLoop(const std::function<void()>& task) { ASSERT_TRUE(client_.loop()->RunAndWait(task).ok()); }

  void Start(int64_t since = int64_t{1700000000} * 1000000000, int64_t until = 0) {
    OnLoop([&] {
      call_ = StartEvents(
          client_, "c1", {"exec_die", "die"}, since, until, base::TimePoint::max(),
          [this] {
            ++heads_;
            if (reset_on_head_) call_.reset();
          },
          [this](const Event& event) {
            events_.push_back(event);
            if (reset_on_event_) call_.reset();
          },
          [this](absl::Status status) {
            ends_.push_back(std::move(status));
            call_.reset();
          });
    });
  }
  Started& started() { return *connection_->started(); }
  void TearDown() override {
    OnLoop([this] { call_.reset(); });
  }

  std::shared_ptr<FakeConnection> connection_ = std::make_shared<FakeConnection>();
  Client client_{connection_, ApiVersion{1, 41}};
  // The loop's.
  std::unique_ptr<transport::PendingCall> call_;
  bool reset_on_head_ = false;
  bool reset_on_event_ = false;
  int heads_ = 0;
  std::vector<Event> events_;
  std::vector<absl::Status> ends_;
};

constexpr char kExecDie[] =
    R"({"status":"exec_die","id":"c1","from":"i","Type":"container","Action":"exec_die","Actor":{"ID":"c1","Attributes":)"
    R"({"execID":"e1","exitCode":"7","name":"n"}},"scope":"local","time":1700000001,"timeNano":1700000001123456789})";

TEST_F(EventsFromTheEngine, AsksForOneContainersActions) {
  Start(1700000000012345678, 1700000009000000000);
  const transport::Request request = connection_->last_request();
  const std::string prefix = "/v1.41/events?since=1700000000.012345678&until=1700000009.000000000&filters=";
  ASSERT_EQ(request.target.substr(0, prefix.size()), prefix);
  EXPECT_EQ(PercentDecoded(request.target.substr(prefix.size())),
            R"({"type":["container"],"container":["c1"],"event":["exec_die","die"]})");
  Start(5);
  EXPECT_EQ(connection_->last_request().target.find("until"), std::string::npos);
}

TEST_F(EventsFromTheEngine, ReadsEventsCutAnywhere) {
  Start();
  const std::string text = std::string(kExecDie) + "\n" + kExecDie;
  OnLoop([&] {
    started().Head(200);
    for (char c : text) EXPECT_TRUE(started().Body(std::string_view(&c, 1)));
  });
  EXPECT_EQ(heads_, 1);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[0].type, "container");
  EXPECT_EQ(events_[0].action, "exec_die");
  EXPECT_EQ(events_[0].id, "c1");
  EXPECT_EQ(events_[0].attributes.at("execID"), "e1");
  EXPECT_EQ(events_[0].attributes.at("exitCode"), "7");
  EXPECT_NEAR(static_cast<double>(events_[0].time_ns), 1700000001123456789.0, 512.0);
  EXPECT_TRUE(ends_.empty());
}

TEST_F(EventsFromTheEngine, LeavesOutWhatIsNoEvent) {
  Start();
  OnLoop([&] {
    started().Head(200);
    EXPECT_TRUE(
        started().Body(R"({}{"Type":1,"Action":"die"}{"Type":"container"}{"Type":"container","Action":"die",)"
                       R"("Actor":7,"timeNano":"x"}{"Type":"container","Action":"oom","Actor":{"Attributes":[]},)"
                       R"("timeNano":-1e300})"));
  });
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[0].action, "die");
  EXPECT_EQ(events_[0].id, "");
  EXPECT_EQ(events_[1].action, "oom");
  EXPECT_EQ(events_[1].time_ns, 0);
}

TEST_F(EventsFromTheEngine, EndsOnceAndSaysHow) {
  Start();
  OnLoop([&] {
    started().Head(200);
    started().Done(Answer(200, ""));
  });
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(ends_[0].ok()) << ends_[0];

  Start();
  OnLoop([&] { started().Done(base::Error(Code::kBackend, "closed")); });
  ASSERT_EQ(ends_.size(), 2u);
  EXPECT_EQ(base::CodeOf(ends_[1]), Code::kBackend);
  EXPECT_EQ(std::string(ends_[1].message()), "events: closed");

  Start();
  OnLoop([&] {
    started().Head(404);
    started().Done(Answer(404, R"({"message":"No such container: c1"})"));
  });
  ASSERT_EQ(ends_.size(), 3u);
  EXPECT_EQ(base::CodeOf(ends_[2]), Code::kNotFound);
  EXPECT_EQ(heads_, 1) << "an error's head is no beginning";
}

TEST_F(EventsFromTheEngine, FailsOnWhatIsNotJson) {
  Start();
  OnLoop([&] {
    started().Head(200);
    EXPECT_FALSE(started().Body("garbage"));
    started().Done(base::Error(Code::kCallback, "the receiver ended the call"));
  });
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_EQ(base::CodeOf(ends_[0]), Code::kBackend);
}

TEST_F(EventsFromTheEngine, IsSilentOnceTheCallIsDestroyed) {
  Start();
  OnLoop([&] {
    started().Head(200);
    call_.reset();
    EXPECT_FALSE(started().alive());
    EXPECT_FALSE(started().Body(kExecDie));
    started().Done(Answer(200, ""));
  });
  EXPECT_TRUE(events_.empty());
  EXPECT_TRUE(ends_.empty());
}

TEST_F(EventsFromTheEngine, MayBeDestroyedByItsOwnEvent) {
  reset_on_event_ = true;
  Start();
  OnLoop([&] {
    started().Head(200);
    EXPECT_FALSE(started().Body(std::string(kExecDie) + kExecDie)) << "the transport is told to stop";
    EXPECT_TRUE(started().alive()) << "but its call is not destroyed under its feet";
    started().Done(base::Error(Code::kCallback, "the receiver ended the call"));
  });
  OnLoop([&] { EXPECT_FALSE(started().alive()); });
  EXPECT_EQ(events_.size(), 1u);
  EXPECT_TRUE(ends_.empty());
}

TEST_F(EventsFromTheEngine, MayBeDestroyedByItsHead) {
  reset_on_head_ = true;
  Start();
  OnLoop([&] {
    started().Head(200);
    EXPECT_FALSE(started().Body(kExecDie));
  });
  OnLoop([&] { EXPECT_FALSE(started().alive()); });
  EXPECT_TRUE(events_.empty());
  EXPECT_TRUE(ends_.empty());
}

}  // namespace
}  // namespace osbx::engine
