// Point-to-point messages of the real Worker on three ranks.
#include <doctest/doctest.h>

#include "sim/base/errors.hpp"
#include "tests/measure/world.hpp"

namespace simsgd::test::measure_worker_messages {

using Floats = std::vector<float>;

namespace {

Message message(Values values, std::vector<double> numbers = {}) {
  Message message;
  message.bytes = 1e6;
  message.traffic = Traffic::factor;
  message.values = std::move(values);
  message.numbers = std::move(numbers);
  return message;
}

}  // namespace

TEST_CASE("a message arrives whole, around a ring of three") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  const int next = (worker.rank() + 1) % 3, before = (worker.rank() + 2) % 3;
  const auto own = static_cast<float>(worker.rank());
  const Handle sent =
      worker.start_send(next, 5, message(sparse(worker, {4, 8}, {own, own + 0.5F}, {0.125}), {42, own}));
  const Message arrived = worker.receive(before, 5);
  worker.wait(sent);
  const auto theirs = static_cast<float>(before);
  CHECK(arrived.from == before);
  CHECK(arrived.bytes == 1e6);
  CHECK(arrived.traffic == Traffic::factor);
  CHECK(arrived.numbers == std::vector<double>{42, theirs});
  const Tensor content = tensor(worker, arrived.values);
  CHECK(content.values == Floats{theirs, theirs + 0.5F});
  CHECK(content.indices == std::vector<std::int32_t>{4, 8});
  CHECK(content.scalars == std::vector<double>{0.125});
}

TEST_CASE("messages of one tag arrive in the order sent, and tags do not mix") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  if (worker.rank() == 0) {
    std::vector<Handle> sent;
    for (const int tag : {1, 2, 1}) {
      const auto number = static_cast<double>(10 * tag) + static_cast<double>(sent.size());
      sent.push_back(worker.start_send(1, tag, message({}, {number})));
    }
    for (const Handle& handle : sent) worker.wait(handle);
  } else if (worker.rank() == 1) {
    const Handle first = worker.start_receive(0, 1), second = worker.start_receive(0, 1);
    CHECK(worker.receive(0, 2).numbers == std::vector<double>{21});
    worker.wait(second);
    worker.wait(first);
    CHECK(worker.message(first).numbers == std::vector<double>{10});
    CHECK(worker.message(second).numbers == std::vector<double>{12});
    CHECK_FALSE(worker.message(second).values);
  }
  worker.barrier();
}

TEST_CASE("wait_any returns what has arrived, though something else was asked for first") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  if (worker.rank() == 0) {
    const std::vector<Handle> expected = {worker.start_receive(1, 0), worker.start_receive(2, 0)};
    CHECK(worker.wait_any(expected) == 1);
    CHECK_FALSE(worker.done(expected[0]));
    worker.send(1, 0, message({}));  // now rank 1 may send
    CHECK(worker.wait_any(std::span(expected).first(1)) == 0);
    CHECK(worker.done(expected[0]));
  } else if (worker.rank() == 1) {
    worker.receive(0, 0);
    worker.send(0, 0, message({}));
  } else {
    worker.send(0, 0, message({}));
  }
  worker.barrier();
}

TEST_CASE("a message that nobody receives does not keep the run from ending") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  worker.start_send((worker.rank() + 1) % 3, 3, message({}));
  worker.next_step();
  const RunRecord record = worker.finish();
  CHECK(record.workers.size() == (worker.rank() == 0 ? 3 : 0));
}

TEST_CASE("a rank that waits for what never comes gives up with a sentence") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD, 0.05);
  const std::string beginning =
      "Rank " + std::to_string(worker.rank()) + " has waited 0 s for a message from rank " +
      std::to_string((worker.rank() + 1) % 3) +
      " (tag 9) in step 1, and gives up: the algorithm's ranks do not agree on what they "
      "exchange, or another rank is stuck.";
  worker.next_step();
  const Handle never = worker.start_receive((worker.rank() + 1) % 3, 9);
  CHECK_THROWS_WITH_AS(worker.wait(never), beginning.c_str(), RunError);
}

TEST_CASE("background handlers are not offered yet") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  CHECK_THROWS_WITH_AS(worker.serve(1, [](const Message&) {}),
                       "This machine does not offer background handlers to algorithms; the simulation does.",
                       RunError);
}

}  // namespace simsgd::test::measure_worker_messages
