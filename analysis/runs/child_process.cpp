#include "analysis/runs/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sim/base/errors.hpp"

namespace simsgd {

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
    return fmt::format("ended with exit code {} and without an answer", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("was ended by signal {} ({}){}", signal, strsignal(signal),
                     signal == SIGKILL ? ", which is what the system does when memory runs out" : "");
}

}  // namespace simsgd
