// The program as its users meet it: verbs, exit codes, what goes to which stream, and the same bytes every
// time.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "results/text_table.hpp"
#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_command_line {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;

TEST_CASE("usage errors exit with 2, help and version with 0") {
  const Scratch scratch;
  CHECK(scratch.simsgd("").code == 2);
  CHECK(scratch.simsgd("frobnicate").code == 2);
  CHECK(scratch.simsgd("run").code == 2);
  CHECK(scratch.simsgd("run s.json --threads 0").code == 2);
  CHECK(scratch.simsgd("--version").code == 0);
  for (const char* verb :
       {"run", "sweep", "results", "results compare", "check", "list", "schema", "bench"}) {
    CAPTURE(verb);
    const Outcome help = scratch.simsgd(std::string(verb) + " --help");
    CHECK(help.code == 0);
    CHECK(help.out.find("Example") != std::string::npos);
  }
}

TEST_CASE("a program without the libraries that it opens does all else, and says which one a command needs") {
  const Scratch scratch;
  fs::copy_file(SIMSGD_BINARY_DIR "/simsgd", scratch.path() / "simsgd");
  scratch.write("s.json", kScenario);
  scratch.write("trace.json", "[]");
  const auto alone = [&](const std::string& words) { return scratch.simsgd(words, "./simsgd"); };
  CHECK(alone("list algorithms").code == 0);
  CHECK(alone("--help").out.find("Not built yet: ./setup.sh build") != std::string::npos);
  for (const char* words : {"calibrate nccl.log", "import x.log", "run s.json --workload trace.json"}) {
    CAPTURE(words);
    const Outcome outcome = alone(words);
    CHECK(outcome.code == 1);
    CHECK(outcome.err.find("./setup.sh build") != std::string::npos);
  }
}

TEST_CASE("times that are left are read at a glance") {
  CHECK(clock_text(9.4) == "9 s");
  CHECK(clock_text(125) == "2 min 05 s");
  CHECK(clock_text(94045) == "26 h 07 min");
  CHECK(clock_text(1e6) == "11 days 13 h");
}

TEST_CASE("a hundred errors are told, and that there are more") {
  const Scratch scratch;
  Json scenario = Json::parse(kScenario);
  for (int i = 0; i < 200; ++i) scenario["stragglers"].push_back({{"name", "constant"}, {"factor", -1}});
  scratch.write("s.json", scenario.dump());
  const Outcome outcome = scratch.simsgd("run s.json");
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 102);
  CHECK(outcome.err.find("s.json: has more errors than these 100. Correct these first.") !=
        std::string::npos);
  const Outcome zero = scratch.simsgd("check /dev/zero");
  CHECK(zero.code == 2);
  // On a busy machine it says first that it waits.
  CHECK(zero.err.ends_with("/dev/zero: is larger than 64 MiB. Name a scenario, a study or a part of one.\n"));
  // Whatever it is taken for.
  for (const char* format :
       {"measurements", "samples", "kineto", "flight_recorder", "pytorch_et", "horovod", "simsgd",
        "nccl_inspector", "nccl_tests", "osu", "pipedream", "triosim", "nsight", "chakra"}) {
    CAPTURE(format);
    const Outcome endless = scratch.simsgd(std::string("import /dev/zero --format ") + format);
    CHECK(endless.code == 2);
    CHECK(endless.err.starts_with("/dev/zero: "));
  }
}

TEST_CASE("a limit on the size of files ends in a sentence, and leaves nothing") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string command = "cd " + scratch.path().string() +
                              " && (ulimit -f 8; " SIMSGD_BINARY_DIR
                              "/simsgd run s.json -o out > /dev/null 2> errors.txt; echo $? > code.txt)";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(contents(scratch.path() / "code.txt") == "1\n");
  CHECK(contents(scratch.path() / "errors.txt").find("File too large") != std::string::npos);
  const std::string store = "cd " + scratch.path().string() +
                            " && (ulimit -f 8; " SIMSGD_BINARY_DIR
                            "/simsgd sweep run s.json -o f.db > /dev/null 2> errors.txt; true)";
  CHECK(std::system(store.c_str()) == 0);
  CHECK(contents(scratch.path() / "errors.txt").find("f.db: disk I/O error (File too large)") !=
        std::string::npos);
}

TEST_CASE("control characters in names do not reach the terminal") {
  const Scratch scratch;
  Json scenario = Json::parse(kScenario);
  scenario["name"] = "a\x1b[31mred\nline";
  scenario["stop"]["steps"] = 3;
  scratch.write("s.json", scenario.dump());
  for (const char* verb :
       {"run s.json", "sweep run s.json", "sweep plan s.json", "run s.json --set '/a\x1b[1m=1'"}) {
    CAPTURE(verb);
    const Outcome outcome = scratch.simsgd(verb);
    CHECK((outcome.out + outcome.err).find('\x1b') == std::string::npos);
  }
  CHECK(scratch.simsgd("run s.json").out.starts_with("a\\u001b[31mred\\nline: 4 x "));
}

TEST_CASE("a file that a full disk cuts never has its name") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  // No file may be larger than 8 kB: the timeline is.
  const std::string command = "cd " + scratch.path().string() + " && (trap '' XFSZ; ulimit -f 16; " +
                              SIMSGD_BINARY_DIR "/simsgd run s.json --json -o out) > /dev/null 2> err.txt";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(contents(scratch.path() / "err.txt") == "Cannot write out/timeline.json: File too large\n");
  for (const char* name : {"timeline.json", "timeline.json.part", "result.json"})
    CHECK(!fs::exists(scratch.path() / "out" / name));
}

