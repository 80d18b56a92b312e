// Ctrl-C ends whatever the program waits for: an input that never comes, a store that another program has
// locked.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
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
  Started(const Scratch& scratch, std::vector<std::string> words, int input = -1) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    process_ = fork();
    if (process_ == 0) {
      const int nothing = open("/dev/null", O_RDWR);
      dup2(input < 0 ? nothing : input, STDIN_FILENO);
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
  /// Until it has written so; false where it ends before, or is silent for a minute.
  bool says(const std::string& text) {
    while (said.find(text) == std::string::npos) {
      char bytes[4096];
      pollfd ready{err_, POLLIN, 0};
      if (poll(&ready, 1, kPatience_ms) <= 0) return false;
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
      {"run", "s.json", "--on", fifo},
      {"run", "s.json", "--workload", fifo},
      {"import", "s.json", "--map", fifo},
      {"calibrate", fifo, "--gpus-per-node", "4"},
      {"calibrate", SIMSGD_SOURCE_DIR "/scenarios/samples/nccl_8.log", "--device", fifo},
      {"run", "s.json", "--set", "/stragglers=[{\"name\": \"trace\", \"file\": \"" + fifo + "\"}]"}};
  std::vector<std::unique_ptr<Started>> programs;
  programs.reserve(verbs.size());
  for (const std::vector<std::string>& words : verbs)
    programs.push_back(std::make_unique<Started>(scratch, words));
  int signal = SIGINT;
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    CAPTURE(verbs[i][0]);
    CAPTURE(verbs[i][1]);
    CHECK(programs[i]->says("Waiting for " + fifo + "."));
    CHECK(programs[i]->after(signal) == 130);
    CHECK(programs[i]->said.find("Interrupted.") != std::string::npos);
    signal = signal == SIGINT ? SIGTERM : SIGINT;
  }
}

TEST_CASE("an input that begins and does not go on is waited for, and said once") {
  const Scratch scratch;
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "-"}, {"import", "-", "--format", "measurements"}}) {
    CAPTURE(words[0]);
    Started program(scratch, words, ends[0]);
    REQUIRE(write(ends[1], "quantity,value_SI\n", 18) == 18);
    CHECK(program.says("Waiting for <stdin>.\n"));
    CHECK(program.after(SIGINT) == 130);
    CHECK(program.said == "Waiting for <stdin>.\nInterrupted.\n");
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a FIFO is not a store, and every verb that opens one says so") {
  const Scratch scratch;
  scratch.write("s.json", cli::kScenario);
  REQUIRE(scratch.simsgd("sweep run s.json -o good.db").code == 0);
  REQUIRE(mkfifo((scratch.path() / "f.db").c_str(), 0600) == 0);
  for (const char* words :
       {"results list f.db", "results show f.db", "results table f.db --rows workers --metric wait_s",
        "results compare f.db --by algorithm --baseline wagma --metric wait_s", "results export f.db",
        "results merge good.db f.db -o all.db", "results merge good.db -o f.db", "report f.db -o r.html",
        "sweep status f.db", "sweep run s.json -o f.db"}) {
    CAPTURE(words);
    const auto ended = scratch.simsgd(words);
    CHECK(ended.code == 2);
    CHECK(ended.err.find("f.db") != std::string::npos);
    CHECK(ended.err.find("is not a regular file") != std::string::npos);
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
  REQUIRE(scratch.simsgd("sweep run s.json -o other.db").code == 0);
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((scratch.path() / "f.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr,
                       nullptr) == SQLITE_OK);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"sweep", "run", "s.json", "-o", "f.db"},
        {"sweep", "submit", "s.json", "-o", "f.db", "--tasks", "1"},
        {"results", "merge", "other.db", "-o", "f.db"},
        {"claims", SIMSGD_SOURCE_DIR "/scenarios/claims/G1.json", "-o", "f.db"},
        {"explore", "s.json", "-o", "f.db"}}) {
    CAPTURE(words[0]);
    CAPTURE(words[1]);
    Started run(scratch, words);
    CHECK(run.says("Waiting for f.db, which another program has locked."));
    CAPTURE(run.said);
    CHECK(run.after(SIGINT) == 130);
  }
  {
    Started explore(scratch, {"explore", "f.db"});
    CHECK(explore.says("Serving on this machine only"));
    CHECK(explore.after(SIGINT) == 130);
  }
  for (const char* words :
       {"results list f.db", "results show f.db", "results export f.db", "report f.db --format csv -o r",
        "sweep status f.db", "sweep plan s.json -o f.db"}) {
    CAPTURE(words);
    CHECK(scratch.simsgd(words).code == 0);  // who only reads waits for nobody
  }
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  CHECK(scratch.simsgd("results list f.db").code == 0);
}

}  // namespace simsgd::test::cli_interrupts
