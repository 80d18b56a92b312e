// Every command that README.md and docs/ show, run as written: lines of code blocks, and code in sentences
// and tables, that begin with simsgd, mpirun, cmake or setup.sh. A command that fails, fails the test; so
// does one that is bounded below and no longer written anywhere. Words in capitals are filled in; long runs
// are bounded, which is said at each. A block of JSON behind "Save this as `NAME`:" becomes that file. The
// examples of every verb's --help run in the same way.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace simsgd::test::cli_documented_commands {

namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

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

struct Filled {
  const char *word, *value;
};
// Words in capitals, longest first where one holds another.
constexpr Filled kWords[] = {
    {"gtopk_ALGORITHM", "gtopk_gtopk"},
    {"spd_kfac_SYSTEM.json --set /workload/use=workloads/NET.json --set /workload/batch=B",
     "spd_kfac_spd_kfac.json --set /workload/use=workloads/resnet50.json --set /workload/batch=32"},
    {"/cluster/workers=P --set /workload/use=workloads/NET.json",
     "/cluster/workers=32 --set /workload/use=workloads/resnet50.json"},
    {"/workload/batch=B --set /workload/micro_batches=M",
     "/workload/batch=256 --set /workload/micro_batches=16"},
    {"run FILE --check", "run scenarios/papers/wagma_resnet50_wagma.json --check --draws 0"},
    {"run FILE --set /cluster/workers=P",
     "run scenarios/papers/wagma_resnet50_wagma.json --set /cluster/workers=16 --set /stop/steps=20"},
    {"<(...)", "<(cat scenario.json)"},
    {"run STUDY --point N", "run scenarios/studies/scaling.json --point 2"},
    {"run STUDY -o", "run study.json -o"},
    {"plan STUDY", "plan scenarios/studies/scaling.json"},
    {"advise STUDY", "advise study.json --budget 10"},
    {"claims STUDY", "claims scenarios/claims/W5.json --set /stop/steps=2"},
    {"calibrate SPEC", "calibrate spec.json"},
    {"validate SPEC", "validate spec.json"},
    {"run S", "run scenario.json"},
    {"run SCENARIO --chakra DIR", "run scenario.json --chakra traces"},
    {"compare REAL SIMULATED", "compare real simulated"},
    {"check FILES", "check scenario.json study.json"},
    {"topologies NAME --dot", "topologies torus --dot"},
    {"list KIND [NAME]", "list algorithms allreduce_sgd"},
    {"list KEY", "list network"},
    {"schema KIND", "schema study"},
    {"--prefix DIR", "--prefix installed"}};

std::string filled(std::string command) {
  for (const auto& [word, value] : kWords) {
    const std::size_t at = command.find(word);
    const std::size_t after = at == std::string::npos ? at : at + std::string(word).size();
    if (at == std::string::npos || (after < command.size() && std::isalnum(command[after]) != 0)) continue;
    command.replace(at, std::string(word).size(), value);
  }
  return command;
}

