// Collectives of the real worker, on three ranks: what is MPI's own. roles.cpp has what every worker does.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "tests/measure/world.hpp"
#include "tests/roles/behaviours.hpp"

namespace simsgd::test::measure_worker_collectives {

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

}  // namespace simsgd::test::measure_worker_collectives
