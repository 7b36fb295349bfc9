#include "base/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/crypto.h"
#include "base/spawn.h"
#include "unit/base/thread_test_support.h"

namespace osbx::base {
namespace {

using testing::Eventually;
using std::string_literals::operator""s;

TimePoint KillDeadline() { return Clock::now() + std::chrono::seconds(5); }

bool Alive(pid_t pid) {
  const auto info = ReadProcess(pid);
  return info.has_value() && !info->ended();
}

class Scene {
 public:
  Scene() {
    char path[] = "/tmp/osbx-tree-XXXXXX";
    directory_ = mkdtemp(path);
    static_cast<void>(chmod(path, 01777));
  }
  ~Scene() {
    for (const pid_t pid : seen_) kill(pid, SIGKILL);
    for (const pid_t root : roots_) waitpid(root, nullptr, 0);
    static_cast<void>(!system(("rm -rf " + directory_).c_str()));
  }

  ProcessTree Start(const std::string& command) {
    ProcessTree tree;
    tree.marker = "SANDBOX_EXECUTION=" + RandomHex(16);
    SpawnOptions options;
    options.program = "/bin/sh";
    options.arguments = {"sh", "-c", command};
    options.environment = {"PATH=/usr/bin:/bin", tree.marker};
    options.directory = directory_;
    const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
    options.stdout_fd = null.get();
    options.stderr_fd = null.get();
    tree.root = Spawn(options).value();
    tree.root_start = ReadProcess(tree.root)->start;
    roots_.push_back(tree.root);
    seen_.insert(tree.root);
    return tree;
  }

  // The pid that a process of the scene wrote to `name` with `echo $$ > name`.
  pid_t Pid(const std::string& name) {
    std::string text;
    const bool there = Eventually([&] {
      std::ifstream file(directory_ + "/" + name);
      text.assign(std::istreambuf_iterator<char>(file), {});
      return !text.empty() && text.back() == '\n';
    });
    if (!there) return -1;
    const auto pid = static_cast<pid_t>(std::stol(text));
    seen_.insert(pid);
    return pid;
  }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::vector<pid_t> roots_;
  std::set<pid_t> seen_;
};

// `command` writes pids to a, b, ...: none of them may be left.
void ExpectAllKilled(const std::string& command, const std::string& names) {
  Scene scene;
  const ProcessTree tree = scene.Start(command);
  std::vector<pid_t> pids;
  for (const char name : names) {
    pids.push_back(scene.Pid(std::string(1, name)));
    ASSERT_GT(pids.back(), 1) << name;
  }
  const absl::Status status = KillProcessTree(tree, KillDeadline());
  EXPECT_TRUE(status.ok()) << status;
  for (const pid_t pid : pids) EXPECT_FALSE(Alive(pid)) << command;
  EXPECT_FALSE(Alive(tree.root));
}

TEST(ProcessTree, ASessionOfItsOwnThatIgnoresTerm) {
  ExpectAllKilled("setsid sh -c 'trap \"\" TERM HUP; echo $$ > a; while :; do sleep 1; done' & sleep 1000", "a");
}

TEST(ProcessTree, ADaemonByDoubleFork) {
  ExpectAllKilled("(setsid sh -c 'sh -c \"echo \\$\\$ > a; sleep 1000\" &' &) ; sleep 1000", "a");
}

TEST(ProcessTree, AClearedEnvironmentWithItsParents) {
  ExpectAllKilled("env -i setsid sh -c 'echo $$ > a; /bin/sleep 1000; :' & sleep 1000", "a");
}

TEST(ProcessTree, TheSessionOfALeaderThatIsGone) {
  ExpectAllKilled("env -i sh -c 'echo $$ > a; /bin/sleep 1000; :' & exit 0", "a");
}

TEST(ProcessTree, StoppedProcesses) {
  ExpectAllKilled("setsid sh -c 'echo $$ > a; kill -STOP $$; :' & sleep 1000", "a");
}

TEST(ProcessTree, TheNameOfAProcessSaysNothing) {
  ExpectAllKilled(
      "cp /bin/sleep './) R 1 1 1'; cp /bin/sh './x) Z 1 1'; setsid './x) Z 1 1' -c 'echo $$ > a; exec \"./) R 1 1 1\" "
      "1000' & "
      "sleep 1000",
      "a");
}

TEST(ProcessTree, BystandersSurvive) {
  Scene scene;
  const ProcessTree earlier = scene.Start("setsid sh -c 'echo $$ > a; exec sleep 1000' & sleep 1000 & echo $! > b");
  const pid_t a = scene.Pid("a");
  const pid_t b = scene.Pid("b");
  const ProcessTree tree = scene.Start("echo $$ > c; sleep 1000");
  const ProcessTree later = scene.Start("echo $$ > d; sleep 1000");
  scene.Pid("c");
  const pid_t d = scene.Pid("d");
  EXPECT_TRUE(KillProcessTree(tree, KillDeadline()).ok());
  EXPECT_FALSE(Alive(tree.root));
  for (const pid_t pid : {a, b, d}) EXPECT_TRUE(Alive(pid));
  // And once more, with nothing left to kill.
  EXPECT_TRUE(KillProcessTree(tree, KillDeadline()).ok());
}

TEST(ProcessTree, AZombieLeaderWithThreadsIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          for (;;) pause();
        },
        nullptr);
    static_cast<void>(!write(ends[1], "x", 1));
    syscall(SYS_exit, 0);
  }
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  close(ends[1]);
  ASSERT_TRUE(Eventually([&] { return ReadProcess(pid)->state == 'Z'; }));
  ASSERT_TRUE(Alive(pid));
  ProcessTree tree;
  tree.root = pid;
  tree.root_start = ReadProcess(pid)->start;
  EXPECT_TRUE(KillProcessTree(tree, KillDeadline()).ok());
  EXPECT_FALSE(Alive(pid));
  kill(pid, SIGKILL);  // it must not outlive a failure
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST(ProcessTree, ARecycledPidIsAStranger) {
  Scene scene;
  ProcessTree tree = scene.Start("echo $$ > a; sleep 1000");
  scene.Pid("a");
  *tree.root_start -= 1;  // whose pid it was before
  tree.marker = "SANDBOX_EXECUTION=another";
  EXPECT_TRUE(KillProcessTree(tree, KillDeadline()).ok());
  EXPECT_TRUE(Alive(tree.root));
}