struct Bound {
  const char *command, *instead, *why;
};
constexpr Bound kBounds[] = {
    {"simsgd advise scenarios/studies/straggler_share.json",
     "simsgd advise study.json --target throughput --budget 10",
     "candidates that learn take minutes: two that do not"},
    {"simsgd sweep run crashes.json", "simsgd sweep run crashes.json -o crashes.db --draws 0 --set /seeds=2",
     "eight seeds take six seconds: two"},
    {"simsgd sweep run scenarios/studies/observatory.json",
     "simsgd sweep run scenarios/studies/observatory.json -o observatory.db --set /seeds=1",
     "five seeds take a minute: one"},
    {"simsgd sweep run scenarios/studies/methods_of_today.json",
     "simsgd sweep run scenarios/studies/methods_of_today.json -o today.db --set /seeds=1",
     "five seeds take half a minute: one"},
    {"simsgd report late.db", "simsgd report late.db -o late.md --format md", "a page needs ./setup.sh web"},
    {"simsgd report scaling.db", "simsgd report scaling.db --chart speedup -o speedup.md --format md",
     "a figure needs ./setup.sh web"},
    {"simsgd claims scenarios/claims/W1.json",
     "simsgd claims scenarios/claims/W4.json --set /stop/steps=2 --format md",
     "19 studies take an hour: one of them"},
    {"simsgd sweep run scenarios/studies/gtopk_table.json",
     "simsgd sweep run scenarios/studies/gtopk_table.json --check --draws 2",
     "20 draws for intervals take half a minute: two"},
    {"mpirun -n 2 simsgd-measure network -o network.csv",
     "mpirun -n 2 simsgd-measure network -o network.csv --samples 3 --max-bytes 1MiB",
     "20 samples of a point up to 16 MiB take seconds: three up to 1 MiB"},
    {"mpirun -n 1 simsgd-measure compute scenarios/real_run.json -o compute.csv",
     "mpirun -n 1 simsgd-measure compute scenarios/real_run.json -o compute.csv --samples 3 --point-time 0.1",
     "20 samples of a kernel take seconds: three"},
    {"simsgd run scenarios/language_model.json",
     "simsgd run scenarios/language_model.json --set /stop/steps=2 --set /record/evaluate_every=0",
     "2,000 steps take two minutes: two"},
    {"./setup.sh run", "bash -n $SOURCE/setup.sh",
     "installs and builds; its quick-start is tests/cli/quickstart.cpp"},
    {"simsgd sweep run scenarios/studies/scaling_all.json",
     "simsgd sweep run scenarios/studies/scaling_all.json -o scaling_all.db --set '/axes=[{\"pointer\": \"/cluster/use\", \"name\": \"network\", \"values\": [\"clusters/ethernet-10g.json\"]}, {\"pointer\": \"/algorithm\", \"values\": [{\"name\": \"wagma\"}]}, {\"pointer\": \"/cluster/workers\", \"values\": [4, 8]}]'",
     "465 points take five minutes: two of them"},
    {"simsgd sweep run scenarios/studies/straggler_share.json",
     "simsgd sweep run scenarios/studies/straggler_share.json -o straggler_share.db --set /stop/steps=5 --set /seeds=1 --set /axes/0/values=[2]",
     "420 runs that learn take 20 minutes: five steps of 21"},
    {"simsgd report scaling_all.db", "simsgd report scaling_all.db -o s.md --format md",
     "a page needs ./setup.sh web"},
    {"simsgd import rank*.json.gz",
     "simsgd run scenario.json -o traced && simsgd import traced/kineto/rank*.json --stragglers s.csv -o data.csv",
     "traces of PyTorch are not part of the project: ours of that shape"},
    {"simsgd replay rank*.json.gz",
     "simsgd run scenario.json -o traced && simsgd replay traced/kineto/rank*.json --network 2x",
     "traces of PyTorch are not part of the project: ours of that shape"},
    {"simsgd replay out/timeline.json",
     "simsgd run scenario.json -o traced && simsgd replay traced/timeline.json --heal 3",
     "of a run that was recorded before"},
    {"simsgd import traces/*.et",
     "simsgd run scenario.json --set /stop/steps=2 --chakra traces && simsgd import traces/*.et --workload back.json",
     "what the command beside it writes"},
    {"./setup.sh web", "bash -n $SOURCE/setup.sh", "fetches 250 MB"},
    {"simsgd report out/quickstart.db", "simsgd report workers.db --chart throughput --format md",
     "a figure needs ./setup.sh web"},
    {"simsgd report F.db", "simsgd report workers.db -o r.md --format md", "a page needs ./setup.sh web"},
    {"simsgd report s.db", "simsgd report workers.db -o s.md --format md", "a page needs ./setup.sh web"},
    {"simsgd explore", "simsgd explore --help", "serves until it is ended: tests/live"},
    {"./setup.sh test", "bash -n $SOURCE/setup.sh", "runs this test"},
    {"simsgd sweep submit", "simsgd sweep submit --help", "needs a Slurm: tests/slurm"},
    {"simsgd sweep status",
     "simsgd sweep run scenarios/quickstart.json -o q.db --set /stop/steps=5 && simsgd sweep status q.db",
     "of what was submitted"},
    {"./setup.sh build", "bash -n $SOURCE/setup.sh", "builds"},
    {"simsgd calibrate scenarios/samples", "simsgd calibrate scenarios/samples/nccl_8.log -o my.json",
     "three models of two logs take a minute of CPU: tests/cli/logs.cpp"},
    {"simsgd calibrate nccl_8.log nccl_16.log", "simsgd calibrate --help", "of a log of the reader's own"},
    {"simsgd list clusters my.json", "simsgd list clusters ethernet-1g", "of the command above it"},
    {"simsgd run scenarios/samples/job.json --on my.json",
     "simsgd run scenarios/samples/job.json --on clusters/infiniband-100g.json --workload scenarios/samples/resnet50.0.et.gz --workers 64",
     "on what the command above it wrote"},
    {"simsgd run scenario.json --on my.json",
     "simsgd run scenario.json --on clusters/infiniband-100g.json --workers 64",
     "on what another command wrote"},
    {"./setup.sh python", "bash -n $SOURCE/setup.sh", "builds"},
    {"simsgd book", "simsgd book --last", "all fits take a quarter of an hour"},
    {"./setup.sh docs", "bash -n $SOURCE/setup.sh", "fetches from npm: tests/docs"},
    {"./setup.sh image", "bash -n $SOURCE/setup.sh", "builds"},
    {"simsgd calibrate scenarios/calibration", "simsgd calibrate spec.json -o cluster.json",
     "measurements are not part of the project"},
    {"simsgd validate scenarios/calibration", "simsgd validate spec.json --max-error 5%",
     "measurements are not part of the project"},
    {"simsgd advise scenarios/studies/advise_grid.json",
     "simsgd advise study.json --target throughput --budget 10 --verify",
     "500 candidates take minutes in full: two"},
    {"simsgd sweep run scenarios/studies/convergence.json",
     "simsgd sweep run scenarios/studies/convergence.json -o convergence.db --draws 0 --set /stop/steps=2 --set /seeds=[1]",
     "55 runs that learn take 15 minutes: two steps of each algorithm"},
    {"simsgd sweep run scenarios/studies/nonblocking_slow_device.json",
     "simsgd sweep run scenarios/studies/nonblocking_slow_device.json --set /stop/steps=8 --set /seeds=[1]",
     "50 runs that learn take 15 minutes: eight steps of each method"},
    {"simsgd sweep run scenarios/studies/gtopk_convergence.json",
     "simsgd sweep run scenarios/studies/gtopk_convergence.json --draws 0 --set /stop/steps=2 --set /seeds=[1]",
     "30 runs of 10 epochs take 15 minutes: two steps of each"},
    {"simsgd sweep run scenarios/studies/gtopk_orders.json",
     "simsgd sweep run scenarios/studies/gtopk_orders.json --draws 0 --set /seeds=2",
     "500 orders take minutes: two"},
    {"simsgd sweep run scenarios/studies/datasheet_gtopk.json",
     "simsgd sweep run scenarios/studies/datasheet_gtopk.json",
     "with --check it ends with 1: cells are off, which is what it shows"},
    {"simsgd sweep run scenarios/studies/datasheet_spd_kfac.json",
     "simsgd sweep run scenarios/studies/datasheet_spd_kfac.json",
     "with --check it ends with 1: cells are off, which is what it shows"},
    {"simsgd sweep run scenarios/studies/datasheet_wagma.json",
     "simsgd sweep run scenarios/studies/datasheet_wagma.json",
     "with --check it ends with 1: cells are off, which is what it shows"},
};

