#include "analysis/sweeps/worker_pool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "analysis/sweeps/child_process.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

namespace {

using WorkerClock = std::chrono::steady_clock;
using Prepare = std::function<std::function<std::string()>(std::size_t)>;

constexpr int kPoll_ms = 100, kLater_ms = 20;
// Tasks that are so short lie ready where a worker takes them up: it would wait for us else.
constexpr double kShort_s = 0.25;

// How a task ended, as a worker tells it: followed by so many bytes of text.
struct AnswerHead {
  std::int32_t kind;
  std::uint32_t reserved;
  std::uint64_t bytes;
};

void send_answer(int file, ChildEnd::Kind kind, const std::string& text) {
  const AnswerHead head{static_cast<std::int32_t>(kind), 0, text.size()};
  if (!write_all(file, reinterpret_cast<const char*>(&head), sizeof head) ||
      !write_all(file, text.data(), text.size()))
    _exit(1);
}

ChildEnd::Kind kind_of(const ChildAnswer& answer) {
  return answer.threw ? ChildEnd::Kind::threw : ChildEnd::Kind::answered;
}

// False where the child needs more memory, which ends it; true once it answers.
bool answers_within(const ChildProcess& child, double memory_bytes) {
  pollfd file{child.answers, POLLIN, 0};
  while (poll(&file, 1, kPoll_ms) <= 0) {
    if (resident_bytes(child.process) <= memory_bytes) continue;
    kill(child.process, SIGKILL);
    return false;
  }
  return true;
}

// In a worker, where memory is limited: the task's own process, and what it answers or how it died.
void run_one(int answers, double memory_bytes, const std::function<std::string()>& work) {
  const ChildProcess child = fork_child(false, [&](int, int file) {
    const ChildAnswer answer = answer_of(work);
    send_answer(file, kind_of(answer), answer.text);
    _exit(0);
  });
  const bool large = !answers_within(child, memory_bytes);
  AnswerHead head{};
  std::string text;
  bool whole = read_all(child.answers, reinterpret_cast<char*>(&head), sizeof head);
  if (whole) {
    text.resize(head.bytes);
    whole = read_all(child.answers, text.data(), text.size());
  }
  close(child.answers);
  const int status = wait_for(child.process);
  if (whole)
    send_answer(answers, static_cast<ChildEnd::Kind>(head.kind), text);
  else if (large)
    send_answer(answers, ChildEnd::Kind::too_large, too_large(memory_bytes));
  else
    send_answer(answers, ChildEnd::Kind::died, how_it_died(status));
}

[[noreturn]] void be_worker(int commands, int answers, std::optional<double> memory_bytes,
                            const Prepare& prepare) {
  for (std::uint64_t task = 0; read_all(commands, reinterpret_cast<char*>(&task), sizeof task);) {
    std::function<std::string()> work;
    const ChildAnswer prepared = answer_of([&] {
      work = prepare(task);
      return "";
    });
    if (prepared.threw) {
      send_answer(answers, ChildEnd::Kind::threw, prepared.text);
      continue;
    }
    try {
      if (memory_bytes) {
        run_one(answers, *memory_bytes, work);
        continue;
      }
      const ChildAnswer answer = answer_of(work);
      send_answer(answers, kind_of(answer), answer.text);
    } catch (const std::exception& error) {
      send_answer(answers, ChildEnd::Kind::threw, error.what());
    }
  }
  _exit(0);
}

struct Worker {
  ChildProcess process;
  std::deque<std::size_t> tasks;  // the first one runs
  WorkerClock::time_point begin;  // of that one
  std::string received;
  bool late = false;
};

class WorkerPool {
 public:
  WorkerPool(const ChildPoolSettings& settings, const WorkerPoolTasks& tasks)
      : settings_(settings), tasks_(tasks) {}
  ~WorkerPool() { end_all(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void run() {
    for (;;) {
      const bool more = hand_out();
      const bool idle = std::all_of(workers_.begin(), workers_.end(),
                                    [](const Worker& each) { return each.tasks.empty(); });
      if (!more && idle) return;
      wait(idle ? kLater_ms : kPoll_ms);
      if (settings_.interrupted && settings_.interrupted()) throw Interrupted();
      if (settings_.tick) settings_.tick();
    }
  }

 private:
  /// False once there is nothing left to give out.
  bool hand_out() {
    for (const std::size_t depth : {std::size_t{1}, short_tasks() ? std::size_t{2} : std::size_t{1}}) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(1, settings_.jobs)); ++i) {
        if (i < workers_.size() && (workers_[i].late || workers_[i].tasks.size() >= depth)) continue;
        if (!returned_.empty()) {
          give(i, returned_.front());
          returned_.pop_front();
          continue;
        }
        const NextTask next = tasks_.next();
        if (next.kind == NextTask::Kind::none) return false;
        if (next.kind == NextTask::Kind::later) return true;
        give(i, next.task);
      }
    }
    return true;
  }

