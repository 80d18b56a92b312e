#include "analysis/runs/child_pool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <new>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

namespace {

using WallClock = std::chrono::steady_clock;

constexpr int kTick_ms = 100, kLater_ms = 20;
// Tasks that are so short lie ready where a child takes them up: it would wait for us else. And a child is
// given neighbours, which have most in common: what it has read and built for one is there for the next.
constexpr double kShort_s = 0.25;
constexpr std::size_t kNeighbours = 32;

// How a task ended, as a child tells it: followed by so many bytes of text.
struct AnswerHead {
  std::uint64_t threw, bytes;
};

// In a child.
void answer(int file, const std::function<std::string()>& work) {
  AnswerHead head{};
  std::string text;
  try {
    text = work();
  } catch (const std::bad_alloc&) {
    head.threw = 1;
    text = "Out of memory. Use fewer workers, a smaller model, fewer --jobs, or a larger machine.";
  } catch (const std::exception& error) {
    head.threw = 1;
    text = error.what();
  }
  head.bytes = text.size();
  text.insert(0, reinterpret_cast<const char*>(&head), sizeof head);
  if (!write_all(file, text.data(), text.size())) _exit(1);
}

// Physical memory of a process; what it still shares with its parent is part of it.
double resident_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

struct Child {
  ChildProcess process;
  std::deque<std::size_t> tasks;  // the first one runs
  std::deque<std::size_t> kept;   // for it, here
  WallClock::time_point begin;    // of that one
  std::string received;
  std::optional<ChildEnd> stopped;  // by us, and why

  bool lives() const { return process.process >= 0; }
  double seconds() const { return std::chrono::duration<double>(WallClock::now() - begin).count(); }
};

class ChildPool {
 public:
  ChildPool(const ChildPoolSettings& settings, const ChildTasks& tasks)
      : settings_(settings),
        tasks_(tasks),
        lasting_(tasks.lasting && !settings.memory_bytes),
        children_(static_cast<std::size_t>(std::max(1, settings.jobs))) {}
  ~ChildPool() {
    for (const Child& each : children_)
      if (each.lives()) kill(each.process.process, SIGKILL);
    for (Child& each : children_) end(each);
  }
  ChildPool(const ChildPool&) = delete;
  ChildPool& operator=(const ChildPool&) = delete;

  void run() {
    for (;;) {
      const bool more = hand_out();
      const bool idle = std::all_of(children_.begin(), children_.end(),
                                    [](const Child& each) { return each.tasks.empty(); });
      if (!more && idle) return;
      wait(idle && tasks_.wakes < 0 ? kLater_ms : kTick_ms);
      if (settings_.interrupted && settings_.interrupted()) throw Interrupted();
      if (settings_.tick) settings_.tick();
    }
  }

 private:
  /// False once there is nothing left to give out.
  bool hand_out() {
    const bool ready = lasting_ && ended_ > 0 && total_s_ / static_cast<double>(ended_) < kShort_s;
    for (const std::size_t depth : {std::size_t{1}, ready ? std::size_t{2} : std::size_t{1}}) {
      for (Child& child : children_) {
        if (child.stopped || child.tasks.size() >= depth) continue;
        const NextTask next = next_for(child, ready ? kNeighbours : 1);
        if (next.kind != NextTask::Kind::task) return next.kind == NextTask::Kind::later;
        give(child, next.task);
      }
    }
    return true;
  }

  NextTask next_for(Child& child, std::size_t neighbours) {
    const auto taken = [](std::deque<std::size_t>& tasks) {
      const NextTask next{NextTask::Kind::task, tasks.front()};
      tasks.pop_front();
      return next;
    };
    if (!returned_.empty()) return taken(returned_);
    NextTask last{NextTask::Kind::task, 0};
    if (child.kept.empty()) {
      if (tasks_.several) tasks_.several(neighbours);
      while (child.kept.size() < neighbours && (last = tasks_.next()).kind == NextTask::Kind::task)
        child.kept.push_back(last.task);
    }
    if (!child.kept.empty()) return taken(child.kept);
    for (Child& other : children_)  // of those that are kept for others some may take long
      if (!other.kept.empty()) return taken(other.kept);
    return last;
  }

  void give(Child& child, std::size_t task) {
    if (child.tasks.empty()) child.begin = WallClock::now();
    child.tasks.push_back(task);
    if (!child.lives())
      child.process =
          fork_child(lasting_, [&](int commands, int answers) { be_child(task, commands, answers); });
    if (!lasting_) return;
    const std::uint64_t number = task;
    // A child that is gone is found by its answers, and must not end us.
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    (void)write_all(child.process.commands, reinterpret_cast<const char*>(&number), sizeof number);
    std::signal(SIGPIPE, before);
  }

  [[noreturn]] void be_child(std::size_t only, int commands, int answers) {
    // So that a lasting one sees the end when we are gone.
    for (const Child& each : children_) close_files(each.process);
    std::uint64_t task = only;
    if (!lasting_) {
      answer(answers, [&] { return tasks_.work(task); });
      _exit(0);
    }
    while (read_all(commands, reinterpret_cast<char*>(&task), sizeof task))
      answer(answers, [&] { return tasks_.work(task); });
    _exit(0);
  }

  static void close_files(const ChildProcess& process) {
    for (const int file : {process.answers, process.commands})
      if (file >= 0) close(file);
  }

