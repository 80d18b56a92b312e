// Messages of the real worker, on three ranks: what is MPI's own. roles.cpp has what every worker does.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "measure/waiting.hpp"
#include "sim/base/errors.hpp"
#include "tests/measure/world.hpp"
#include "tests/roles/behaviours.hpp"

namespace simsgd::test::measure_worker {

TEST_CASE("a message that nobody receives does not keep the run from ending") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  worker.messages().start_send((worker.rank() + 1) % 3, 3, {.bytes = 1e6});
  worker.next_step();
  const RunRecord record = worker.finish();
  CHECK(record.workers.size() == (worker.rank() == 0 ? 3 : 0));
}

TEST_CASE("a rank that waits for what never comes gives up with a sentence") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD, 0.05);
  const std::string
      begins = "Rank " + std::to_string(worker.rank()) + " has waited ",
      ends =
          " s for a message from rank " + std::to_string((worker.rank() + 1) % 3) +
          " (tag 9) in step 1, and gave up: the algorithm's ranks do not agree on what they exchange, or another rank is stuck.";
  worker.next_step();
  const Handle<Message> never = worker.messages().start_receive((worker.rank() + 1) % 3, 9);
  std::string said;  // how many seconds in between: of a busy machine more than the 0.05
  try {
    worker.wait(never);
  } catch (const RunError& error) {
    said = error.what();
  }
  CHECK(said.starts_with(begins));
  CHECK(said.ends_with(ends));
}

// Collectives of the real worker, on three ranks: what is MPI's own. roles.cpp has what every worker does.

TEST_CASE("a group that is new to one rank does not stop what it has under way elsewhere") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Collectives& collectives = worker.collectives();
  auto all = timed<AllGather>(4000, "");
  all.contribution = vector(worker, {1});
  const Handle<std::vector<Tensor>> everybody = collectives.start(all);
  auto pair = timed<AllReduce>(4000, "");
  pair.contribution = vector(worker, {1});
  if (worker.rank() < 2) pair.group = collectives.group({0, 1});
  // Rank 0 comes to the group before its all_gather is complete, rank 1 only after its own is.
  Notes sums;
  if (worker.rank() == 0) note(worker, sums, collectives.run(pair));
  worker.wait(everybody);
  if (worker.rank() == 1) note(worker, sums, collectives.run(pair));
  CHECK(sums == (worker.rank() < 2 ? Notes{2} : Notes{}));
  CHECK(everybody.result().size() == 3);
}

TEST_CASE("no handler meets an operation half begun, though its group waits for members to come") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Collectives& collectives = worker.collectives();
  const bool first = worker.rank() == 0;
  bool beginning = false, heard = false, within = false;
  if (first)
    worker.background().serve(7, [&](const Message&) {
      heard = true;
      within = within || beginning;
    });
  collectives.run(Barrier());
  if (!first) {  // a message, and then late to the group, so that rank 0 looks about in between
    if (worker.rank() == 1) worker.background().post(0, 7, {.numbers = {1}});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  auto sum = timed<AllReduce>(4000, "");
  sum.group = collectives.group({0, 1, 2});
  sum.channel = 3;  // which nobody has used
  sum.contribution = vector(worker, {1});
  beginning = true;
  const Handle<Tensor> all = collectives.start(sum);
  beginning = false;
  worker.wait(all);
  CHECK_FALSE(within);
  CHECK(heard == first);
}

TEST_CASE("an all_to_all sends to each rank its part alone") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  worker.next_step();
  worker.collectives().run(timed<AllToAll>(12000, ""));
  worker.next_step();
  const RunRecord record = worker.finish();
  // Two thirds of 12,000 bytes.
  for (const WorkerRecord& each : record.workers) CHECK(sent_bytes(each, Traffic::gradient) == 8000);
}

