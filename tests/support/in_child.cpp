#include "tests/support/in_child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace simsgd::test {

namespace {

void write_all(int file, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written <= 0) _exit(3);
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string all;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(file, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(got));
  return all;
}

}  // namespace

ChildResult run_in_child(const std::function<std::vector<double>()>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    try {
      const std::vector<double> numbers = body();
      write_all(ends[1], "=", 1);
      write_all(ends[1], numbers.data(), numbers.size() * sizeof(double));
    } catch (const std::exception& error) {
      write_all(ends[1], "!", 1);
      write_all(ends[1], error.what(), std::strlen(error.what()));
    }
    _exit(0);
  }
  close(ends[1]);
  const std::string all = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ChildResult result;
  if (all.empty()) {
    result.error = "the child died with status " + std::to_string(status);
  } else if (all[0] == '!') {
    result.error = all.substr(1);
  } else {
    result.numbers.resize((all.size() - 1) / sizeof(double));
    std::memcpy(result.numbers.data(), all.data() + 1, result.numbers.size() * sizeof(double));
  }
  return result;
}

std::vector<double> in_child(const std::function<std::vector<double>()>& body) {
  ChildResult result = run_in_child(body);
  if (!result.error.empty()) throw std::runtime_error(result.error);
  return result.numbers;
}

}  // namespace simsgd::test
