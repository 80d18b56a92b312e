// One slow worker among four replicas of four stages, as a little model of a pipeline has it: healing it
// gives back all that it costs, and nobody who waits for it is called slow, whatever of the job was recorded.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/replay/report.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "tests/cli/scratch.hpp"

namespace simsgd::test::replay_slow_worker {

using namespace simsgd::replay;

namespace {

constexpr int kReplicas = 4, kStages = 4, kMicroBatches = 6, kSteps = 2;
constexpr double kMessage_s = 0.0004, kReduce_s = 0.05, kNorm_s = 0.01;

struct Shape {
  bool gpipe = false;
  std::set<int> slow;  // workers: stage * replicas + replica
  double factor = 2;
  std::set<std::string> left_out;      // kinds, "messages"
  bool from_last_starter = true;       // when messages and collectives are recorded; else from their launch
  double clock_s = 0, late_end_s = 0;  // replicas' clocks; how late the slow worker's last pass is recorded
};

// One step: the table's rows, and how long it takes.
class Model {
 public:
  Model(const Shape& shape, int step) : shape_(shape), step_(step) {
    for (int replica = 0; replica < kReplicas; ++replica) passes(replica);
    reduce_and_update();
  }
  std::string rows;
  double end_s = 0;

 private:
  struct Worker {
    std::vector<int> program;  // micro-batches, from 1; backward: negative
    std::size_t next = 0;
    double free_s = 0;
    std::map<int, double> ended_s;
  };

  double usual_s(int worker, int what, double mean_s) const {
    const double noise = Stream({7, Purpose::straggler, static_cast<std::uint32_t>(worker * 64 + what + 32),
                                 static_cast<std::uint64_t>(step_)})
                             .uniform();
    return mean_s * (0.99 + 0.02 * noise) * (shape_.slow.count(worker) > 0 ? shape_.factor : 1);
  }

  void row(int stage, int replica, const char* lane, const std::string& kind, int micro_batch,
           double launch_s, double go_s, double to_s) {
    end_s = std::max(end_s, to_s);
    const bool message = kind.ends_with("send") || kind.ends_with("recv");
    if (shape_.left_out.count(message ? "messages" : kind) > 0) return;
    const double clock_s = 100 * step_ + shape_.clock_s * replica,
                 from_s = shape_.from_last_starter ? go_s : launch_s;
    rows += fmt::format("{},\"PP{}, TP0, {}\",{},{},{},{:.0f},{:.0f}\n", replica, stage, lane, kind, step_,
                        micro_batch, (clock_s + from_s) * 1e6, (to_s - from_s) * 1e6);
  }

  // Each stage does its program in order, as soon as what a pass needs has come.
  void passes(int replica) {
    std::vector<Worker> workers(kStages);
    for (int stage = 0; stage < kStages; ++stage) {
      const int ahead = shape_.gpipe ? kMicroBatches : std::min(kStages - stage, kMicroBatches);
      for (int m = 1; m <= ahead; ++m) workers[index(stage)].program.push_back(m);
      for (int m = 1; m <= kMicroBatches; ++m) {
        workers[index(stage)].program.push_back(-m);
        if (m + ahead <= kMicroBatches) workers[index(stage)].program.push_back(m + ahead);
      }
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < kStages; ++stage)
        while (one_pass(workers, stage, replica)) moved = true;
    }
    for (int stage = 0; stage < kStages; ++stage) done_s_[stage][replica] = workers[index(stage)].free_s;
  }

  bool one_pass(std::vector<Worker>& workers, int stage, int replica) {
    Worker& own = workers[index(stage)];
    if (own.next == own.program.size()) return false;
    const int pass = own.program[own.next], from = stage + (pass > 0 ? -1 : 1);
    const bool receives = from >= 0 && from < kStages;
    double ready_s = 0;
    if (receives) {
      const auto sent = workers[index(from)].ended_s.find(pass);
      if (sent == workers[index(from)].ended_s.end()) return false;
      ready_s = sent->second + kMessage_s;
    }
    const std::string way = pass > 0 ? "forward" : "backward";
    const std::string receive_lane = way + "-in", send_lane = way + "-out";
    if (receives) {
      row(stage, replica, receive_lane.c_str(), way + "-recv", -1, std::min(own.free_s, ready_s - kMessage_s),
          ready_s - kMessage_s, ready_s);
      row(from, replica, send_lane.c_str(), way + "-send", -1, ready_s - kMessage_s, ready_s - kMessage_s,
          ready_s);
    }
    const double begin_s = std::max(ready_s, own.free_s);
    const int worker = stage * kReplicas + replica;
    own.free_s = own.ended_s[pass] = begin_s + usual_s(worker, pass, pass > 0 ? 0.05 : 0.1);
    const bool last = ++own.next == own.program.size() && shape_.slow.count(worker) > 0;
    const double before_s = end_s;
    row(stage, replica, "compute", way + "-compute", std::abs(pass) - 1, begin_s, begin_s,
        own.free_s + (last ? shape_.late_end_s : 0));
    end_s = std::max(before_s, own.free_s);
    return true;
  }

