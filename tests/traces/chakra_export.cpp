// A job that is exported as Chakra: there and back, and played by its dependencies alone.
#include <doctest/doctest.h>

#include "scenarios/language/scenario.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/support/refusal.hpp"
#include "tests/traces/imports.hpp"
#include "traces/chakra/chakra_nodes.hpp"
#include "traces/chakra/chakra_writer.hpp"

namespace simsgd::test::traces_chakra_export {

using namespace traces;
using doctest::Approx;

namespace {

// A job's nodes, of all ranks, played by their dependencies and durations alone: a collective begins when all
// ranks have come to it. Returns when the last one ends.
double replayed_s(const std::vector<std::vector<ChakraNode>>& ranks) {
  std::vector<std::map<std::uint64_t, double>> ends(ranks.size());
  std::map<std::string, std::map<std::size_t, double>> ready;  // of a collective: of the ranks that have come
  std::vector<std::size_t> next(ranks.size(), 0);
  double last_s = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::map<std::string, int> number;
      for (std::size_t i = 0; i < ranks[r].size(); ++i) {
        const ChakraNode& node = ranks[r][i];
        std::string key;
        if (node.type == kChakraCollective) {
          key = chakra_text(node.attributes, "pg_name") + "/" +
                std::to_string(chakra_number(node.attributes, "simsgd.channel"));
          key += "/" + std::to_string(number[key]++);
        }
        if (ends[r].contains(node.id)) continue;
        double begin_s = 0;
        bool possible = true;
        for (const auto* deps : {&node.ctrl_deps, &node.data_deps})
          for (const std::uint64_t dep : *deps) {
            possible = possible && ends[r].contains(dep);
            if (possible) begin_s = std::max(begin_s, ends[r].at(dep));
          }
        if (!possible) continue;
        if (!key.empty()) {
          moved = ready[key].emplace(r, begin_s).second || moved;
          if (ready[key].size() < ranks.size()) continue;
          for (const auto& [rank, ready_s] : ready[key]) begin_s = std::max(begin_s, ready_s);
        }
        ends[r][node.id] = begin_s + chakra_number(node.attributes, "simsgd.seconds");
        last_s = std::max(last_s, ends[r][node.id]);
        moved = true;
      }
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ends[r].size() < ranks[r].size()) return -1;  // something waits for ever
  return last_s;
}

// What was simulated and exported, and what was read back.
struct ThereAndBack {
  double end_s = 0, replayed_s = 0;
  double nodes = 0, equal = 0;        // nodes that were written; those that are the same when read
  double collectives = 0, bytes = 0;  // of rank 0
  RecordedWorkload read;
  Workload own;
  std::size_t rows = 0;
  bool approximate = false;
};

ThereAndBack there_and_back(const std::string& scenario) {
  const Files files;
  const Job job = make_job(load_scenario(files.write("s.json", scenario)));
  ChakraRecorder recorder(job.workload, {job.name, "device", job.workers()});
  SimulationOptions options;
  options.observers = {&recorder};
  const SimulationResult result = simulate(job, options);
  if (!recorder.problem().empty()) throw std::runtime_error(recorder.problem());
  std::vector<std::vector<ChakraNode>> ranks;
  std::vector<std::string> paths;
  ThereAndBack made;
  for (int rank = 0; rank < job.workers(); ++rank) {
    const std::vector<ChakraNode> written = recorder.nodes(rank);
    std::string text = chakra_message(recorder.metadata(rank));
    for (const ChakraNode& node : written) text += chakra_message(node);
    paths.push_back(files.write("job." + std::to_string(rank) + ".et", text));
    Input input("f", text);
    ChakraReader reader(input);
    std::vector<ChakraNode>& read = ranks.emplace_back();
    for (ChakraNode node; reader.next(node);) read.push_back(node);
    for (std::size_t i = 0; i < std::min(written.size(), read.size()); ++i)
      made.equal += written[i] == read[i];
    made.nodes += static_cast<double>(written.size() + (read.size() == written.size() ? 0 : 1000000));
  }
  for (const ChakraNode& node : ranks[0])
    if (node.type == kChakraCollective) {
      ++made.collectives;
      made.bytes += chakra_number(node.attributes, "comm_size");
    }
  const Imported all = import_files(paths, {});
  made.end_s = result.record.end_s;
  made.replayed_s = replayed_s(ranks);
  made.read = all.workloads.at(0);
  made.own = job.workload;
  made.rows = all.rows.size();
  made.approximate = recorder.approximate();
  return made;
}

std::string data_parallel(const std::string& algorithm, const std::string& cluster = "gtopk-1gbe",
                          const std::string& more = "") {
  return R"({"name": "s", "cluster": {"use": ")" SIMSGD_SOURCE_DIR R"(/scenarios/clusters/)" + cluster +
         R"(.json", "workers": 4}, "workload": {"use": ")" SIMSGD_SOURCE_DIR
         R"(/scenarios/workloads/resnet20.json", "batch": 64)" +
         more + R"(}, "learner": null, "algorithm": )" + algorithm + R"(, "stop": {"steps": 3},
      "stragglers": [{"name": "lognormal", "mean": "3 ms", "sigma": 1}]})";
}

}  // namespace

