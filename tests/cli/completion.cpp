// What is made of the command line and the reference of keys: `list KEY`, man page and shell completion. They
// know the same keys as the schema (tests/scenarios/reference.cpp) and docs/reference.md.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/complete.hpp"
#include "cli/list.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/reference.hpp"
#include "tests/analysis/committed_documents.hpp"
#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_completion {

using namespace cli;
using cli::Outcome;

namespace {

/// man page and completion, written into a directory of their own.
class Documents {
 public:
  Documents() { CHECK(scratch_.simsgd("documents .").code == 0); }
  static const Documents& once() {  ///< for all tests that only read them
    static const Documents documents;
    return documents;
  }
  std::string text(const std::string& name) const { return contents(scratch_.path() / name); }

  /// What bash completes the last of `words` to, as its arguments are given to the function. Every word is
  /// quoted.
  std::string completed(const std::string& words) const {
    scratch_.write(
        "ask",
        "source ./simsgd.bash || exit\n[[ $(complete -p simsgd) == *'-F _simsgd simsgd' ]] || exit\n"
        "COMP_WORDS=(" SIMSGD_BINARY_DIR "/simsgd " +
            words +
            ")\n"
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_simsgd\necho \"${COMPREPLY[*]}\"\n");
    const std::string command = "cd " + scratch_.path().string() + " && bash ask > answer 2> errors";
    CHECK(std::system(command.c_str()) == 0);
    CHECK(contents(scratch_.path() / "errors").empty());
    std::string answer = contents(scratch_.path() / "answer");
    if (answer.ends_with('\n')) answer.pop_back();
    return answer;
  }
  const Scratch& scratch() const { return scratch_; }

 private:
  Scratch scratch_;
};

/// All of `text` that follows a `begin`, each up to the next `end`.
std::string parts(const std::string& text, const std::string& begin, const std::string& end) {
  std::string found;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + begin.size()))
    found += text.substr(at, text.find(end, at + begin.size()) - at) + "\n";
  return found;
}

/// Of the reference: sections with this title, or that say they are the same for this object, and the section
/// whose keys they say to have.
std::string sections_on(const std::string& page, const std::string& pointer, const std::string& plugin) {
  std::string found;
  for (std::size_t at = page.find("\n##"); at != std::string::npos;) {
    const std::size_t next = page.find("\n##", at + 1);
    const std::string section = page.substr(at, next - at),
                      title = section.substr(1, section.find('\n', 1) - 1);
    const std::size_t same = section.find("\nThe same keys: ");
    const std::string quoted = fmt::format("`{}`", pointer);
    const bool likewise =
        same != std::string::npos &&
        section.substr(same, section.find('\n', same + 1) - same).find(quoted) != std::string::npos;
    if (title.ends_with(fmt::format("# {}{}", quoted, plugin)) ||
        (likewise && (plugin.empty() ? title.find("`: `") == std::string::npos : title.ends_with(plugin))))
      found += section;
    at = next;
  }
  constexpr std::string_view keys_of = "\nThe keys of `";
  std::string others;
  for (std::size_t at = found.find(keys_of); at != std::string::npos; at = found.find(keys_of, at + 1)) {
    const std::size_t begin = at + keys_of.size();
    const std::string other = found.substr(begin, found.find('`', begin) - begin);
    if (other != pointer) others += sections_on(page, other, plugin);
  }
  return found + others;
}

/// What all kinds at a pointer have, which stands once; and where the kinds are those of another pointer,
/// what those have.
std::string of_all_kinds(const std::string& page, const std::string& pointer, const std::string& plugin) {
  constexpr std::string_view kinds_of = "\nThe kinds and keys of `";
  const std::string names = sections_on(page, pointer, "");
  const std::size_t at = names.find(kinds_of);
  if (at == std::string::npos) return names;
  const std::size_t begin = at + kinds_of.size();
  const std::string other = names.substr(begin, names.find('`', begin) - begin);
  return names + sections_on(page, other, plugin) + sections_on(page, other, "");
}

std::string without_backslashes(std::string text) {
  std::erase(text, '\\');
  return text;
}

}  // namespace