TEST_CASE("predictions are those of the scenario's cluster: a ring takes 2 (P-1) (alpha + m/P beta)") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  CHECK(worker.collectives().predict(timed<AllReduce>(3e6, "ring")) ==
        doctest::Approx(2 * 2 * (10e-6 + 1e6 / 1e9)).epsilon(1e-9));
}

// Steps, time and the record of the real Worker on three ranks. Times are only bounded from below: a real
// machine may always be slower.

namespace {

double activity(const WorkerRecord& record, Activity kind) {
  return record.activity_s[static_cast<std::size_t>(kind)];
}

// Rank r spends (r + 1) ms in each step, and the ranks exchange nothing.
RunRecord run_alone(const Job& job) {
  MpiWorker worker(job, MPI_COMM_WORLD);
  while (worker.next_step()) worker.compute().spend(Activity::selection, 1e-3 * (worker.rank() + 1));
  return worker.finish();
}

}  // namespace

TEST_CASE("the record of every rank comes to rank 0, and its activities add up to its time") {
  const RunRecord record = run_alone(small_job(4));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(record.workers.size() == (rank == 0 ? 3 : 0));
  for (std::size_t i = 0; i < record.workers.size(); ++i) {
    const WorkerRecord& worker = record.workers[i];
    CHECK(worker.steps == 4);
    CHECK(activity(worker, Activity::selection) >= 4e-3 * static_cast<double>(i + 1));
    CHECK(std::accumulate(worker.activity_s.begin(), worker.activity_s.end(), 0.0) ==
          doctest::Approx(worker.end_s).epsilon(1e-12));
    CHECK(record.end_s >= worker.end_s);
  }
  if (rank != 0) return;
  CHECK(record.clock == "wall");
  CHECK(record.step_times_s.size() == 12);
}

TEST_CASE("a run ends at the time that was asked for: everybody has the steps that it has completed then") {
  Job job = small_job(1000);
  job.stop.time_s = 10e-3;
  const RunRecord record = run_alone(job);
  for (const WorkerRecord& worker : record.workers) {
    CHECK(worker.end_s <= 10e-3);
    CHECK(std::accumulate(worker.activity_s.begin(), worker.activity_s.end(), 0.0) ==
          doctest::Approx(worker.end_s).epsilon(1e-12));
  }
  if (record.workers.empty()) return;
  CHECK(record.end_s == 10e-3);
  // Steps of 1, 2 and 3 ms at least: the ranks' clocks stand still where they meet.
  CHECK(record.workers[0].steps <= 10);
  CHECK(record.workers[2].steps <= 3);
}

TEST_CASE("without a learner the workload's times are slept through, layer by layer, stragglers apart") {
  class TwiceAsSlow final : public StragglerModel {
    void apply(const StragglerContext&, Straggle& straggle) const override {
      straggle.delay_s += 3e-3;
      straggle.factor *= 2;
    }
  };
  Job job = small_job(1);
  Layer layer;
  layer.tensors = {300, 200};
  layer.forward_s = 1e-3;
  layer.backward_s = 2e-3;
  job.workload.layers = {layer, layer};
  job.workload.batch = 8;
  job.stragglers.add(std::make_unique<TwiceAsSlow>());
  MpiWorker worker(job, MPI_COMM_WORLD);
  std::vector<int> calls;
  worker.next_step();
  GradientOptions options;
  options.before_forward = [&](const LayerPass& pass) {
    calls.push_back(pass.layer);
    worker.compute().spend(Activity::selection, 4e-3);  // no time of the layers'
  };
  options.gradient_ready = [&](const TensorInfo& tensor, const Tensor& gradient) {
    CHECK_FALSE(gradient);
    calls.push_back(100 * tensor.layer + static_cast<int>(tensor.parameters()));
  };
  const std::vector<std::size_t> asked = {1, 2, 3};
  options.ready_at = asked;
  worker.compute().gradient(options);
  worker.next_step();
  // Layers forward, then the tensors from the last but for the very last one.
  CHECK(calls == std::vector<int>{0, 1, 100 + 300, 200, 300});
  const RunRecord record = worker.finish();
  for (const WorkerRecord& each : record.workers) {
    // 2 x (1 + 2) ms at half the speed, after 3 ms; and 8 ms in the hook.
    CHECK(each.end_s >= 23e-3);
    CHECK(activity(each, Activity::compute) >= 5.9e-3);
    CHECK(activity(each, Activity::straggle) >= 8.9e-3);
    CHECK(each.samples == 8);
  }
}

