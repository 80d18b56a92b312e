// Every algorithm that exists, over MPI on four ranks: what does not depend on time learns what the fake
// world learns, an implementation of its own; and where who is late decides, nothing is lost or used twice.
// An algorithm that is new is in the first test by being in the table.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/measure/real_runs.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::measure_all_algorithms {

namespace {

float largest(const Models& models) {
  float most = 0;
  for (const auto& model : models)
    for (const float value : model) most = std::max(most, std::abs(value));
  return most;
}

std::vector<double> mean(const Models& models) {
  std::vector<double> sum(models.front().size(), 0.0);
  for (const auto& model : models)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += model[i] / static_cast<double>(models.size());
  return sum;
}

/// Drawn for each rank, so that models differ without any learning.
std::vector<float> drawn(int rank) {
  std::vector<float> model;
  Stream draws({7, Purpose::resampling, static_cast<std::uint32_t>(rank), 0});
  for (int i = 0; i < 36; ++i) model.push_back(static_cast<float>(draws.normal()));
  return model;
}
void start_drawn(Worker& worker) {
  worker.replica().set(worker.executor().constant({drawn(worker.rank()), {}, {}}));
}
Models all_drawn() { return {drawn(0), drawn(1), drawn(2), drawn(3)}; }

}  // namespace

TEST_CASE("200 steps of every algorithm that time does not decide give the models of the fake world") {
  // With the schedules of the scenario 120 are enough: rounding has had its 200 without.
  // Of those that it may decide, the options with which it does not; of others what they must be given.
  const std::map<std::string, Json> options = {
      {"decoupled_diloco", {{"quorum", 4}, {"wait", true}, {"inner_steps", 5}}},
      // With the default damping inverses of one mini-batch's factors multiply rounding by up to 500 twice.
      {"dp_kfac", {{"damping", 0.1}}},
      {"dropcompute", {{"deadline", 100.0}, {"micro_batches", 4}}},
      {"nonblocking", {{"trigger", "none"}, {"micro_batches", 4}}},
      {"gtopk", {{"density", 0.2}}},
      {"hsdp", {{"shards", 2}}},
      {"ok_topk", {{"density", 0.2}, {"threshold_interval", 4}}},
      {"sidco", {{"density", 0.2}}},
      {"topk_sgd", {{"density", 0.2}}},
  };
  const std::vector<std::string> by_time = {"ad_psgd", "async_local_sgd", "eager_sgd", "halos", "wagma"};
  for (const bool schedules : {false, true})
    for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
      const std::string& name = plugin.info.name;
      if (std::find(by_time.begin(), by_time.end(), name) != by_time.end()) continue;
      CAPTURE(name);
      CAPTURE(schedules);
      const auto given = options.find(name);
      const Json with = given == options.end() ? Json::object() : given->second;
      const bool lonely = name == "kfac";  // of one worker: every rank by itself
      const std::uint64_t steps = schedules ? 120 : 200;
      const Job job = learning(name, with, steps, lonely ? 1 : 4);
      const RealResult real = run_real(job, lonely ? MPI_COMM_SELF : MPI_COMM_WORLD,
                                       {.patience_s = 30, .scenario_schedules = schedules});
      if (rank_here() != 0) continue;
      const Models expected = run_fake(job).models;
      CHECK(largest(expected) > 1e-2);
      CHECK(worst_difference(real.models, expected) < 1e-4 * largest(expected));
      for (const WorkerRecord& worker : real.record.workers) CHECK(worker.steps == steps);
    }
}

TEST_CASE(
    "message by message: each schedule's values, in messages as long as the workload's, and no others") {
  const struct {
    std::string schedule, name;
    Json options;
  } cases[] = {
      {"ring", "allreduce_sgd", Json::object()},
      {"rabenseifner", "allreduce_sgd", Json::object()},
      {"hierarchical", "allreduce_sgd", Json::object()},
      {"double_binary_tree", "allreduce_sgd", Json::object()},
      {"tree", "allreduce_sgd", Json::object()},
      {"", "gtopk", {{"density", 0.2}, {"variant", "recursive_doubling"}}},
      {"", "gtopk", {{"density", 0.2}, {"put_back", "exact"}}},
      {"", "d_psgd", Json::object()},
      {"", "matcha", Json::object()},
      {"", "fsdp", Json::object()},
  };
  for (const auto& each : cases) {
    CAPTURE(each.schedule);
    CAPTURE(each.name);
    CAPTURE(each.options.dump());
    Job job = learning(each.name, each.options, 20);
    if (!each.schedule.empty())
      job.network.collectives[CollectiveOp::all_reduce] = CollectivePolicy::of(each.schedule);
    const Models expected = run_fake(job).models;
    job.workload.layers.front().tensors = {5000};  // more than enough for what the learner's messages hold
    use(job, each.name, each.options);
    RealRun how = late(job);
    how.scenario_schedules = true;
    const RealResult real = run_real(job, MPI_COMM_WORLD, how);
    if (rank_here() != 0) continue;
    CHECK(largest(expected) > 1e-3);
    CHECK(worst_difference(real.models, expected) < 1e-5 * largest(expected));
    double sent = 0;
    for (const WorkerRecord& worker : real.record.workers)
      for (const double bytes : worker.bytes_sent) sent += bytes;
    if (each.schedule.empty()) continue;
    // 2 (P-1) m in all of a tree and of a ring, whatever the schedule: once, and nothing beside it.
    CHECK(sent == doctest::Approx(20 * 2 * 3 * 20000.0).epsilon(1e-9));
  }
}