TEST(ProcessTree, NeverEverything) {
  for (const pid_t root : {-1, 0, 1}) {
    ProcessTree tree;
    tree.root = root;
    tree.root_start = 0;
    EXPECT_EQ(CodeOf(KillProcessTree(tree, KillDeadline())), Code::kInvalid);
  }
}

// Runs `scenario` in a child process, as another process than this one; its exit code. Orphans come to it, so that none
// is left to a PID 1 that may not reap them.
template <typename Scenario>
int InChild(Scenario scenario) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int result = scenario();
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    _exit(result);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int ProcessesOf(uid_t uid) {
  int count = 0;
  bool vanished = false;
  const ProcessScan scan = ProcessScan::Open().value();
  const auto processes = scan.ReadAll(100'000, &vanished);
  for (const ProcessInfo& process : processes.value()) {
    struct stat info = {};
    if (process.pid == getpid() || process.ended()) continue;
    if (stat(("/proc/" + std::to_string(process.pid)).c_str(), &info) == 0 && info.st_uid == uid) ++count;
  }
  return count;
}

// With a uid of its own, so that the limit counts nobody else's processes.
int KillBomb(const std::string& bomb, uid_t uid) {
  const rlimit limit = {80, 80};
  setrlimit(RLIMIT_NPROC, &limit);
  if (geteuid() == 0 && (setgid(uid) != 0 || setuid(uid) != 0)) return 1;
  prctl(PR_SET_DUMPABLE, 1);
  Scene scene;
  const ProcessTree tree = scene.Start(bomb);
  if (!Eventually([&] { return ProcessesOf(getuid()) > 40; })) return 2;
  const absl::Status status = KillProcessTree(tree, KillDeadline());
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    return 3;
  }
  return ProcessesOf(getuid()) == 0 ? 0 : 4;
}

TEST(ProcessTree, AForkBomb) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a uid of its own";
  const auto uid = static_cast<uid_t>(12345 + getpid());
  EXPECT_EQ(InChild([&] { return KillBomb("exec perl -e '$end = time + 60; while (time < $end) { fork }'", uid); }), 0);
}

// Every process of it leads a session, and goes on when the limit refuses it a child.
TEST(ProcessTree, AForkBombOfSessions) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a uid of its own";
  const auto uid = static_cast<uid_t>(112345 + getpid());
  EXPECT_EQ(InChild([&] {
              return KillBomb(
                  "exec perl -MPOSIX -e '$end = time + 60; while (time < $end) { my $p = fork; POSIX::setsid() if "
                  "defined $p && $p == 0 }'",
                  uid);
            }),
            0);
}

