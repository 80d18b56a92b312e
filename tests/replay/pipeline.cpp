// A replay against a pipeline by hand, and against another model of one.
#include <doctest/doctest.h>

#include "analysis/replay/replay.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "tests/replay/pipeline_model.hpp"

namespace simsgd::test::replay_pipeline {

using namespace replay;
using namespace simsgd::replay;

namespace {

struct Recorded {
  PipelineJob job;
  std::string table;
};

double drawn(std::uint64_t seed, const Instruction& i, std::uint32_t salt) {
  const auto entity = static_cast<std::uint32_t>(((i.replica * 16 + i.stage) * 64 + i.micro_batch + 1) * 64 +
                                                 static_cast<int>(i.kind.size()));
  return Stream({seed, Purpose::straggler, entity, salt + (i.kind[0] == 'b' ? 7U : 0U)}).uniform();
}

double usual_s(const Instruction& i) {
  if (i.kind == "forward-compute") return 0.010;
  if (i.kind == "backward-compute") return 0.020;
  return i.communication() ? 0.001 : 0.005;
}

Recorded record(std::uint64_t seed, bool aligned, bool delays) {
  Recorded made;
  made.table = kColumns;
  // Both ends of a message take as long; each step a table of its own.
  const auto duration_s = [seed](const Instruction& i) {
    Instruction key = i;
    if (i.communication()) key.replica = key.stage = 0;
    if (i.communication()) key.kind = i.kind.substr(0, i.kind.size() - 4);
    return usual_s(i) * (1 + drawn(seed, key, 1));
  };
  const auto delay_s = [&](const Instruction& i) { return delays ? 0.0003 * drawn(seed, i, 2) : 0; };
  made.job.make(duration_s, delay_s);
  made.job.run();
  made.table += made.job.rows(5, 100, aligned);
  return made;
}

Graph graph_of(const std::string& table) { return make_graph(read_recorded_job("job.csv", table)); }

double one_step_s(const Graph& graph, const Times& times) { return play(graph, times).step_s.at(0); }

}  // namespace

TEST_CASE("two stages, two micro-batches by hand: 10 + 1 + 10 + 20 + 10 + 20 + 1 + 20 ms") {
  PipelineJob job;
  job.replicas = 1;
  job.stages = 2;
  job.micro_batches = 2;
  const auto duration_s = [](const Instruction& i) {
    return i.kind.ends_with("compute") ? usual_s(i) : i.micro_batch >= 0 ? 0.001 : 0.0;
  };
  job.make(duration_s, [](const Instruction&) { return 0.0; });
  // Gather, reduction, norm and optimizer take nothing here.
  CHECK(job.run() == doctest::Approx(0.092).epsilon(1e-12));
  const Graph graph = graph_of(kColumns + job.rows(1, 3, true));
  CHECK(graph.warnings.empty());
  CHECK(graph.steps.at(0).recorded_s == doctest::Approx(0.092).epsilon(1e-9));
  CHECK(one_step_s(graph, recorded_times(graph, true)) == doctest::Approx(0.092).epsilon(1e-9));
  // Twice the network: two of the messages are on the way, 0.5 ms each.
  CHECK(one_step_s(graph, faster_network(graph, recorded_times(graph, false), 2)) ==
        doctest::Approx(0.091).epsilon(1e-9));
}

TEST_CASE("without its delays a job takes what the other model says, with them what was recorded") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U})
    for (const bool aligned : {false, true}) {
      CAPTURE(seed);
      CAPTURE(aligned);
      const Recorded delayed = record(seed, aligned, true);
      PipelineJob prompt = record(seed, aligned, false).job;
      const Graph graph = graph_of(delayed.table);
      CHECK(graph.warnings.empty());
      CHECK(graph.synchronisations.empty());
      CHECK(one_step_s(graph, recorded_times(graph, true)) ==
            doctest::Approx(graph.steps.at(0).recorded_s).epsilon(1e-12));
      CHECK(one_step_s(graph, recorded_times(graph, false)) == doctest::Approx(prompt.run()).epsilon(1e-9));
    }
}