TEST_CASE("with a codec messages carry over MPI what they carry in the fake world") {
  const struct {
    std::string name;
    Json options, codec;
  } cases[] = {
      {"allreduce_sgd", Json::object(), {{"name", "chunk_topk"}, {"chunk", 9}, {"k", 2}}},
      {"local_sgd", {{"period", 2}}, {{"name", "integer"}, {"bits", 6}}},
      {"d_psgd", Json::object(), {{"name", "sign"}, {"block", 12}}},
      {"noloco", {{"inner_steps", 2}}, {{"name", "qsgd"}}},
      {"parameter_server", Json::object(), {{"name", "dct_topk"}, {"chunk", 9}, {"k", 3}}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    CAPTURE(each.codec.dump());
    Job job = learning(each.name, each.options, 20);
    job.network.coding.codec = make_codec(each.codec);
    const RealResult real = run_real(job, MPI_COMM_WORLD, {.patience_s = 30});
    if (rank_here() != 0) continue;
    const Models expected = run_fake(job).models;
    CHECK(largest(expected) > 1e-3);
    CHECK(worst_difference(real.models, expected) < 1e-6 * largest(expected));
    job.network.coding.codec = {};
    CHECK(worst_difference(real.models, run_fake(job).models) > 1e-4);
  }
}

TEST_CASE("emulated computing changes no value, stragglers and filled messages or not") {
  for (const char* name : {"allreduce_sgd", "d_psgd", "fsdp", "gtopk"}) {
    CAPTURE(name);
    Job job = learning(name, Json::object(), 20);
    const Models expected = run_fake(job).models;
    job.workload.layers.front().tensors = {5000};  // messages are longer than what they hold
    use(job, name, Json::object());
    const RealRun how = late(job);
    const RealResult real = run_real(job, MPI_COMM_WORLD, how);
    if (rank_here() != 0) continue;
    CHECK(worst_difference(real.models, expected) == 0);
    // At least 19 x 0.5 ms each.
    for (const WorkerRecord& worker : real.record.workers) CHECK(worker.end_s > 9.5e-3);
    // To both neighbours on the ring of four, though three could hear.
    if (std::string(name) == "d_psgd")
      for (const WorkerRecord& worker : real.record.workers)
        CHECK(sent_bytes(worker, Traffic::model) == doctest::Approx(20 * 2 * 20000).epsilon(1e-12));
  }
}

TEST_CASE("AD-PSGD: the mean of the models stays as it is, whoever is late, and models come nearer") {
  for (const int averagings : {1, 3}) {
    CAPTURE(averagings);
    Job job = learning("ad_psgd", {{"averagings_per_step", averagings}}, 40);
    job.optimizer.learning_rate.base = 0;
    const RealRun how = late(job);
    const RealResult real = run_real(job, MPI_COMM_WORLD, how, nullptr, start_drawn);
    if (rank_here() != 0) continue;
    const std::vector<double> before = mean(all_drawn()), after = mean(real.models);
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK(after[i] == doctest::Approx(before[i]).epsilon(1e-5));
    CHECK(worst_difference(real.models, Models(4, real.models[0])) < 0.5);
    // Steps that end while the news that the run is over is on its way do not count.
    std::uint64_t steps = 0;
    double end_s = 0, samples = 0;
    for (const WorkerRecord& worker : real.record.workers) {
      steps += worker.steps;
      samples += worker.samples;
      end_s = std::max(end_s, worker.end_s);
    }
    CHECK(steps == 160);
    CHECK(samples == doctest::Approx(160.0 * job.workload.batch));
    CHECK(end_s == real.record.end_s);
  }
}

TEST_CASE("Eager-SGD: every gradient is in one operation, once, and every rank applied the same sums") {
  Job job = learning("eager_sgd", Json::object(), 60);
  const RealRun how = late(job);
  Used used;
  const std::vector<float> begin = job.learner->initial_parameters();
  const double rate = job.optimizer.learning_rate.base;
  MpiWorker worker(job, MPI_COMM_WORLD, how);
  worker.attach(used);
  worker.train();
  // The k-th gradient, of step k, went into the operation number (its staleness) + k, from 1.
  std::vector<float> flat;
  std::vector<std::uint64_t> versions;
  for (std::size_t k = 0; k < used.stale.size(); ++k) {
    const std::vector<float>& gradient = worker.executor().get(used.gradients.at(k)).values;
    flat.insert(flat.end(), gradient.begin(), gradient.end());
    versions.push_back(static_cast<std::uint64_t>(used.stale[k]) + k + 1);
  }
  const RunRecord record = worker.finish();
  const Models models =
      gather_at_root(MPI_COMM_WORLD, worker.executor().get(worker.replica().parameters()).values);
  const auto all_gradients = gather_at_root(MPI_COMM_WORLD, flat);
  const auto all_versions = gather_at_root(MPI_COMM_WORLD, versions);
  const auto begun = gather_at_root(MPI_COMM_WORLD, std::vector<std::uint64_t>{worker.step()});
  if (rank_here() != 0) return;
  bool anybody_late = false;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    // What rank 0..3 had given to the operations that this rank has applied: one for each step that it began,
    // or one less where the end of the run came before its update. (Of its own gradients late ones may wait
    // in the send buffer still.) The record has the steps before the end alone.
    const std::uint64_t steps = begun[rank].front();
    CHECK(record.workers[rank].steps <= steps);
    CHECK(all_versions[rank].size() <= steps);
    double best = INFINITY;
    for (std::uint64_t last = steps - 1; last <= steps; ++last) {
      std::vector<double> expected(begin.begin(), begin.end());
      for (std::size_t from = 0; from < 4; ++from)
        for (std::size_t k = 0; k < all_versions[from].size(); ++k) {
          anybody_late = anybody_late || all_versions[from][k] > k + 1;
          if (all_versions[from][k] > last) continue;
          for (std::size_t i = 0; i < expected.size(); ++i)
            expected[i] -= rate / 4 * all_gradients[from][k * expected.size() + i];
        }
      double worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(expected[i] - models[rank][i]));
      best = std::min(best, worst);
    }
    CAPTURE(rank);
    CHECK(best < 1e-5);
  }
  CHECK(anybody_late);
}