  void wait(int most_ms) {
    std::vector<pollfd> files;
    for (const Child& child : children_) files.push_back({child.process.answers, POLLIN, 0});
    files.push_back({tasks_.wakes, POLLIN, 0});  // of -1 nothing is ever heard
    poll(files.data(), files.size(), most_ms);
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (!child.lives()) continue;
      if (files[i].revents == 0) {
        watch(child);
        continue;
      }
      const bool open = read_more(child);
      take_answers(child);
      if (!open || (!lasting_ && child.tasks.empty())) bury(child);
    }
  }

  void watch(Child& child) const {
    if (child.stopped || child.tasks.empty()) return;
    if (settings_.timeout_s && child.seconds() > *settings_.timeout_s)
      child.stopped = {ChildEnd::Kind::timed_out, fmt::format("took longer than {} s", *settings_.timeout_s)};
    else if (settings_.memory_bytes && resident_bytes(child.process.process) > *settings_.memory_bytes)
      child.stopped = {ChildEnd::Kind::too_large,
                       fmt::format("needed more than the {} of memory that --memory allows",
                                   human_bytes(*settings_.memory_bytes))};
    if (child.stopped) kill(child.process.process, SIGKILL);
  }

  /// False at the end.
  static bool read_more(Child& child) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(child.process.answers, buffer.data(), buffer.size());
    if (got > 0) child.received.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  void take_answers(Child& child) {
    AnswerHead head{};
    while (child.received.size() >= sizeof head) {
      std::memcpy(&head, child.received.data(), sizeof head);
      if (child.received.size() < sizeof head + head.bytes) return;
      const ChildEnd end{head.threw != 0 ? ChildEnd::Kind::threw : ChildEnd::Kind::answered,
                         child.received.substr(sizeof head, head.bytes), child.seconds()};
      child.received.erase(0, sizeof head + head.bytes);
      finish(child, end);
    }
  }

  void finish(Child& child, const ChildEnd& end) {
    const std::size_t task = child.tasks.front();
    child.tasks.pop_front();
    child.begin = WallClock::now();
    total_s_ += end.wall_s;
    ++ended_;
    tasks_.ended(task, end);
  }

  static int end(Child& child) {
    if (!child.lives()) return 0;
    const int status = wait_for(child.process.process);
    close_files(child.process);
    child.process = {};
    return status;
  }

  // It is gone, with the task that it had.
  void bury(Child& child) {
    const int status = end(child);
    ChildEnd end = child.stopped.value_or(ChildEnd{ChildEnd::Kind::died, how_it_died(status), 0});
    child.stopped.reset();
    child.received.clear();
    if (child.tasks.empty()) return;
    // Others, which lay ready, are as good as new.
    returned_.insert(returned_.end(), child.tasks.begin() + 1, child.tasks.end());
    child.tasks.resize(1);
    end.wall_s = child.seconds();
    finish(child, end);
  }

  const ChildPoolSettings& settings_;
  const ChildTasks& tasks_;
  const bool lasting_;
  std::vector<Child> children_;
  std::deque<std::size_t> returned_;  // by children that are gone
  std::size_t ended_ = 0;
  double total_s_ = 0;
};

}  // namespace

std::string failure_of(const ChildEnd& end) {
  return end.kind == ChildEnd::Kind::threw ? end.text : "The process " + end.text + ".";
}

void run_in_children(const ChildPoolSettings& settings, const ChildTasks& tasks) {
  // Large texts and many small blocks take turns here, and glibc empties its fast bins for each large one.
  mallopt(M_MXFAST, 0);
  ChildPool(settings, tasks).run();
}

void run_in_children(std::size_t count, const ChildPoolSettings& settings,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildEnd&)>& ended) {
  std::size_t begun = 0;
  const auto next = [&] {
    return begun < count ? NextTask{NextTask::Kind::task, begun++} : NextTask{NextTask::Kind::none, 0};
  };
  run_in_children(settings, {.next = next, .work = work, .ended = ended, .lasting = true});
}

namespace {

using Ends = std::array<int, 2>;

void close_both(const Ends& ends) {
  for (const int end : ends)
    if (end >= 0) close(end);
}

Ends make_pipe() {
  Ends ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw RunError(fmt::format("Cannot make a pipe: {}", std::strerror(errno)));
  return ends;
}

}  // namespace

ChildProcess fork_child(bool with_commands, const std::function<void(int commands, int answers)>& body) {
  Ends commands = {-1, -1};
  if (with_commands) commands = make_pipe();
  Ends answers{};
  try {
    answers = make_pipe();
  } catch (const RunError&) {
    close_both(commands);
    throw;
  }
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    // Ctrl-C reaches the whole process group; it is the parent who ends children.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(answers[0]);
    if (commands[1] >= 0) close(commands[1]);
    body(commands[0], answers[1]);
    _exit(1);
  }
  close(answers[1]);
  if (commands[0] >= 0) close(commands[0]);
  if (process < 0) {
    const int why = errno;
    close(answers[0]);
    if (commands[1] >= 0) close(commands[1]);
    throw RunError(fmt::format("Cannot start a child process: {}", std::strerror(why)));
  }
  return {process, answers[0], commands[1]};
}

bool write_all(int file, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = write(file, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int file, char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t got = read(file, bytes, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string how_it_died(int status) {
  if (WIFEXITED(status))
    return fmt::format("ended with exit code {} and without a result", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("was ended by signal {} ({}){}", signal, strsignal(signal),
                     signal == SIGKILL ? ", which is what the system does when memory runs out" : "");
}

}  // namespace simsgd