constexpr Bound kHelpBounds[] = {
    {"simsgd quickstart", "simsgd quickstart -o first.db --set /stop/steps=5",
     "2,000 steps that learn take seconds: five"},
    {"simsgd run scenarios/papers/wagma_resnet50_wagma.json",
     "simsgd run scenarios/papers/wagma_resnet50_wagma.json --set /cluster/workers=16 --set /stop/steps=20 -o out",
     "intervals take 40 runs of 2,000 steps: 20"},
    {"simsgd sweep run scenarios/quickstart.json",
     "simsgd sweep run scenarios/quickstart.json -o q.db --artifacts out --set /stop/steps=5",
     "2,000 steps that learn take seconds: five"},
    {"simsgd sweep plan scenarios/quickstart.json",
     "simsgd sweep plan scenarios/quickstart.json -o q.db --estimate 0", "tries of points take 5 s: none"},
    {"simsgd results table s.db --rows workers",
     "simsgd results table workers.db --rows workers --metric throughput_samples_per_s,wait_s --format csv",
     "of a study without algorithms"},
    {"simsgd advise scenarios/real_run.json", "simsgd advise study.json --target throughput --budget 10",
     "candidates that learn take ten seconds"},
    {"mpirun -n 2 simsgd-measure network",
     "mpirun -n 2 simsgd-measure network -o network.csv --samples 3 --max-bytes 1KiB",
     "three campaigns take half a minute: one"},
    {"mpirun -n 4 simsgd-measure collectives",
     "mpirun -n 4 simsgd-measure collectives --op all_reduce --schedule ring,mpi -o rings_of_4.csv --samples 3 --max-bytes 2KiB --point-time 0.1",
     "all sizes take seconds: two"},
    {"simsgd sweep submit", "simsgd sweep submit --help", "needs a Slurm: tests/slurm"},
    {"simsgd results table s.db --rows severity",
     "simsgd results table severity.db --rows severity,share --columns algorithm --metric time_to_target_s",
     "of another study than the line below it"},
    {"simsgd report results.db", "simsgd report s.db -o r.md --format md", "a page needs ./setup.sh web"},
    {"simsgd explore", "simsgd explore --help", "serves until it is ended: tests/live"},
    {"simsgd calibrate nccl_8.log nccl_16.log", "simsgd calibrate --help", "of a log of the reader's own"},
    {"simsgd calibrate scenarios/calibration", "simsgd calibrate spec.json -o cluster.json",
     "measurements are not part of the project"},
    {"simsgd validate scenarios/calibration", "simsgd validate spec.json --max-error 5%",
     "measurements are not part of the project"},
    {"simsgd book --data", "simsgd book --last", "all fits take a quarter of an hour"},
    {"simsgd claims scenarios/claims/W5.json",
     "simsgd claims scenarios/claims/W5.json -o claims.db --set /stop/steps=2", "40 settings take minutes"},
    {"mpirun -n 4 simsgd-measure run",
     "mpirun -n 4 simsgd-measure run scenarios/real_run.json --set /stop/steps=5", "500 real steps: five"},
};

