// What goes to a terminal is not wider than it; what goes anywhere else is as it always was.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "results/text_table.hpp"
#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_terminal {

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

}  // namespace simsgd::test::cli_terminal
