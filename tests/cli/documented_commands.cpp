// Every command that README.md and docs/ show, run as written: lines of code blocks, and code in sentences
// and tables, that begin with simsgd, mpirun, cmake or setup.sh. A command that fails, fails the test; so
// does one that is bounded in documented_commands.txt and no longer written anywhere. Words in capitals are
// filled in; long runs are bounded, which is said at each there. A block of JSON behind "Save this as
// `NAME`:" becomes that file. The examples of every verb's --help run in the same way.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/scratch.hpp"
#include "tests/support/fashion_mnist.hpp"
#include "tests/support/temporary_folder.hpp"

namespace simsgd::test::cli_documented_commands {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> documents() {
  std::vector<fs::path> all = {SIMSGD_SOURCE_DIR "/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(SIMSGD_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

// "simsgd_bench" has limits of its own (bench/README.md); "simsgd run" without arguments is the name of a
// verb.
bool is_command(const std::string& text) {
  static const std::regex command(
      R"((\./)?(build/release/)?(simsgd|simsgd-measure)( .+)|mpirun .+|cmake (?!--install$).+|\./setup\.sh .+)");
  static const std::regex verb(
      R"(simsgd(-measure)? (run|check|claims|advise|report|explore|import|replay|worker|calibrate|validate|bench|schema|list|sweep( run| plan| submit| status)?|results( list| show| table| compare| winners| export| merge)?))");
  const bool whole = text == "simsgd schema" || text == "simsgd list";
  return std::regex_match(text, command) && (whole || !std::regex_match(text, verb));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// In fenced blocks a line is a command; elsewhere what stands between two backticks, across lines too.
std::set<std::string> commands_of(const std::string& markdown) {
  std::set<std::string> found;
  std::string prose, line;
  bool fenced = false;
  for (std::istringstream lines(markdown); std::getline(lines, line);) {
    if (line.starts_with("```")) {
      fenced = !fenced;
    } else if (!fenced) {
      prose += line + "\n";
    } else {
      static const std::regex remark(R"(\s+#.*$)");
      if (const std::string command = std::regex_replace(line, remark, ""); is_command(command))
        found.insert(command);
    }
  }
  std::size_t begin = prose.find('`');
  while (begin != std::string::npos) {
    const std::size_t end = prose.find('`', begin + 1);
    if (end == std::string::npos) break;
    if (const std::string code = one_line(prose.substr(begin + 1, end - begin - 1)); is_command(code))
      found.insert(code);
    begin = prose.find('`', end + 1);
  }
  return found;
}

struct Saved {
  std::string name, text;
};

// Blocks that a reader is asked to save as a file.
std::vector<Saved> saved_files(const std::string& markdown) {
  static const std::regex block("Save this as `([^`]+)`:\\n\\n```json\\n([^`]+)```");
  std::vector<Saved> found;
  for (std::sregex_iterator match(markdown.begin(), markdown.end(), block), end; match != end; ++match)
    found.push_back({(*match)[1], (*match)[2]});
  return found;
}

struct Bound {
  std::string command, instead, why;
};

// The sections of documented_commands.txt, in its order: lines at the margin, each with those below it.
std::vector<Bound> bounds_in(std::size_t section) {
  std::vector<std::vector<Bound>> sections(1);
  std::istringstream lines(contents(SIMSGD_SOURCE_DIR "/tests/cli/documented_commands.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## "))
      sections.emplace_back();
    else if (line.starts_with("  "))
      (sections.back().back().instead.empty() ? sections.back().back().instead : sections.back().back().why) =
          line.substr(2);
    else if (!line.empty() && line[0] != '#')
      sections.back().push_back({line, "", ""});
  }
  return sections.at(section);
}

const std::vector<Bound> kWords = bounds_in(1), kBounds = bounds_in(2), kHelpBounds = bounds_in(3),
                         kHelpNeeds = bounds_in(4);

std::string filled(std::string command) {
  for (const Bound& each : kWords) {
    const std::size_t at = command.find(each.command), after = at + each.command.size();
    if (at == std::string::npos || (after < command.size() && std::isalnum(command[after]) != 0)) continue;
    command.replace(at, each.command.size(), each.instead);
  }
  return command;
}

// A folder with the scenarios and the programs where the documents have them, and the files that they
// mention.
class Workplace : public TemporaryFolder {
 public:
  Workplace() {
    fs::create_directories(root() / "build");
    fs::create_symlink(SIMSGD_BINARY_DIR, root() / "build/release");
    fs::create_symlink(SIMSGD_SOURCE_DIR "/scenarios", root() / "scenarios");
    write("scenario.json", R"({
      "name": "mine", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4, "device": {"use": "devices/v100.json"}},
      "workload": {"use": "workloads/resnet20.json", "batch": 128},
      "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 10}})");
    write("study.json", R"({
      "name": "study", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
      "workload": {"use": "workloads/resnet20.json", "batch": 128},
      "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 10},
      "axes": [{"pointer": "/cluster/workers", "values": [2, 4]}]})");
    const std::string learning = R"(
      "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
      "workload": {"use": "workloads/resnet20.json", "batch": 128},
      "learner": {"model": {"name": "softmax_regression"}, "batch": 8,
        "data": {"name": "gaussian_mixture", "features": 2, "classes": 2, "samples": 64}},
      "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 10},
      "target": {"metric": "train_loss", "value": 10, "window": 1}, "seeds": 2, )";
    const std::string algorithms =
        R"({"pointer": "/algorithm", "values": [{"name": "allreduce_sgd"}, {"name": "local_sgd"}]})";
    write("learning.json", R"({"name": "learning",)" + learning +
                               R"("axes": [{"pointer": "/cluster/workers", "values": [2, 4]}, )" +
                               algorithms + "]}");
    write("severity.json", R"({"name": "severity",)" + learning + R"("axes": [
      {"name": "severity", "pointer": "/workload/batch", "values": [64]}, {"name": "share", "pointer": "/stop/steps", "values": [9]}, )" +
                               algorithms + "]}");
    for (const fs::path& document : documents())
      for (const Saved& file : saved_files(contents(document))) write(file.name, file.text);
    write("my.graphml", R"(<graphml><graph edgedefault="undirected">
      <node id="a"/><node id="b"/><node id="c"/><node id="d"/><node id="e"/>
      <edge source="a" target="b"/><edge source="b" target="c"/><edge source="c" target="d"/>
      <edge source="d" target="e"/><edge source="e" target="a"/></graph></graphml>)");
    write("all_reduce_8.log",
          "# simsgd all_reduce on x: 8 ranks\n# size(B) time(us) algbw(GB/s)\n1000 10 0.10\n");
    write("all_reduce_4.json", R"({"nccl_version": 1, "args": "all_reduce_perf", "devices": [{"count": 4}],
      "results": [{"size": 1000, "out_of_place": {"time": 10}}]})");
    write("times.csv", "t\n1\n");
    write("map.json", R"({"values": [{"from": "t", "unit": "us", "quantity": "time_s"}]})");
    write("rings.csv", cli::kRings);
    write("spec.json", cli::kRingsSpec);
    std::string operations = "pid_dp,thread,op,step,mb_id,ts_us,dur_us\n";  // of a pipeline of 2 x 4
    for (int worker = 0; worker < 8; ++worker)
      operations += std::to_string(worker / 4) + ",\"PP" + std::to_string(worker % 4) +
                    ", TP0, compute\",forward-compute,1,0," + std::to_string(worker % 4 * 20) + ",20\n";
    write("ops.csv", operations);
    write(
        "resnet50.graph.txt",  // the input is 128 images of 3 x 224 x 224
        "node1 -- Input0 -- forward_compute_time=0.0, backward_compute_time=0.0, activation_size=77070336.0, parameter_size=0.0\n"
        "node2 -- Linear(in_features=150528, out_features=10, bias=True) -- forward_compute_time=1.5, backward_compute_time=3.0, activation_size=5120.0, parameter_size=6021160.0\n\tnode1 -- node2\n");
    // Graphviz is none of our packages.
    write("dot", "#!/bin/sh\nexec cat\n");
    fs::permissions(root() / "dot", fs::perms::owner_all);
  }
  /// Exit code; what it said is in `said`.
  int run(const std::string& command, std::string& said) const {
    write(
        "command.sh",
        "export PATH=\"$PWD:" SIMSGD_BINARY_DIR ":$PATH\" SOURCE=" SIMSGD_SOURCE_DIR
        " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none\nset -o pipefail\n" +
            command + "\n");
    const std::string shell =
        "cd " + root().string() + " && timeout -k 5 60 bash command.sh > stdout.txt 2> stderr.txt";
    const int status = std::system(shell.c_str());
    said = contents(root() / "stderr.txt");
    if (said.empty()) said = contents(root() / "stdout.txt");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

/// Time of processors that commands have taken.
double spent_s() {
  rusage all{};
  getrusage(RUSAGE_CHILDREN, &all);
  const auto s = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return s(all.ru_utime) + s(all.ru_stime);
}

std::string bounded(const std::string& command, const std::vector<Bound>& bounds,
                    std::set<std::string>& used) {
  for (const Bound& bound : bounds) {
    if (!command.starts_with(bound.command)) continue;
    used.insert(bound.command);
    return bound.instead;
  }
  return command;
}

/// The verbs that `simsgd VERB --help` lists, each with its own; the examples of all of them.
void examples_of_help(const Workplace& workplace, const std::string& verb,
                      std::vector<std::string>& examples) {
  std::string said;
  REQUIRE(workplace.run(verb + " --help 1>&2", said) == 0);
  static const std::regex heading(R"(^Examples?( \(.*\))?:$)"), listed(R"(^  ([a-z]+) .*)"),
      example(R"(^  ((?:simsgd|mpirun|echo) .*)$)");
  bool of_verbs = false, of_examples = false;
  std::smatch match;
  std::string line;
  for (std::istringstream lines(said); std::getline(lines, line);) {
    if (!line.starts_with(' ')) {
      of_verbs = line == "Subcommands:";
      of_examples = std::regex_match(line, heading);
    } else if (of_verbs && std::regex_match(line, match, listed)) {
      examples_of_help(workplace, verb + " " + match[1].str(), examples);
    } else if (of_examples && std::regex_match(line, match, example)) {
      examples.push_back(match[1]);
    }
  }
}

void check_runs(const Workplace& workplace, const std::string& written, const std::string& command) {
  CAPTURE(written);
  CAPTURE(command);
  std::string said;
  const double before_s = spent_s();
  const int code = workplace.run(command, said);
  if (getenv("SIMSGD_TELL") != nullptr) MESSAGE((spent_s() - before_s) << " s: " << command);
  CAPTURE(said);
  CHECK(code == 0);
}

/// False where it has run already: in this workplace, or in any where it needs no file of another command.
bool is_new(const std::string& command, std::set<std::string>& ran_here) {
  static std::set<std::string> ran_anywhere;
  const bool alone = command.find(" -o ") == std::string::npos && !command.starts_with("simsgd results") &&
                     !command.starts_with("simsgd report");
  return (alone ? ran_anywhere : ran_here).insert(command).second;
}

void check_used(const std::vector<Bound>& bounds, const std::set<std::string>& used) {
  for (const Bound& bound : bounds) {
    CAPTURE(bound.command);
    CHECK(used.contains(bound.command));
  }
}

}  // namespace

