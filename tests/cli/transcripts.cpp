// What the program answers, as text: files, commands and all that they print, in transcripts/*.txt. Empty
// lines separate blocks; a block begins with the name of its case. Then, as often as needed:
//   file NAME     a file of the lines behind "| ", in which \n, \r, \t, \\ and \xFF are bytes; "|-" begins a
//                 last line without an end
//   $ COMMAND     of the shell, in a folder of the case's own
//   > LINE        what it prints on standard output,
//   ! LINE        on standard error,
//   = CODE        and how it ends, where that is not with 0
// "..." at the end of a printed line stands for the rest of it, alone for any lines. The block "in all cases"
// begins each case of its file. SIMSGD_WRITE_RECORDED=1 writes what is printed today into the files.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_transcripts {

using namespace cli;
using cli::Outcome;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Of a line "| TEXT", or of one of another sign.
std::string behind_sign(const std::string& line) { return line.size() < 2 ? "" : line.substr(2); }

std::string unescaped(const std::string& text) {
  static const std::string kSigns = "nrt\\", kMeant = "\n\r\t\\";
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
    } else if (text[++at] == 'x') {
      bytes += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16));
      at += 2;
    } else {
      bytes += kMeant.at(kSigns.find(text[at]));
    }
  }
  return bytes;
}

bool matches(const std::string& said, const std::string& line) {
  return line.ends_with("...") ? said.starts_with(line.substr(0, line.size() - 3)) : said == line;
}

bool matches(const Lines& said, std::size_t from, const Lines& expected, std::size_t at) {
  if (at == expected.size()) return from == said.size();
  if (expected[at] == "...")
    return matches(said, from, expected, at + 1) ||
           (from < said.size() && matches(said, from + 1, expected, at));
  return from < said.size() && matches(said[from], expected[at]) && matches(said, from + 1, expected, at + 1);
}

std::string with_sign(const char* sign, const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += sign + (line.empty() ? "" : " " + line) + "\n";
  return text;
}

// One case; what it should say is compared, and what it says is the case as it would be written.
class Case {
 public:
  std::string say(const Lines& block) {
    std::string text;
    for (std::size_t at = 0; at < block.size();) {
      const std::string& line = block[at++];
      text += line + "\n";
      const std::size_t first = at;
      if (line.starts_with("file ")) {
        std::string bytes;
        for (; at < block.size() && block[at][0] == '|'; ++at)
          bytes += unescaped(behind_sign(block[at])) + (block[at].starts_with("|-") ? "" : "\n");
        scratch_.write(line.substr(5), bytes);
        for (std::size_t i = first; i < at; ++i) text += block[i] + "\n";
      } else if (line.starts_with("$ ")) {
        while (at < block.size() && std::string(">!=").find(block[at][0]) != std::string::npos) ++at;
        text += run(line.substr(2), Lines(block.begin() + static_cast<std::ptrdiff_t>(first),
                                          block.begin() + static_cast<std::ptrdiff_t>(at)));
      }
    }
    return text;
  }

 private:
  std::string run(const std::string& command, const Lines& expected) const {
    CAPTURE(command);
    Lines out, err;
    int code = 0;
    for (const std::string& line : expected) {
      if (line[0] == '=') code = std::stoi(behind_sign(line));
      if (line[0] == '>') out.push_back(behind_sign(line));
      if (line[0] == '!') err.push_back(behind_sign(line));
    }
    const Outcome ended = outcome_of(command);
    const Lines said = lines_of(ended.out), told = lines_of(ended.err);
    CHECK(ended.code == code);
    const bool same_out = matches(said, 0, out, 0), same_err = matches(told, 0, err, 0);
    if (!same_out) CHECK(with_sign(">", said) == with_sign(">", out));
    if (!same_err) CHECK(with_sign("!", told) == with_sign("!", err));
    return with_sign(">", same_out ? out : said) + with_sign("!", same_err ? err : told) +
           (ended.code == 0 ? "" : "= " + std::to_string(ended.code) + "\n");
  }

  Outcome outcome_of(const std::string& command) const {
    const std::string folder = scratch_.path().string(), printed = folder + ".out", said = folder + ".err";
    const std::string shell =
        fmt::format("cd {} && export PATH=\"" SIMSGD_BINARY_DIR ":$PATH\" && {{ {}\n}} > {} 2> {}", folder,
                    command, printed, said);
    const int status = std::system(shell.c_str());
    const Outcome ended{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(printed),
                        contents(said)};
    for (const std::string& file : {printed, said}) std::filesystem::remove(file);
    return ended;
  }

  Scratch scratch_;
};

}  // namespace

TEST_CASE("the program answers as its transcripts say") {
  for (const auto& entry : std::filesystem::directory_iterator(SIMSGD_SOURCE_DIR "/tests/cli/transcripts")) {
    CAPTURE(entry.path().filename().string());
    std::string written, always;
    std::vector<Lines> blocks(1);
    for (const std::string& line : lines_of(contents(entry.path()))) {
      if (line.empty()) blocks.emplace_back();
      if (!line.empty()) blocks.back().push_back(line);
    }
    Lines before;
    for (const Lines& block : blocks) {
      if (block.empty()) continue;
      const std::string name = block[0];
      CAPTURE(name);
      written += written.empty() ? "" : "\n";
      if (name == "in all cases") before = block;
      if (name == "in all cases" || name[0] == '#') {
        for (const std::string& line : block) written += line + "\n";
        continue;
      }
      Case each;
      each.say(before);
      written += each.say(block);
    }
    if (std::getenv("SIMSGD_WRITE_RECORDED") != nullptr) std::ofstream(entry.path()) << written;
  }
}

}  // namespace simsgd::test::cli_transcripts