  bool short_tasks() const { return ended_ > 0 && total_s_ / static_cast<double>(ended_) < kShort_s; }

  void give(std::size_t i, std::size_t task) {
    if (i >= workers_.size()) workers_.emplace_back();
    Worker& worker = workers_[i];
    if (worker.process.process < 0)
      worker.process = fork_child(true, [&](int commands, int answers) {
        close_others();
        be_worker(commands, answers, settings_.memory_bytes, tasks_.prepare);
      });
    if (worker.tasks.empty()) worker.begin = WorkerClock::now();
    worker.tasks.push_back(task);
    const std::uint64_t number = task;
    // A worker that is gone is found by its answers, and must not end us.
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    (void)write_all(worker.process.commands, reinterpret_cast<const char*>(&number), sizeof number);
    std::signal(SIGPIPE, before);
  }

  // So that a worker sees the end when we are gone.
  void close_others() {
    for (const Worker& each : workers_) {
      if (each.process.process < 0) continue;
      close(each.process.answers);
      close(each.process.commands);
    }
  }

  void wait(int most_ms) {
    std::vector<pollfd> files;
    for (const Worker& worker : workers_) files.push_back({worker.process.answers, POLLIN, 0});
    poll(files.data(), files.size(), most_ms);
    for (std::size_t i = 0; i < files.size(); ++i) {
      Worker& worker = workers_[i];
      if (worker.process.process < 0) continue;
      if (!worker.late && !worker.tasks.empty() && settings_.timeout_s &&
          seconds(worker) > *settings_.timeout_s && files[i].revents == 0) {
        worker.late = true;
        kill(worker.process.process, SIGKILL);  // and with it the task's process
      }
      if (files[i].revents == 0) continue;
      const bool lives = read_more(worker);
      take_answers(worker);
      if (!lives) bury(worker);
    }
  }

  static double seconds(const Worker& worker) {
    return std::chrono::duration<double>(WorkerClock::now() - worker.begin).count();
  }

  static bool read_more(Worker& worker) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(worker.process.answers, buffer.data(), buffer.size());
    if (got > 0) worker.received.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  void take_answers(Worker& worker) {
    AnswerHead head{};
    while (worker.received.size() >= sizeof head) {
      std::copy_n(worker.received.data(), sizeof head, reinterpret_cast<char*>(&head));
      if (worker.received.size() < sizeof head + head.bytes) return;
      ChildEnd end{static_cast<ChildEnd::Kind>(head.kind), worker.received.substr(sizeof head, head.bytes),
                   seconds(worker)};
      worker.received.erase(0, sizeof head + head.bytes);
      finish(worker, end);
    }
  }

  void finish(Worker& worker, const ChildEnd& end) {
    const std::size_t task = worker.tasks.front();
    worker.tasks.pop_front();
    worker.begin = WorkerClock::now();
    total_s_ += end.wall_s;
    ++ended_;
    tasks_.ended(task, end);
  }

  // The worker itself is gone, with the task that it had.
  void bury(Worker& worker) {
    const int status = wait_for(worker.process.process);
    close(worker.process.answers);
    close(worker.process.commands);
    worker.process = {};
    worker.received.clear();
    if (!worker.tasks.empty()) {
      // Others, which lay ready, are as good as new.
      for (std::size_t i = 1; i < worker.tasks.size(); ++i) returned_.push_back(worker.tasks[i]);
      worker.tasks.resize(1);
      finish(worker, worker.late ? ChildEnd{ChildEnd::Kind::timed_out,
                                            fmt::format("took longer than {} s", *settings_.timeout_s),
                                            seconds(worker)}
                                 : ChildEnd{ChildEnd::Kind::died, how_it_died(status), seconds(worker)});
    }
    worker.late = false;
  }

  void end_all() {
    for (const Worker& each : workers_)
      if (each.process.process > 0) kill(each.process.process, SIGKILL);
    for (Worker& each : workers_) {
      if (each.process.process < 0) continue;
      wait_for(each.process.process);
      close(each.process.answers);
      close(each.process.commands);
    }
    workers_.clear();
  }

  const ChildPoolSettings& settings_;
  const WorkerPoolTasks& tasks_;
  std::deque<Worker> workers_;
  std::deque<std::size_t> returned_;  // by workers that are gone
  std::size_t ended_ = 0;
  double total_s_ = 0;
};

}  // namespace

void run_in_workers(const ChildPoolSettings& settings, const WorkerPoolTasks& tasks) {
  WorkerPool(settings, tasks).run();
}

}  // namespace simsgd
