// Workers as fibers: who was woken first runs first, wakes are not lost, and stacks do not run out.
#include "sim/engine/fibers.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_fibers {

TEST_CASE("fibers run in the order in which they were woken, and a wake that comes early counts") {
  Fibers fibers(3);
  std::string said;
  for (int i = 0; i < 3; ++i)
    fibers.start([&fibers, &said, i] {
      said += static_cast<char>('a' + i);
      if (i == 0) fibers.wake(0);  // itself, before it waits
      fibers.block();
      said += static_cast<char>('A' + i);
    });
  fibers.run();
  CHECK(said == "aAbc");
  fibers.wake(2);
  fibers.wake(1);
  CHECK(fibers.any_ready());
  fibers.run();
  CHECK(said == "aAbcCB");
  CHECK_FALSE(fibers.any_ready());
}

TEST_CASE("what lies on the stack of a fiber that still waits is destroyed with the fibers") {
  const auto counted = std::make_shared<int>(0);
  {
    Fibers fibers(2);
    for (int i = 0; i < 2; ++i)
      fibers.start([&fibers, held = counted] {
        const std::vector<std::shared_ptr<int>> local = {held};
        fibers.block();
      });
    fibers.run();
    CHECK(counted.use_count() == 5);
  }
  CHECK(counted.use_count() == 1);
}

TEST_CASE("70,000 workers, more than a process can have memory maps, exchange with their neighbours") {
  const std::vector<double> result = in_child([] {
    constexpr int kWorkers = 70000;
    Job job = scripted_job(star(kWorkers, 2e-6, 1e9), [](Worker& worker) {
      while (worker.next_step()) {
        Message message;
        message.bytes = 1e6;
        if (worker.rank() % 2 == 0)
          worker.messages().send(worker.rank() + 1, 0, message);
        else
          worker.messages().receive(worker.rank() - 1, 0);
      }
    });
    const RunRecord record = simulate_job(job);
    return std::vector<double>{static_cast<double>(record.workers.size()), record.end_s};
  });
  CHECK(result[0] == 70000);
  CHECK(result[1] == doctest::Approx(2e-6 + 1e6 / 1e9).epsilon(1e-9));
}

}  // namespace simsgd::test::engine_fibers