  void reduce_and_update() {
    double norm_s = 0;
    double reduced_s[kStages];
    for (int stage = 0; stage < kStages; ++stage) {
      const double go_s = *std::max_element(done_s_[stage], done_s_[stage] + kReplicas);
      reduced_s[stage] = go_s + kReduce_s;
      norm_s = std::max(norm_s, reduced_s[stage]);
      for (int replica = 0; replica < kReplicas; ++replica)
        row(stage, replica, "dp-comm", "grads-reduce-scatter", -1, done_s_[stage][replica], go_s,
            reduced_s[stage]);
    }
    for (int stage = 0; stage < kStages; ++stage)
      for (int replica = 0; replica < kReplicas; ++replica) {
        row(stage, replica, "dp-comm", "optimizer-clip-main-grad", -1, reduced_s[stage], norm_s,
            norm_s + kNorm_s);
        row(stage, replica, "compute", "optimizer", -1, norm_s + kNorm_s, norm_s + kNorm_s,
            norm_s + kNorm_s + usual_s(stage * kReplicas + replica, 0, 0.04));
      }
  }

  static std::size_t index(int stage) { return static_cast<std::size_t>(stage); }

  const Shape& shape_;
  int step_;
  double done_s_[kStages][kReplicas] = {};
};

std::string table(const Shape& shape) {
  std::string text = "pid_dp,thread,op,step,mb_id,ts_us,dur_us\n";
  for (int step = 0; step < kSteps; ++step) text += Model(shape, step).rows;
  return text;
}

double step_s(const Shape& shape) {
  double sum_s = 0;
  for (int step = 0; step < kSteps; ++step) sum_s += Model(shape, step).end_s;
  return sum_s / kSteps;
}

double well_s(Shape shape) {
  shape.slow = {};
  return step_s(shape);
}

ReplayReport replayed(const Shape& shape, const std::vector<int>& heal, bool infer = true) {
  ReplayOptions options;
  options.heal = heal;
  options.infer = infer;
  return replay_job(read_recorded_job("job.csv", table(shape)), options);
}

// Of the gain that the model has.
double share_of_gain(const Shape& shape, const ReplayReport& report) {
  return (mean(report.recorded_s) - mean(report.what_if->step_s)) / (step_s(shape) - well_s(shape));
}

const std::set<std::string> kRecords[] = {
    {},
    {"messages"},
    {"messages", "optimizer-clip-main-grad"},
    {"grads-reduce-scatter"},
    {"messages", "grads-reduce-scatter", "optimizer-clip-main-grad"},
};

}  // namespace

TEST_CASE("4 replicas x 4 stages, worker 6 takes twice as long: healing it gives all that it costs, to 2 %") {
  for (const bool gpipe : {false, true})
    for (const std::set<std::string>& left_out : kRecords)
      for (const bool from_last_starter : {true, false})
        for (const auto& [clock_s, late_end_s] : {std::pair{0.0, 0.0}, {0.0003, 0.0}, {0.0, 0.0008}}) {
          const Shape shape{gpipe, {6}, 2, left_out, from_last_starter, clock_s, late_end_s};
          CAPTURE(gpipe);
          CAPTURE(fmt::format("{}", fmt::join(left_out, " ")));
          CAPTURE(from_last_starter);
          CAPTURE(clock_s);
          CAPTURE(late_end_s);
          const ReplayReport report = replayed(shape, {6});
          CHECK(share_of_gain(shape, report) == doctest::Approx(1).epsilon(0.02));
          for (std::size_t s = 0; s < report.recorded_s.size(); ++s)
            CHECK(report.replayed_s[s] == doctest::Approx(report.recorded_s[s]).epsilon(1e-9));
          // Who waits is not slow.
          REQUIRE(report.slow.size() == 1);
          CHECK(report.slow[0].workers == std::vector<int>{6});
          CHECK(report.slow[0].ratios[0] == doctest::Approx(2).epsilon(0.02));
          CHECK(mean(report.slow[0].healed_s) == mean(report.what_if->step_s));
          for (const Share& stage : report.stages) CHECK((stage.slowdown > 1.1) == (stage.name == "1"));
          for (const Share& replica : report.replicas)
            CHECK((replica.slowdown > 1.1) == (replica.name == "2"));
        }
}