TEST_CASE("a job that is exported as Chakra and read back is the same job: layers, bytes, times, deps") {
  const std::string buckets =
      R"({"name": "allreduce_sgd", "fusion": "threshold", "fusion_threshold": "100 KiB"})";
  const std::string one_by_one = R"({"name": "allreduce_sgd", "fusion": "none"})";
  for (const std::string& scenario : {data_parallel(buckets), data_parallel(one_by_one),
                                      data_parallel(R"({"name": "local_sgd", "period": 2})"),
                                      data_parallel(buckets, "gtopk-1gbe", R"(, "micro_batches": 2)"),
                                      data_parallel(one_by_one, "ethernet-10g")}) {
    CAPTURE(scenario);
    const ThereAndBack n = there_and_back(scenario);
    // There communication slows the computing beside it: layers' ends are then approximate.
    const bool slowed = n.approximate;
    CHECK(slowed == (scenario.find("10g") != std::string::npos));
    // The dependencies tell when everything ends.
    CHECK(n.replayed_s == Approx(n.end_s).epsilon(slowed ? 0.01 : 1e-9));
    CHECK(n.equal == n.nodes);
    CHECK(n.bytes == 1078888 * (scenario.find("local") == std::string::npos ? 3 : 1));
    CHECK(static_cast<double>(n.rows) == 4 * n.collectives);
    CHECK(n.read.layers.size() == n.own.layers.size());
    CHECK(n.read.parameters() == n.own.parameters());
    CHECK(n.read.batch == 64);
    CHECK(n.read.forward_s() == Approx(n.own.forward_s() * n.own.micro_batches).epsilon(1e-9));
    const double backward_s = n.own.backward_s() * n.own.micro_batches;
    if (!slowed) CHECK(n.read.backward_s() == Approx(backward_s).epsilon(1e-9));
    if (slowed) CHECK(n.read.backward_s() > backward_s);
  }
}

TEST_CASE("the dependencies of other data-parallel jobs tell when they end, too; the rest is refused") {
  for (const char* const algorithm :
       {R"({"name": "fsdp"})", R"({"name": "powersgd"})", R"({"name": "diloco", "inner_steps": 2})",
        R"({"name": "d_kfac"})", R"({"name": "spd_kfac"})"}) {
    CAPTURE(algorithm);
    const ThereAndBack n = there_and_back(data_parallel(algorithm));
    CHECK(n.replayed_s == Approx(n.end_s).epsilon(1e-9));
    CHECK(n.equal == n.nodes);
    CHECK(n.read.parameters() == n.own.parameters());
  }
  const auto refused = [](const char* algorithm) {
    return refusal_of<std::exception>([&] { there_and_back(data_parallel(algorithm)); });
  };
  CHECK(refused(R"({"name": "dropcompute", "deadline": "80 ms"})") ==
        "it computes gradients in pieces that may be stopped, not layer by layer");
  CHECK(refused(R"({"name": "gtopk", "density": 0.01})").find("for which Chakra has no type") !=
        std::string::npos);
  CHECK(refused(R"({"name": "ad_psgd"})").find("messages to one another, which are not written") !=
        std::string::npos);
}

}  // namespace simsgd::test::traces_chakra_export
