#include "analysis/sweeps/child_pool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <vector>

#include "analysis/sweeps/child_process.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

namespace {

using WallClock = std::chrono::steady_clock;

constexpr int kTick_ms = 100;

// An answer is its kind, its text, and this byte, without which it is not whole.
constexpr char kAnswered = '=', kThrew = '!', kEnd = '\0';

[[noreturn]] void be_child(int file, const std::function<std::string()>& work) {
  const ChildAnswer answer = answer_of(work);
  const std::string message = (answer.threw ? kThrew : kAnswered) + answer.text + kEnd;
  _exit(write_all(file, message.data(), message.size()) ? 0 : 1);
}

struct Child {
  std::size_t task = 0;
  pid_t process = -1;
  int answers = -1;
  WallClock::time_point begin;
  std::string received;
  bool late = false, large = false;
};

class ChildPool {
 public:
  explicit ChildPool(const ChildPoolSettings& settings) : settings_(settings) {}
  ~ChildPool() { end_all(); }
  ChildPool(const ChildPool&) = delete;
  ChildPool& operator=(const ChildPool&) = delete;

  std::size_t running() const { return children_.size(); }

  void start(std::size_t task, const std::function<std::string(std::size_t)>& work) {
    const ChildProcess made =
        fork_child(false, [&](int, int answers) { be_child(answers, [&] { return work(task); }); });
    children_.push_back({task, made.process, made.answers, WallClock::now(), {}, false, false});
  }

  /// Waits for a moment, or until the file can be read; returns those that ended.
  std::vector<std::pair<std::size_t, ChildEnd>> wait(int wakes = -1) {
    std::vector<pollfd> files;
    for (const Child& child : children_) files.push_back({child.answers, POLLIN, 0});
    files.push_back({wakes, POLLIN, 0});  // of -1 nothing is ever heard
    poll(files.data(), files.size(), kTick_ms);
    std::vector<std::pair<std::size_t, ChildEnd>> ended;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (!child.late && settings_.timeout_s && seconds(child) > *settings_.timeout_s) {
        child.late = true;
        kill(child.process, SIGKILL);
      }
      if (!child.large && settings_.memory_bytes && resident_bytes(child.process) > *settings_.memory_bytes) {
        child.large = true;
        kill(child.process, SIGKILL);
      }
      if (files[i].revents != 0 && !read_more(child)) ended.emplace_back(child.task, reap(child));
    }
    std::erase_if(children_, [](const Child& child) { return child.process < 0; });
    return ended;
  }

 private:
  static double seconds(const Child& child) {
    return std::chrono::duration<double>(WallClock::now() - child.begin).count();
  }

  /// False at the end.
  static bool read_more(Child& child) {
    char buffer[65536];
    const ssize_t got = read(child.answers, buffer, sizeof buffer);
    if (got > 0) child.received.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  static int end(Child& child) {
    const int status = wait_for(child.process);
    close(child.answers);
    child.process = -1;
    return status;
  }

  ChildEnd reap(Child& child) const {
    const double wall_s = seconds(child);
    const int status = end(child);
    const std::string& all = child.received;
    if (all.size() >= 2 && all.back() == kEnd)
      return {all[0] == kAnswered ? ChildEnd::Kind::answered : ChildEnd::Kind::threw,
              all.substr(1, all.size() - 2), wall_s};
    if (child.late)
      return {ChildEnd::Kind::timed_out, fmt::format("took longer than {} s", *settings_.timeout_s), wall_s};
    if (child.large) return {ChildEnd::Kind::too_large, too_large(*settings_.memory_bytes), wall_s};
    return {ChildEnd::Kind::died, how_it_died(status), wall_s};
  }

  void end_all() {
    for (const Child& child : children_) kill(child.process, SIGKILL);
    for (Child& child : children_) end(child);
    children_.clear();
  }

  const ChildPoolSettings& settings_;
  std::vector<Child> children_;
};

}  // namespace

void run_in_children(std::size_t count, const ChildPoolSettings& settings,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildEnd&)>& ended) {
  ChildPool pool(settings);
  for (std::size_t next = 0; next < count || pool.running() > 0;) {
    while (next < count && pool.running() < static_cast<std::size_t>(std::max(1, settings.jobs)))
      pool.start(next++, work);
    for (const auto& [task, end] : pool.wait()) ended(task, end);
    if (settings.interrupted && settings.interrupted()) throw Interrupted();
    if (settings.tick) settings.tick();
  }
}

void run_in_children(const ComingTasks& tasks, const ChildPoolSettings& settings,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildEnd&)>& ended) {
  ChildPool pool(settings);
  for (;;) {
    while (pool.running() < static_cast<std::size_t>(std::max(1, settings.jobs))) {
      const std::optional<std::size_t> task = tasks.next();
      if (!task) break;
      pool.start(*task, work);
    }
    for (const auto& [task, end] : pool.wait(tasks.wakes)) ended(task, end);
    if (settings.interrupted && settings.interrupted()) throw Interrupted();
    if (settings.tick) settings.tick();
  }
}

}  // namespace simsgd
