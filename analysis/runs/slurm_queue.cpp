// The queue, and running the programs that know it.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

#include "analysis/runs/slurm.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw RunError("No pipe can be made for a program");
  }
  ~Pipe() {
    close(ends[0]);
    close_writer();
  }
  void close_writer() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

/// Until both ends are closed.
void read_both(Pipe& out, Pipe& err, ProgramEnd& end) {
  std::array<pollfd, 2> open{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  std::array<std::string*, 2> texts{&end.out, &end.err};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < 2; ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      std::array<char, 4096> bytes{};
      const ssize_t got = read(open[i].fd, bytes.data(), bytes.size());
      if (got > 0)
        texts[i]->append(bytes.data(), static_cast<std::size_t>(got));
      else if (got == 0 || errno != EINTR)
        open[i].fd = -1;
    }
  }
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& arguments) {
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  out.close_writer();
  err.close_writer();
  ProgramEnd end;
  if (failed != 0) {
    end.code = 127;
    return end;
  }
  read_both(out, err, end);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

std::optional<QueuedTasks> queued_tasks(const std::vector<SlurmArray>& arrays) {
  if (arrays.empty()) return QueuedTasks{};
  std::vector<std::string> names;
  for (const SlurmArray& array : arrays) names.push_back(array.name);
  const ProgramEnd end = run_program(
      {"squeue", "--noheader", "--array", "--name=" + fmt::format("{}", fmt::join(names, ",")),
       "--states=PENDING,RUNNING,SUSPENDED,CONFIGURING,REQUEUED,REQUEUE_HOLD", "--format=%j %K %T"});
  if (end.code != 0) return std::nullopt;
  QueuedTasks tasks;
  std::istringstream lines(end.out);
  std::string name, state;
  for (int task = 0; lines >> name >> task >> state;) tasks[{name, task}] = state == "RUNNING";
  return tasks;
}

}  // namespace simsgd