TEST_CASE("a barrier that explains more than a twentieth of a step is warned of; --no-inferred leaves gaps") {
  const Shape shape{.slow = {6}, .left_out = kRecords[4]};
  const ReplayReport report = replayed(shape, {6});
  REQUIRE(report.graph.synchronisations.size() == 1);
  CHECK(report.graph.synchronisations[0].workers.size() == 16);
  // Fast replicas wait for the slow one from where they end until the norm is there.
  const double share = report.inferred[0].held_s / (kSteps * mean(report.recorded_s));
  CHECK(share > 0.3);
  CHECK(report.inferred[0].own_s == doctest::Approx(kSteps * (kReduce_s + kNorm_s)).epsilon(0.01));
  CHECK(
      report.graph.warnings.count(fmt::format(
          "workers (stages 0, 1, 2, 3) wait for each other before optimizer, for something that is not recorded: modelled as a barrier, which explains {:.1f} % of a step; with --no-inferred it counts as gaps",
          100 * share)) == 1);
  const ReplayReport gaps = replayed(shape, {6}, false);
  CHECK(gaps.graph.synchronisations.empty());
  CHECK(share_of_gain(shape, gaps) < 0.5);
}

TEST_CASE(
    "two slow workers are named and healed together, a slow stage after the others; equal ones are well") {
  const Shape two{.slow = {6, 13}, .factor = 1.5, .left_out = kRecords[2]};
  const ReplayReport both = replayed(two, {13, 6});
  REQUIRE(both.slow.size() == 1);
  CHECK(both.slow[0].workers == std::vector<int>{6, 13});
  CHECK(share_of_gain(two, both) == doctest::Approx(1).epsilon(0.02));
  // All of stage 3: healed after stages 0 to 2.
  const Shape stage{.slow = {12, 13, 14, 15}, .left_out = kRecords[2]};
  const ReplayReport whole = replayed(stage, {12, 13, 14, 15});
  REQUIRE(whole.slow.size() == 1);
  CHECK(whole.slow[0].stage == 3);
  CHECK(whole.slow[0].ratios[0] == doctest::Approx(2).epsilon(0.02));
  CHECK(share_of_gain(stage, whole) == doctest::Approx(1).epsilon(0.02));
  CHECK(replayed({}, {6}).slow.empty());
  const std::string row =
      "pid_dp,thread,op,step,mb_id,ts_us,dur_us\n0,\"PP0, TP0, compute\",forward-compute,1,0,0,";
  CHECK(conclusion(replay_job(read_recorded_job("f", row + "7\n"), {})) ==
        "Nobody can be called slow: there is only one worker.");
  CHECK_THROWS_WITH_AS(replay_job(read_recorded_job("f", row + "0\n"), {}),
                       "f: has no operation that takes time. Give durations above 0.", ConfigError);
  CHECK(conclusion(replayed({}, {})) ==
        "Nobody is slow: no worker takes 5 % longer than its peers, no stage than the others.");
}

TEST_CASE(
    "the summary ends with who is slow, by how much, and what healing gives; the document has the same") {
  const cli::Scratch scratch;
  const Shape shape{.slow = {6}, .left_out = kRecords[4]};
  scratch.write("ops.csv", table(shape));
  const cli::Outcome summary = scratch.simsgd("replay ops.csv --heal 6,7");
  REQUIRE(summary.code == 0);
  CHECK(summary.out.find("workers 6, 7 healed") != std::string::npos);
  const cli::Outcome outcome = scratch.simsgd("replay ops.csv --json --heal 7 --heal 6");
  REQUIRE(outcome.code == 0);
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  CHECK(document["what_if"]["name"] == "workers 7, 6 healed");
  const std::string sentence = document["conclusion"];
  CHECK(summary.out.ends_with("\n" + sentence + "\n"));
  REQUIRE(document["slow"].size() == 1);
  const nlohmann::json& slow = document["slow"][0];
  CHECK(slow["workers"] == nlohmann::json{6});
  CHECK(slow["ratios"][0].get<double>() == doctest::Approx(2).epsilon(0.02));
  CHECK(slow["healed_step_mean_s"].get<double>() == doctest::Approx(well_s(shape)).epsilon(0.02));
  const double change = slow["healed_step_mean_s"].get<double>() / step_s(shape) - 1;
  CHECK(slow["healed_change"].get<double>() == doctest::Approx(change).epsilon(0.001));
  CHECK(sentence.starts_with(fmt::format(
      "Worker 6 (stage 1, replica 2) is slow: it computes {:.2f} times as long as its peers; healed (--heal 6), a step takes ",
      slow["ratios"][0].get<double>())));
  CHECK(sentence.ends_with(fmt::format(" ms ({:+.1f} %).", 100 * slow["healed_change"].get<double>())));
  CHECK(document["inferred"][0]["before"] == "optimizer");
  CHECK(document["inferred"][0]["share_of_step"].get<double>() > 0.3);
  const nlohmann::json gaps =
      nlohmann::json::parse(scratch.simsgd("replay ops.csv --json --no-inferred").out);
  CHECK(gaps["inferred"].empty());
}

}  // namespace simsgd::test::replay_slow_worker