TEST_CASE("an emulated device goes on while its host is busy in hooks") {
  Job job = small_job(1);
  Layer layer;
  layer.tensors = {100};
  layer.forward_s = 25e-3;
  layer.backward_s = 1e-3;
  job.workload.layers = {layer, layer, layer, layer};
  GradientOptions options;
  options.before_forward = [](const LayerPass&) {
    for (const double end_s = seconds_now() + 20e-3; seconds_now() < end_s;) {
    }
  };
  // Of several, because a machine that is busy otherwise may let any of them wait.
  std::vector<double> least_s(3, INFINITY);
  for (int run = 0; run < 4; ++run) {
    MpiWorker worker(job, MPI_COMM_WORLD);
    worker.next_step();
    worker.compute().gradient(options);
    worker.next_step();
    const RunRecord record = worker.finish();
    for (std::size_t rank = 0; rank < record.workers.size(); ++rank) {
      const double host_s = activity(record.workers[rank], Activity::host);
      CHECK(host_s >= 20e-3);
      CHECK(activity(record.workers[rank], Activity::compute) >= 0.1039);
      least_s.at(rank) = std::min(least_s.at(rank), host_s);
    }
    if (run < 3 || record.workers.empty()) continue;
    // Before the first layer the device has nothing to do; the other three times 20 ms pass beside its work.
    for (const double host_s : least_s) CHECK(host_s < 60e-3);
  }
}

TEST_CASE("a crash is slept through: the restart, and what is computed again") {
  Job job = small_job(2);
  job.workload.layers.front().forward_s = 1e-3;
  job.workload.layers.front().backward_s = 2e-3;
  job.failures.restart_s = 5e-3;
  job.failures.crashes = {{.rank = 1, .time_s = 1e-3}};
  MpiWorker worker(job, MPI_COMM_WORLD);
  int restarts = 0;
  worker.compute().recover_by(Recovery::recompute, [&] { ++restarts; });
  while (worker.next_step()) worker.compute().gradient();
  CHECK(restarts == (worker.rank() == 1 ? 1 : 0));
  const RunRecord record = worker.finish();
  if (record.workers.empty()) return;
  CHECK(record.extra.at("crashes") == 1);
  CHECK(record.extra.at("downtime_s") == doctest::Approx(5e-3));
  // 2 steps of 3 ms; rank 1 crashes after at most 1 ms of the first, and is back after 5 ms.
  CHECK(activity(record.workers[1], Activity::straggle) >= 5e-3);
  CHECK(record.workers[1].end_s >= 11e-3);
  for (const WorkerRecord& each : record.workers) CHECK(activity(each, Activity::compute) >= 5.9e-3);
}

TEST_CASE("what rank 0 says for the record is in it, and observers may listen too") {
  class Counter final : public Observer {
   public:
    void number(int, const std::string&, double value) override { sum += value; }
    double sum = 0;
  };
  const Job job = small_job();
  Counter counter;
  MpiWorker worker(job, MPI_COMM_WORLD);
  worker.attach(counter);
  worker.next_step();
  worker.record().number("rounds", 3 + worker.rank());
  worker.record().table({"table", {"column"}, {{1.0 + worker.rank()}}});
  worker.next_step();
  CHECK(counter.sum == 3 + worker.rank());
  const RunRecord record = worker.finish();
  if (record.workers.empty()) return;
  CHECK(record.extra.at("rounds") == 3);
  CHECK(record.tables.size() == 1);
}

}  // namespace simsgd::test::measure_worker