TEST_CASE("list, reference, man page and completion have every key") {
  const Documents& documents = Documents::once();
  std::string page;
  for (const auto& [name, text] : committed::key_reference()) page += text;
  for (std::size_t at; (at = page.find("[`")) != std::string::npos;)
    page.erase(at, 1);  // links between pages
  const std::string man = without_backslashes(documents.text("simsgd.1")),
                    offered = documents.scratch().simsgd("complete -- run --set /").out;
  for (const ReferenceObject& object : reference()) {
    const bool whole = object.pointer.empty();
    const std::string plugin = object.plugin.empty() ? "" : ": `" + object.plugin + "`";
    const std::string in_page =
        whole ? parts(page, "## The scenario\n", "\n##")
              : sections_on(page, object.pointer, plugin) + of_all_kinds(page, object.pointer, plugin);
    const std::string title =
        whole ? "The scenario" : object.pointer + (object.plugin.empty() ? "" : ": " + object.plugin);
    const std::string in_man = parts(man, ".SS \"" + title + "\"\n", "\n.SS");
    for (const ReferenceKey& key : object.keys) {
      CAPTURE(key.pointer);
      CAPTURE(object.plugin);
      const std::string name = last_key(key.pointer);
      const bool is_choice = name == "name" && in_page.find("\nIts `name` is one of `") != std::string::npos;
      CHECK((is_choice || in_page.find("\n| `" + name + "` | ") != std::string::npos));
      CHECK(in_man.find("\n.TP\nfB" + name + "fR\n") != std::string::npos);
      bool listed = false;
      for (const Json& each : key_json(key.pointer)) {
        Json expected = to_json(key);
        if (!object.plugin.empty()) expected["plugin"] = object.plugin;
        if (!object.of.empty()) expected["of"] = object.of;
        listed = listed || each == expected;
      }
      CHECK(listed);
    }
  }
  for (const std::string& pointer : settable_pointers()) {
    CAPTURE(pointer);
    CHECK(offered.find("\n" + pointer + "\n") != std::string::npos);
  }
}

TEST_CASE("the files that examples of the help read exist; those in no folder are the reader's own") {
  const std::string man = without_backslashes(Documents::once().text("simsgd.1"));
  const std::regex path(
      "(scenarios|clusters|devices|workloads|papers|studies)(/[A-Za-z0-9_-]+)+[.](json|xml|csv)");
  std::size_t found = 0;
  for (std::sregex_iterator at(man.begin(), man.end(), path), end; at != end; ++at) {
    const std::string file = at->str();
    CAPTURE(file);
    const std::filesystem::path tree = SIMSGD_SOURCE_DIR;
    CHECK((std::filesystem::exists(tree / file) || std::filesystem::exists(tree / "scenarios" / file)));
    ++found;
  }
  CHECK(found > 5);
}

TEST_CASE("bash completes verbs, options, files, kinds, keys and their values") {
  const Documents& documents = Documents::once();
  documents.scratch().write("mine.json", "{}");
  documents.scratch().write("mine.txt", "");
  struct Asked {
    const char *words, *answer;
  };
  for (const auto& [words, answer] : {
           Asked{"sw", "sweep"},
           {"sweep ''", "run plan submit status"},
           {"sweep run --sh", "--shard"},
           {"results table a.db --format l", "latex"},
           {"advise s.json --target ''", "cost energy throughput time"},
           {"run mi", "mine.json"},
           {"check mi", "mine.json"},
           {"run mine.json --o", "--on --output"},
           {"run --set /cluster/work", "/cluster/workers="},
           {"run --set /stragglers/0/na", "/stragglers/0/name="},
           // bash makes words of what is around "=", where COMP_WORDBREAKS has it ...
           {"run --set /network/fidelity =", "auto closed flows messages steps"},
           {"run --set /network/fidelity = cl", "closed"},
           {"run --set /network/fidelity = closed mi", "mine.json"},
           // ... and else does not.
           {"run --set /network/fidelity=cl", "/network/fidelity=closed"},
           {"list clus", "cluster clusters"},
           {"list clusters clusters/ethernet-1g", "clusters/ethernet-1g.json"},
           {"list graphs to", "torus"},
           {"list cluster/device/mem", "cluster/device/memory cluster/device/memory_bandwidth"},
           {"list network ''", ""},
           {"schema st", "study"},
           {"bench all_r", "all_reduce"},
           {"bench all_reduce --fidelity m", "messages"},
       }) {
    CAPTURE(words);
    CHECK(documents.completed(words) == answer);
  }
}