// What the examples of --help take for granted.
constexpr const char* kHelpNeeds[] = {
    "simsgd sweep run learning.json -o s.db",
    "simsgd sweep run severity.json -o severity.db",
    "simsgd sweep run study.json -o workers.db",
    "simsgd sweep run scenarios/studies/scaling.json -o results.db --set /stop/steps=2 --draws 0",
    "cp s.db a.db && cp severity.db b.db && gzip -k ops.csv",
    "simsgd run scenario.json --steps -o real && simsgd run scenario.json --steps -o simulated",
};

// A folder with the scenarios and the programs where the documents have them, and the files that they
// mention.
class Workplace {
 public:
  Workplace() {
    std::string pattern = (fs::temp_directory_path() / "simsgd-documented-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    fs::create_directories(path_ / "build");
    fs::create_symlink(SIMSGD_BINARY_DIR, path_ / "build/release");
    fs::create_symlink(SIMSGD_SOURCE_DIR "/scenarios", path_ / "scenarios");
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
    write("rings.csv",
          "P,B,t\n2,1000,20.2\n2,1000000,220\n4,1000,60.3\n4,1000000,360\n8,1000,140.35\n8,1000000,490\n");
    write("spec.json", R"({"name": "rings",
      "scenario": {"cluster": {"name": "c", "device": {"use": "devices/v100.json"}, "topology": {"name": "star"},
        "nic": {"bandwidth": "1 GB/s"}, "host": {"launch": 0, "staged": false, "reduce": 0, "tensor": 0, "pack": 0}}},
      "data": [{"files": ["rings.csv"], "map": {"workers": "P", "bytes": {"from": "B", "unit": "B"},
        "values": [{"quantity": "time_s", "from": "t", "unit": "us"}], "constants": {"operation": "all_reduce"}}}],
      "predict": [{"as": "collective"}],
      "models": [{"name": "ring", "parameters": [
        {"name": "latency", "pointers": ["/cluster/nic/latency"], "low": "1 us", "high": "1 ms"},
        {"name": "bandwidth", "pointers": ["/cluster/nic/bandwidth"], "low": "0.1 GB/s", "high": "100 GB/s"}]}],
      "fit": {"where": {"workers": [2, 4]}}, "tests": [{"name": "8", "where": {"workers": 8}}]})");
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
    fs::permissions(path_ / "dot", fs::perms::owner_all);
  }
  ~Workplace() { fs::remove_all(path_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

  /// Exit code; what it said is in `said`.
  int run(const std::string& command, std::string& said) const {
    write(
        "command.sh",
        "export PATH=\"$PWD:" SIMSGD_BINARY_DIR ":$PATH\" SOURCE=" SIMSGD_SOURCE_DIR
        " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none\nset -o pipefail\n" +
            command + "\n");
    const std::string shell =
        "cd " + path_.string() + " && timeout -k 5 60 bash command.sh > stdout.txt 2> stderr.txt";
    const int status = std::system(shell.c_str());
    said = contents(path_ / "stderr.txt");
    if (said.empty()) said = contents(path_ / "stdout.txt");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  fs::path path_;
};

bool has_fashion_mnist() {
  return fs::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz");
}

std::string bounded(const std::string& command, std::span<const Bound> bounds, std::set<std::string>& used) {
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

}  // namespace

TEST_CASE("the examples of every verb's --help run") {
  if (!has_fashion_mnist()) {
    MESSAGE("SKIPPED: Fashion-MNIST is not installed (Debian package dataset-fashion-mnist)");
    return;
  }
  const Workplace workplace;
  std::vector<std::string> examples;
  examples_of_help(workplace, "simsgd", examples);
  examples_of_help(workplace, "simsgd-measure", examples);
  CHECK(examples.size() > 25);
  std::string said;
  for (const char* needed : kHelpNeeds) {
    CAPTURE(needed);
    const int code = workplace.run(needed, said);
    CAPTURE(said);
    REQUIRE(code == 0);
  }
  std::set<std::string> used, ran;
  for (const std::string& written : examples) {
    const std::string command = bounded(written, kHelpBounds, used);
    if (!ran.insert(command).second) continue;
    CAPTURE(written);
    CAPTURE(command);
    const int code = workplace.run(command, said);
    CAPTURE(said);
    CHECK(code == 0);
  }
  for (const Bound& bound : kHelpBounds) {
    CAPTURE(bound.command);
    CHECK(used.contains(bound.command));
  }
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
  if (!has_fashion_mnist()) {
    MESSAGE("SKIPPED: Fashion-MNIST is not installed (Debian package dataset-fashion-mnist)");
    return;
  }
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
    if (!ran.insert(command).second) continue;
    CAPTURE(written);
    CAPTURE(command);
    std::string said;
    const auto begin = std::chrono::steady_clock::now();
    const int code = workplace.run(command, said);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (getenv("SIMSGD_TELL") != nullptr) MESSAGE(seconds << " s: " << command);
    CAPTURE(said);
    CHECK(code == 0);
  }
  for (const Bound& bound : kBounds) {
    CAPTURE(bound.command);
    CHECK(used.contains(bound.command));
  }
}

}  // namespace simsgd::test::cli_documented_commands