TEST_CASE("4,096 workers under an address limit end with a sentence") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string command =
      "cd " + scratch.path().string() + " && (ulimit -v 2000000; " +
      SIMSGD_BINARY_DIR "/simsgd run s.json --threads 1 --set /cluster/workers=4096) > /dev/null 2> err.txt";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(
      contents(scratch.path() / "err.txt") ==
      "--set:/cluster/workers: need 2.15 GB of address space for their stacks, more than this process may use. Found: 4096. Raise the limit (ulimit -v), or use fewer workers.\n");
}

TEST_CASE("Ctrl-C ends a run with exit code 130 and nothing written") {
  const Scratch scratch;
  Json endless = Json::parse(kScenario);
  endless["stop"] = {{"steps", 1000000000}};
  scratch.write("endless.json", endless.dump());
  const std::string command =
      "cd " + scratch.path().string() + " && timeout --preserve-status -k 60 -s INT 1 " +
      SIMSGD_BINARY_DIR "/simsgd run endless.json --threads 2 -o out > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(!fs::exists(scratch.path() / "out"));
}

// What goes to a terminal is not wider than it; what goes anywhere else is as it always was.

namespace {

/// What the program writes to a terminal of so many columns.
std::string on_terminal(std::vector<std::string> words, unsigned short columns) {
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(process >= 0);
  if (process == 0) {
    unsetenv("COLUMNS");
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // how far it is, on lines that are written over
    words.insert(words.begin(), "simsgd");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(SIMSGD_BINARY_DIR "/simsgd", argv.data());
    _exit(127);
  }
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = read(terminal, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  close(terminal);
  int status = 0;
  waitpid(process, &status, 0);
  CHECK(status == 0);
  std::erase(text, '\r');
  return text;
}

std::string words_of(const std::string& text) {
  std::istringstream in(text);
  std::string words;
  for (std::string word; in >> word;)
    if (word != "\\") words += word + " ";
  return words;
}

}  // namespace

TEST_CASE("help, lists and notes fit the terminal, and say the same") {
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"calibrate", "--help"},
      {"list", "metrics"},
      {"list", "algorithms", "wagma"},
      {"list", "stop"},
      {"explain", "--parameters", "110e6", "--step", "0.13s", "--gpus", "16", "--network", "10gbe"}};
  for (const std::vector<std::string>& command : commands) {
    std::string typed;
    for (const std::string& word : command) typed += word + " ";
    CAPTURE(typed);
    for (const unsigned short columns : std::vector<unsigned short>{80, 60}) {
      std::istringstream lines(on_terminal(command, columns));
      for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find_first_not_of(' ');
        const bool words = line.find(' ', begin == std::string::npos ? 0 : begin) != std::string::npos;
        if (words) CHECK_MESSAGE(shown_width(line) <= columns, line);
      }
    }
    if (command[0] == "explain") continue;  // its table has another form where it does not fit
    CHECK(words_of(on_terminal(command, 80)) == words_of(cli::Scratch().simsgd(typed).out));
  }
}

TEST_CASE("lines go on below where their text began") {
  const std::string line = "  --json   Print a document with all that is known\n";
  CHECK(wrapped(line, 0) == line);
  CHECK(wrapped(line, 80) == line);
  CHECK(wrapped(line, 34) == "  --json   Print a document with\n           all that is known\n");
  CHECK(wrapped("note: what is said here is more than a line\n", 30) ==
        "note: what is said here is\nmore than a line\n");
  CHECK(wrapped("    key (number): What is said here is more\n", 30) ==
        "    key (number): What is said\n      here is more\n");
  CHECK(wrapped("  simsgd run scenarios/quickstart.json --point 3\n", 40) ==
        "  simsgd run scenarios/quickstart.json \\\n      --point 3\n");
  CHECK(wrapped("https://example.org/a/long/path/that/has/no/blank", 30) ==
        "https://example.org/a/long/path/that/has/no/blank");
  CHECK(wrapped("simsgd sweep: has no such command. Found: rnu.\n", 30) ==
        "simsgd sweep: has no such\ncommand. Found: rnu.\n");
  CHECK(
      with_wrapped_notes("a table keeps its width, whatever it is\n- and a note below it is wrapped\n", 30) ==
      "a table keeps its width, whatever it is\n- and a note below it is\n  wrapped\n");
  CHECK(wrapped("± ± ± ± ± ± ± ± ± ± ± ± ± ± ±", 30) == "± ± ± ± ± ± ± ± ± ± ± ± ± ± ±");
}

TEST_CASE("columns of a table that do not fit stand below, with the names of the rows") {
  Table table;
  table.title = "throughput of late: mean over 5 seeds";
  table.header = {"algorithm", "nobody", "a tenth", "slow node"};
  table.rows = {{"local_sgd", "6,992.6", "5,024.1", "3,704.2"}, {"ad_psgd", "7,156.2", "6,266.2", "6,373.0"}};
  table.notes = {"* is the best one of its column"};
  CHECK(table_text(table, 0) == formatted(table, TableFormat::text));
  CHECK(table_text(table, 80) == formatted(table, TableFormat::text));
  CHECK(table_text(table, 30) == R"(throughput of late: mean over
5 seeds

algorithm   nobody  a tenth
---------------------------
local_sgd  6,992.6  5,024.1
ad_psgd    7,156.2  6,266.2

algorithm  slow node
--------------------
local_sgd    3,704.2
ad_psgd      6,373.0

* is the best one of its
column
)");
}

}  // namespace simsgd::test::cli_command_line
