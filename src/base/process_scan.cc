#include "base/process_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace osbx::base {
namespace {

// The kernel takes no more than this for arguments and environment.
constexpr size_t kMostEnvironmentBytes = size_t{8} << 20;

std::optional<int64_t> NextNumber(std::string_view* text) {
  const size_t space = text->find(' ');
  std::string_view word = text->substr(0, space);
  text->remove_prefix(space == std::string_view::npos ? text->size() : space + 1);
  const bool negative = !word.empty() && word[0] == '-';
  if (negative) word.remove_prefix(1);
  const std::optional<int64_t> value = ParseDecimal(word, 0, INT64_MAX);
  if (!value.has_value()) return std::nullopt;
  return negative ? -*value : *value;
}

ssize_t ReadSome(int fd, char* buffer, size_t size) {
  ssize_t count = 0;
  do {
    count = read(fd, buffer, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

bool IsShortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

std::optional<ProcessInfo> ReadStat(const UniqueFd& file) {
  char text[2048];
  const ssize_t size = file.valid() ? ReadSome(file.get(), text, sizeof(text)) : -1;
  if (size <= 0) return std::nullopt;
  return ParseProcessStat(std::string_view(text, static_cast<size_t>(size)));
}

}  // namespace

std::optional<ProcessInfo> ReadProcess(pid_t pid) {
  return ReadStat(UniqueFd(open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)));
}

std::optional<ProcessInfo> ParseProcessStat(std::string_view text) {
  const size_t open = text.find(" (");
  const size_t close = text.rfind(')');  // no field behind the name has one
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  std::string_view rest = text.substr(close + 1);
  if (rest.size() < 4 || rest[0] != ' ' || rest[2] != ' ') return std::nullopt;

  const std::optional<int64_t> pid = ParseDecimal(text.substr(0, open), 1, INT32_MAX);
  if (!pid.has_value()) return std::nullopt;
  ProcessInfo info;
  info.pid = static_cast<pid_t>(*pid);
  info.state = rest[1];
  rest.remove_prefix(3);
  // Fields 4 (parent) to 22 (start) of proc(5).
  constexpr size_t kFirst = 4;
  constexpr size_t kLast = 22;
  int64_t fields[kLast + 1] = {};
  for (size_t i = kFirst; i <= kLast; ++i) {
    const std::optional<int64_t> value = NextNumber(&rest);
    // Some are unsigned and may be beyond; those that count here are not.
    const bool counts = i <= 6 || i == 20 || i == kLast;
    if (!value.has_value() && counts) return std::nullopt;
    fields[i] = value.value_or(0);
  }
  info.parent = static_cast<pid_t>(fields[4]);
  info.group = static_cast<pid_t>(fields[5]);
  info.session = static_cast<pid_t>(fields[6]);
  info.threads = fields[20];
  info.start = static_cast<uint64_t>(fields[kLast]);
  return info;
}

MarkFinder::MarkFinder(std::string_view marker) : marker_(marker), name_bytes_(marker.find('=') + 1) {}

void MarkFinder::Add(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\0');
    const std::string_view part = piece.substr(0, end);
    const size_t room = marker_.size() + 1 - entry_.size();
    entry_.append(part.substr(0, room));
    if (end == std::string_view::npos) return;
    EndEntry();
    piece.remove_prefix(end + 1);
  }
}

void MarkFinder::Finish() { EndEntry(); }

void MarkFinder::EndEntry() {
  if (entry_ == marker_) {
    result_ = ProcessScan::Mark::kOurs;
  } else if (result_ == ProcessScan::Mark::kNone &&
             std::string_view(entry_).substr(0, name_bytes_) == marker_.substr(0, name_bytes_)) {
    result_ = ProcessScan::Mark::kOther;
  }
  entry_.clear();
}

absl::StatusOr<ProcessScan> ProcessScan::Open() {
  UniqueFd directory(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    return Error(IsShortage(errno) ? Code::kAtCapacity : Code::kUnsupported,
                 "cannot look for processes: no /proc (errno " + std::to_string(errno) + ")");
  }
  char self[32] = {};
  const ssize_t size = readlinkat(directory.get(), "self", self, sizeof(self));
  if (size <= 0 || std::string_view(self, static_cast<size_t>(size)) != std::to_string(getpid())) {
    return Error(Code::kUnsupported, "cannot look for processes: /proc is of another pid namespace");
  }
  return ProcessScan(std::move(directory));
}

UniqueFd ProcessScan::OpenFile(pid_t pid, const char* name) const {
  const std::string path = std::to_string(pid) + "/" + name;
  return UniqueFd(openat(directory_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::optional<ProcessInfo> ProcessScan::Read(pid_t pid) const { return ReadStat(OpenFile(pid, "stat")); }

std::optional<std::vector<ProcessInfo>> ProcessScan::ReadAll(size_t limit, bool* vanished) const {
  std::vector<ProcessInfo> processes;
  *vanished = false;
  // Opened anew: a descriptor has one position, whoever reads.
  const int fd = openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = fd < 0 ? nullptr : fdopendir(fd);
  if (listing == nullptr) {
    if (fd >= 0) close(fd);
    return std::nullopt;
  }
  bool short_of_descriptors = false;
  while (const dirent* const entry = readdir(listing)) {
    const std::optional<int64_t> pid = ParseDecimal(entry->d_name, 1, INT32_MAX);
    if (!pid.has_value()) continue;
    if (processes.size() >= limit) {
      *vanished = true;
      break;
    }
    errno = 0;
    const std::optional<ProcessInfo> info = Read(static_cast<pid_t>(*pid));
    if (!info.has_value() && IsShortage(errno)) {
      short_of_descriptors = true;
      break;
    }
    if (info.has_value()) {
      processes.push_back(*info);
    } else {
      *vanished = true;
    }
  }
  closedir(listing);
  if (short_of_descriptors) return std::nullopt;
  return processes;
}

ProcessScan::Mark ProcessScan::ReadMark(pid_t pid, std::string_view marker) const {
  const UniqueFd file = OpenFile(pid, "environ");
  if (!file.valid()) return Mark::kNone;
  MarkFinder finder(marker);
  std::string buffer(size_t{32} << 10, '\0');
  size_t total = 0;
  while (total < kMostEnvironmentBytes && finder.result() != Mark::kOurs) {
    const ssize_t count = ReadSome(file.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    finder.Add(std::string_view(buffer).substr(0, static_cast<size_t>(count)));
    total += static_cast<size_t>(count);
  }
  finder.Finish();
  return finder.result();
}

}  // namespace osbx::base