TEST_CASE("Non-blocking SGD: the model moved by every gradient that was used, once; all replicas are equal") {
  for (const char* preempt : {"drop", "finish"}) {
    CAPTURE(preempt);
    Job job = learning("nonblocking", {{"trigger", "first"}, {"micro_batches", 4}, {"preempt", preempt}}, 40);
    const RealRun how = late(job);
    Used used;
    const std::vector<float> begin = job.learner->initial_parameters();
    const double rate = job.optimizer.learning_rate.base;
    MpiWorker worker(job, MPI_COMM_WORLD, how);
    worker.attach(used);
    worker.train();
    std::vector<double> sum(begin.size(), 0.0);
    for (const Tensor& gradient : used.gradients)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += worker.executor().get(gradient).values[i];
    worker.finish();
    const Models models =
        gather_at_root(MPI_COMM_WORLD, worker.executor().get(worker.replica().parameters()).values);
    const auto sums = gather_at_root(MPI_COMM_WORLD, sum);
    const auto counts = gather_at_root(MPI_COMM_WORLD, std::vector<std::uint64_t>{used.gradients.size()});
    if (rank_here() != 0) continue;
    CHECK(worst_difference(models, Models(4, models[0])) == 0);
    std::uint64_t count = 0;
    for (const auto& each : counts) count += each.front();
    CHECK(count < 4 * 4 * 40);  // somebody's were cut short
    CHECK(count > 4 * 40);
    for (std::size_t i = 0; i < begin.size(); ++i) {
      double moved = 0;
      for (const auto& each : sums) moved += each[i] * rate / (4 * 4);
      CHECK(begin[i] - models[0][i] == doctest::Approx(moved).epsilon(1e-4).scale(1e-2));
    }
  }
}

TEST_CASE("WAGMA: averages of averages lie between the models, and a global one leaves all equal") {
  for (const bool schedules : {false, true}) {
    CAPTURE(schedules);
    Job job = learning("wagma", {{"period", 10}}, 40);
    job.optimizer.learning_rate.base = 0;
    RealRun how = late(job);
    how.scenario_schedules = schedules;
    const RealResult real = run_real(job, MPI_COMM_WORLD, how, nullptr, start_drawn);
    if (rank_here() != 0) continue;
    CHECK(worst_difference(real.models, Models(4, real.models[0])) == 0);
    const Models begin = all_drawn();
    for (std::size_t i = 0; i < begin[0].size(); ++i) {
      const auto [least, most] = std::minmax({begin[0][i], begin[1][i], begin[2][i], begin[3][i]});
      CHECK(real.models[0][i] >= least - 1e-5F);
      CHECK(real.models[0][i] <= most + 1e-5F);
    }
    for (const WorkerRecord& worker : real.record.workers) CHECK(worker.steps == 40);
  }
}

}  // namespace simsgd::test::measure_all_algorithms