TEST_CASE("what-ifs are what the other model says of a job that is so") {
  for (const std::uint64_t seed : {11U, 12U, 13U}) {
    CAPTURE(seed);
    const Recorded recorded = record(seed, seed % 2 == 0, true);
    const PipelineJob& was = recorded.job;
    const Graph graph = graph_of(recorded.table);
    const auto find = [&was](const Instruction& i, int replica) -> const Instruction& {
      for (const auto& program : was.programs)
        for (const Instruction& each : program)
          if (each.kind == i.kind && each.stage == i.stage && each.micro_batch == i.micro_batch &&
              each.replica == replica)
            return each;
      throw std::runtime_error("no such instruction");
    };
    PipelineJob other = was;
    const auto no_delay = [](const Instruction&) { return 0.0; };
    // Worker 3: stage 1, replica 1; its only peer is replica 0's.
    other.make(
        [&](const Instruction& i) {
          const bool heals = i.stage == 1 && i.replica == 1 && !i.communication();
          return find(i, heals ? 0 : i.replica).duration_s;
        },
        no_delay);
    CHECK(one_step_s(graph, healed(graph, recorded_times(graph, false), {3}, "--heal")) ==
          doctest::Approx(other.run()).epsilon(1e-9));
    other.make(
        [&](const Instruction& i) { return find(i, i.replica).duration_s / (i.communication() ? 3 : 1); },
        no_delay);
    CHECK(one_step_s(graph, faster_network(graph, recorded_times(graph, false), 3)) ==
          doctest::Approx(other.run()).epsilon(1e-9));
    std::map<std::string, std::vector<double>> all;
    for (const auto& program : was.programs)
      for (const Instruction& each : program) all[each.kind].push_back(each.duration_s);
    const auto typical = [&](const Instruction& i) {
      std::vector<double>& values = all.at(i.kind);
      std::sort(values.begin(), values.end());
      const std::size_t n = values.size();
      if (i.communication()) return (values[(n - 1) / 2] + values[n / 2]) / 2;
      double sum = 0;
      for (const double each : values) sum += each;
      return sum / static_cast<double>(n);
    };
    other.make(typical, no_delay);
    CHECK(one_step_s(graph, ideal(graph, recorded_times(graph, false), equal_durations_s(graph))) ==
          doctest::Approx(other.run()).epsilon(1e-9));
  }
}

TEST_CASE("a table without messages, reduced norm or their waits still shows who is held together") {
  Recorded recorded;
  recorded.table = kColumns;
  for (int step = 0; step < 4; ++step) {
    Recorded one = record(20 + static_cast<std::uint64_t>(step), true, false);
    std::string rows = one.job.rows(step, step, true), kept;
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::size_t end = rows.find('\n', begin);
      const std::string row = rows.substr(begin, end - begin);
      begin = end + 1;
      if (row.find("send") == std::string::npos && row.find("recv") == std::string::npos &&
          row.find("clip") == std::string::npos)
        kept += row + "\n";
    }
    recorded.table += kept;
  }
  const Graph graph = graph_of(recorded.table);
  REQUIRE(graph.synchronisations.size() == 1);
  CHECK(graph.synchronisations[0].kind == "optimizer");
  CHECK(graph.synchronisations[0].workers.size() == 6);
  // What is seen of the norm is its 1 to 2 ms, behind the last reduction of all stages.
  const std::vector<double> equal_s = equal_durations_s(graph);
  CHECK(graph.kinds.back() == "unrecorded before optimizer");
  CHECK(equal_s.back() >= 0.001);
  CHECK(equal_s.back() <= 0.002);
  const Played played = play(graph, recorded_times(graph, true));
  for (std::size_t s = 0; s < graph.steps.size(); ++s)
    CHECK(played.step_s[s] == doctest::Approx(graph.steps[s].recorded_s).epsilon(1e-12));
}

TEST_CASE("a worker's number is stage by stage; where all are named, there is nobody to be healed after") {
  PipelineJob job;
  job.replicas = 1;
  job.make(usual_s, [](const Instruction&) { return 0.0; });
  job.run();
  const Graph graph = graph_of(kColumns + job.rows(1, 0, true));
  CHECK(graph.workers.at(2) == RecordedPlace{0, 2, 0});
  // Stages are alike: healed after the others, one is as it was.
  CHECK(one_step_s(graph, healed(graph, recorded_times(graph, true), {1}, "--heal")) ==
        doctest::Approx(graph.steps[0].recorded_s).epsilon(1e-9));
  CHECK_THROWS_WITH_AS(healed(graph, recorded_times(graph, true), {0, 3}, "--heal"),
                       "--heal: names a worker that the job does not have. Found: 3. Name one from 0 to 2.",
                       ConfigError);
  CHECK_THROWS_WITH_AS(healed(graph, recorded_times(graph, true), {0, 1, 2}, "--heal"),
                       "--heal: leaves no worker to be healed after. Found: 0,1,2. Leave one as it was.",
                       ConfigError);
}

}  // namespace simsgd::test::replay_pipeline