// Each process of it lives only until it has a child in a session of its own: no scan finds the same twice.
int KillMovingProcess() {
  Scene scene;
  const ProcessTree tree = scene.Start(
      "perl -MPOSIX -e 'my $n = 0; my $end = time + 60; while (time < $end) { my $p = fork; exit 0 if $p; next if "
      "!defined $p; POSIX::setsid(); "
      "if (++$n == 100) { open(F, \">\", \"a\"); print F \"$$\\n\"; close F } }'");
  if (scene.Pid("a") < 0) return 1;
  if (!KillProcessTree(tree, KillDeadline()).ok()) return 2;
  bool vanished = false;
  const ProcessScan scan = ProcessScan::Open().value();
  const auto processes = scan.ReadAll(100'000, &vanished);
  for (const ProcessInfo& process : processes.value()) {
    if (scan.ReadMark(process.pid, tree.marker) == ProcessScan::Mark::kOurs) return 3;
  }
  return 0;
}

TEST(ProcessTree, AProcessThatMovesOn) { EXPECT_EQ(InChild(KillMovingProcess), 0); }

TEST(ProcessTree, AnotherUsersProcessIsReported) {
  if (geteuid() != 0) GTEST_SKIP() << "needs another user";
  Scene scene;
  ProcessTree tree = scene.Start("echo $$ > a; sleep 1000");
  scene.Pid("a");
  const int result = InChild([&] {
    if (setgid(12345) != 0 || setuid(12345) != 0) return 1;
    return CodeOf(KillProcessTree(tree, KillDeadline())) == Code::kPermission ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(Alive(tree.root));
}

TEST(ProcessTree, ASubreaperFindsOrphansThatHideTheirOrigin) {
  // Own session, no parent, no environment: this is what only the adopting process can see.
  const std::string hidden = "env -i setsid sh -c 'sh -c \"echo \\$\\$ > a; exec /bin/sleep 1000\" & exit 0' & exit 0";
  EXPECT_EQ(InChild([&] {
              Scene scene;
              // An earlier command's, in a session of its own and without the mark either.
              scene.Start("env -i setsid sh -c 'echo $$ > e; exec /bin/sleep 1000' & exit 0");
              const pid_t earlier = scene.Pid("e");
              const uint64_t start = ReadProcess(earlier)->start;
              ProcessTree tree;
              do {  // the clock of start times is a slow one
                tree = scene.Start("exit 0");
              } while (*tree.root_start <= start);
              tree = scene.Start(hidden);
              tree.adopts_orphans = true;
              const pid_t pid = scene.Pid("a");
              if (!Eventually([&] { return ReadProcess(pid)->parent == getpid(); })) return 1;
              if (!KillProcessTree(tree, KillDeadline()).ok()) return 2;
              if (Alive(pid)) return 3;
              return Alive(earlier) ? 0 : 4;
            }),
            0);
}

TEST(ProcessTree, AnEarlierOrphanOfTheSameTickIsAStranger) {
  const auto orphan = [](pid_t pid) {
    ProcessInfo info;
    info.pid = info.group = info.session = pid;
    info.state = 'S';
    info.parent = getpid();
    info.threads = 1;
    info.start = 100;
    return info;
  };
  ProcessTree tree;
  tree.root = 5'000'001;
  tree.root_start = 100;
  tree.marker = "SANDBOX_EXECUTION=x";
  tree.adopts_orphans = true;
  std::set<pid_t> found;
  for (const ProcessInfo& process : FindProcessTree(tree, {orphan(5'000'000), orphan(5'000'001), orphan(5'000'002)}, {},
                                                    [](const ProcessInfo&) { return ProcessScan::Mark::kNone; })) {
    found.insert(process.pid);
  }
  EXPECT_EQ(found, (std::set<pid_t>{5'000'001, 5'000'002}));
}

TEST(ProcessScan, ReadsStatWithAHostileName) {
  const auto info = ParseProcessStat("42 (a) R 1 2 3 (\n) ) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 5 0 1234 0 0\n");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->pid, 42);
  EXPECT_EQ(info->state, 'S');
  EXPECT_EQ(info->parent, 7);
  EXPECT_EQ(info->group, 8);
  EXPECT_EQ(info->session, 9);
  EXPECT_EQ(info->threads, 5);
  EXPECT_EQ(info->start, 1234u);
  for (const char* const bad :
       {"", "42", "42 (x", "42 (x)", "42 (x) S", "42 (x) S 1 2", "x (x) S 1 2 3", "42 )x( S 1"}) {
    EXPECT_FALSE(ParseProcessStat(bad).has_value()) << bad;
  }
  EXPECT_EQ(ReadProcess(getpid())->parent, getppid());
}

ProcessScan::Mark MarkOf(const std::string& environment, size_t piece) {
  MarkFinder finder("NAME=abc");
  for (size_t at = 0; at < environment.size(); at += piece) finder.Add(std::string_view(environment).substr(at, piece));
  finder.Finish();
  return finder.result();
}

TEST(ProcessScan, FindsTheMarkInAnyPieces) {
  for (size_t piece = 1; piece < 30; ++piece) {
    EXPECT_EQ(MarkOf("A=b\0NAME=abc\0C=d\0"s, piece), ProcessScan::Mark::kOurs);
    EXPECT_EQ(MarkOf("NAME=abc"s, piece), ProcessScan::Mark::kOurs);
    EXPECT_EQ(MarkOf("NAME=abcd\0NAME=ab\0"s, piece), ProcessScan::Mark::kOther);
    EXPECT_EQ(MarkOf("NAME=x\0NAME=abc\0NAME=y\0"s, piece), ProcessScan::Mark::kOurs);
    EXPECT_EQ(MarkOf("XNAME=abc\0A=NAME=abc\0\0NAME\0"s, piece), ProcessScan::Mark::kNone);
    EXPECT_EQ(MarkOf(std::string(5000, 'x') + "NAME=abc", piece), ProcessScan::Mark::kNone);
  }
}

}  // namespace
}  // namespace osbx::base
