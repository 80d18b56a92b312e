#include "bench/child.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace simsgd::bench {

namespace {

[[noreturn]] void run_and_exit(const std::function<std::vector<double>()>& body, int file) {
  try {
    const std::vector<double> numbers = body();
    const std::size_t size = numbers.size() * sizeof(double);
    _exit(write(file, numbers.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    _exit(1);
  }
}

}  // namespace

ChildRun run_in_child(const std::function<std::vector<double>()>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) run_and_exit(body, ends[1]);
  close(ends[1]);
  ChildRun run;
  for (double number = 0; read(ends[0], &number, sizeof number) == sizeof number;)
    run.numbers.push_back(number);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("a child ended with status {}", status));
  run.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  return run;
}

}  // namespace simsgd::bench
