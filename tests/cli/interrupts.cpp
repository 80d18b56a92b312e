// Ctrl-C ends whatever the program waits for: an input that never comes, a store that another program has
// locked.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_interrupts {

using cli::Scratch;

namespace {

constexpr int kPatience_ms = 60000;

/// The program, with its stderr to read.
class Started {
 public:
  Started(const Scratch& scratch, std::vector<std::string> words) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    process_ = fork();
    if (process_ == 0) {
      const int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, STDIN_FILENO);
      dup2(nothing, STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      words.insert(words.begin(), "simsgd");
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      if (chdir(scratch.path().c_str()) == 0) execv(SIMSGD_BINARY_DIR "/simsgd", argv.data());
      _exit(127);
    }
    close(ends[1]);
    err_ = ends[0];
  }
  ~Started() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(err_);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool ended() {
    if (process_ > 0 && waitpid(process_, &status_, WNOHANG) == process_) process_ = -1;
    return process_ < 0;
  }
  /// Until it has written so; false where it ends before.
  bool says(const std::string& text) {
    while (said.find(text) == std::string::npos) {
      char bytes[4096];
      const ssize_t got = read(err_, bytes, sizeof bytes);
      if (got <= 0) return false;
      said.append(bytes, static_cast<std::size_t>(got));
    }
    return true;
  }
  /// The exit code after a signal.
  int after(int signal) {
    kill(process_, signal);
    for (int waited_ms = 0; !ended() && waited_ms < kPatience_ms; waited_ms += 2) usleep(2000);
    if (process_ > 0) return -1;
    says("\n\n");  // the rest
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  std::string said;

 private:
  pid_t process_ = -1;
  int err_ = -1, status_ = 0;
};

/// Opens the FIFO for writing once the program reads it; -1 where it ends instead.
int writer_of(const std::string& fifo, Started& program) {
  for (int waited_ms = 0; waited_ms < kPatience_ms && !program.ended(); ++waited_ms) {
    const int end = open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (end >= 0) return end;
    usleep(1000);
  }
  return -1;
}

}  // namespace

TEST_CASE("every verb that reads a file ends at a signal while the file does not come") {
  const Scratch scratch;
  const std::string fifo = (scratch.path() / "fifo.json").string();
  scratch.write("s.json", cli::kScenario);
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const std::vector<std::vector<std::string>> verbs = {
      {"run", fifo},
      {"sweep", "plan", fifo},
      {"sweep", "run", fifo, "-o", "f.db"},
      {"sweep", "submit", fifo, "-o", "f.db", "--tasks", "1"},
      {"advise", fifo},
      {"check", fifo},
      {"check", "s.json", fifo},
      {"claims", fifo},
      {"explore", fifo},
      {"bench", "all_reduce", "--cluster", fifo},
      {"calibrate", fifo},
      {"validate", fifo},
      {"import", fifo},
      {"replay", fifo},
      {"run", "s.json", "--set", "/stragglers=[{\"name\": \"trace\", \"file\": \"" + fifo + "\"}]"}};
  int signal = SIGINT;
  for (const std::vector<std::string>& words : verbs) {
    CAPTURE(words[0]);
    CAPTURE(words[1]);
    Started program(scratch, words);
    const int end = writer_of(fifo, program);
    CAPTURE(program.said);
    CHECK(end >= 0);
    CHECK(program.after(signal) == 130);
    CHECK(program.said.find("Interrupted.") != std::string::npos);
    if (end >= 0) close(end);
    signal = signal == SIGINT ? SIGTERM : SIGINT;
  }
}

TEST_CASE("an output that nobody reads is waited for, and the wait says so") {
  const Scratch scratch;
  scratch.write("rows.csv", "quantity,value_SI\ntime_s,1\n");
  REQUIRE(mkfifo((scratch.path() / "out").c_str(), 0600) == 0);
  Started program(scratch, {"import", "rows.csv", "--format", "measurements", "-o", "out"});
  CHECK(program.says("Waiting for a program that reads out"));
  CHECK(program.after(SIGINT) == 130);
}

TEST_CASE("a store that another program has locked is waited for; the wait says so, and ends at a signal") {
  const Scratch scratch;
  scratch.write("s.json", cli::kScenario);
  REQUIRE(scratch.simsgd("sweep run s.json -o f.db").code == 0);
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((scratch.path() / "f.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr,
                       nullptr) == SQLITE_OK);
  {
    Started run(scratch, {"sweep", "run", "s.json", "-o", "f.db"});
    CHECK(run.says("Waiting for f.db, which another program has locked."));
    CAPTURE(run.said);
    CHECK(run.after(SIGINT) == 130);
  }
  CHECK(scratch.simsgd("results list f.db").code == 0);  // who only reads waits for nobody
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  CHECK(scratch.simsgd("results list f.db").code == 0);
}

}  // namespace simsgd::test::cli_interrupts