TEST_CASE("the man page has every verb with its options, the exit codes, and lines that roff takes as text") {
  const Documents& documents = Documents::once();
  const std::string page = documents.text("simsgd.1");
  for (const char* line : {"\n.SS simsgd sweep run\n", "\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR\n",
                           "\nExit codes: 0 done; ", "\n.SH KEYS OF SCENARIO FILES\n"}) {
    CAPTURE(line);
    CHECK(page.find(line) != std::string::npos);
  }
  static const std::set<std::string> requests = {".TH", ".SH", ".SS", ".TP", ".PP",
                                                 ".br", ".nf", ".fi", ".ad"};
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (line.starts_with('.')) CHECK(requests.contains(line.substr(0, 3)));
    CHECK(!line.starts_with('\''));
  }
  if (std::system("command -v groff > /dev/null") == 0) {
    const std::string command =
        "cd " + documents.scratch().path().string() + " && groff -man -Tutf8 -ww -z simsgd.1 2>&1";
    CHECK(std::system((command + " > warnings").c_str()) == 0);
    CHECK(contents(documents.scratch().path() / "warnings").empty());
  }
}

// `simsgd bench` and `simsgd list`.

using Json = nlohmann::ordered_json;

TEST_CASE("bench prints nccl-tests' table: rows that a parser of its columns understands") {
  const Scratch scratch;
  const Outcome outcome =
      scratch.simsgd("bench all_reduce -b 8 -e 1G -f 2 --cluster clusters/infiniband-100g.json --workers 16");
  REQUIRE(outcome.code == 0);
  std::istringstream lines(outcome.out);
  std::string line;
  int rows = 0;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    double size = 0, count = 0, time = 0, algbw = 0, busbw = 0;
    std::string type, redop, root;
    row >> size >> count >> type >> redop >> root >> time >> algbw >> busbw;
    CHECK(count == size / 4);
    CHECK(type == "float");
    CHECK(redop == "sum");
    CHECK(root == "-1");
    CHECK(std::fabs(algbw - size / time / 1e3) < 0.01 + 1e-3 * algbw);
    CHECK(std::fabs(busbw - algbw * 2 * 15 / 16) < 0.02);  // both are rounded to 0.01
    ++rows;
  }
  CHECK(rows == 28);  // 8 B ... 1 GiB
  CHECK(outcome.out.find("# Avg bus bandwidth") != std::string::npos);
}

TEST_CASE("bench notes the host costs that a cluster does not know, in its table and its JSON") {
  const Scratch scratch;
  const std::string options =
      "bench all_reduce -b 1M -e 1M --workers 4 --cluster clusters/infiniband-100g.json";
  CHECK(scratch.simsgd(options).out.find("hosts' work") == std::string::npos);
  scratch.write(
      "c.json",
      R"({"name": "C", "nic": {"bandwidth": "1 GB/s", "latency": "10 us"}, "topology": {"name": "star"},
    "device": {"name": "D", "peak_flops": "1 TFLOPS", "memory": "1 GB"}})");
  const Outcome table = scratch.simsgd("bench all_reduce -b 1M -e 1M --workers 4 --cluster c.json");
  CAPTURE(table.err);
  const std::string note =
      "the hosts' work in communication takes no time as far as it is unknown: cluster C has no ";
  CHECK(table.out.find("\n# Note: " + note) != std::string::npos);
  const Outcome json = scratch.simsgd("bench all_reduce -b 1M -e 1M --workers 4 --cluster c.json --json");
  CHECK(Json::parse(json.out)["config"]["notes"][0].get<std::string>().starts_with(note));
  CHECK(scratch.simsgd("bench all_reduce -b 1M -e 1M --workers 1 --cluster c.json").out.find("Note") ==
        std::string::npos);
}

}  // namespace simsgd::test::cli_completion