TEST_CASE("the examples of every verb's --help run") {
  if (fashion_mnist_is_missing()) return;
  const Workplace workplace;
  std::vector<std::string> examples;
  examples_of_help(workplace, "simsgd", examples);
  examples_of_help(workplace, "simsgd-measure", examples);
  CHECK(examples.size() > 25);
  std::string said;
  for (const Bound& needed : kHelpNeeds) {
    CAPTURE(needed.command);
    const int code = workplace.run(needed.command, said);
    CAPTURE(said);
    REQUIRE(code == 0);
  }
  std::set<std::string> used, ran;
  for (const std::string& written : examples) {
    const std::string command = bounded(written, kHelpBounds, used);
    if (!is_new(command, ran)) continue;
    check_runs(workplace, written, command);
  }
  check_used(kHelpBounds, used);
}

TEST_CASE("commands are found in blocks, sentences and tables") {
  CHECK(
      commands_of(
          "```\nsimsgd list graphs   # which\nmpirun -n 4 x\nprintf\n```\n`simsgd run` and `simsgd run a\nb`\n"
          "| `simsgd check FILES` | `simsgd` |") ==
      std::set<std::string>{"mpirun -n 4 x", "simsgd check FILES", "simsgd list graphs", "simsgd run a b"});
  CHECK(filled("simsgd run S") == "simsgd run scenario.json");
  CHECK(filled("simsgd run STUDY --point N") == "simsgd run scenarios/studies/scaling.json --point 2");
}

TEST_CASE("every command of README.md and docs/ runs as it is written") {
  if (fashion_mnist_is_missing()) return;
  const Workplace workplace;
  std::set<std::string> commands, used, ran;  // several are written that are filled in alike
  for (const fs::path& document : documents()) commands.merge(commands_of(contents(document)));
  CHECK(commands.size() > 25);
  // Who reads results comes after who makes them.
  std::vector<std::string> ordered(commands.begin(), commands.end());
  std::stable_partition(ordered.begin(), ordered.end(), [](const std::string& each) {
    return !each.starts_with("simsgd results") && !each.starts_with("simsgd report");
  });
  for (const std::string& written : ordered) {
    const std::string command = bounded(filled(written), kBounds, used);
    if (!is_new(command, ran)) continue;
    check_runs(workplace, written, command);
  }
  check_used(kBounds, used);
}

}  // namespace simsgd::test::cli_documented_commands
