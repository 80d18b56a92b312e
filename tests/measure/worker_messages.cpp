// Messages of the real worker, on three ranks: what is MPI's own. roles.cpp has what every worker does.
#include <doctest/doctest.h>

#include "sim/base/errors.hpp"
#include "tests/measure/world.hpp"

namespace simsgd::test::measure_worker_messages {

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

}  // namespace simsgd::test::measure_worker_messages
