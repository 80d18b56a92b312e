// What happens first among things of the same instant, and which instants are the same.
#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/instants.hpp"
#include "sim/engine/agenda.hpp"
#include "sim/engine/fibers.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_agenda {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Eight times 0.1 and four times 0.2 differ by rounding.
double summed(double share, int times) {
  double sum = 0;
  for (int i = 0; i < times; ++i) sum += share;
  return sum;
}

void serve_at(double now_s, Agenda& agenda) {
  Agenda::Batch batch;
  agenda.take(now_s, Turn::Kind::after, batch);
  for (const Agenda::Action& action : batch.actions) action();
}

/// Everything, one instant after another.
void serve(Agenda& agenda) {
  while (agenda.next_s() != kInfinity) serve_at(agenda.next_s(), agenda);
}

}  // namespace

TEST_CASE("instants that differ by rounding are equal, those that differ by a billionth are not") {
  const double a = summed(0.1, 8), b = summed(0.2, 4);
  CHECK(a != b);
  for (const double unit : {1e-9, 1e-3, 1.0, 1e3, 1e9}) {
    CAPTURE(unit);
    CHECK_FALSE(before(a * unit, b * unit));
    CHECK_FALSE(before(b * unit, a * unit));
    CHECK(not_after(a * unit, b * unit));
    CHECK(not_after(b * unit, a * unit));
    CHECK(before(unit, unit * (1 + 1e-9)));
    CHECK_FALSE(not_after(unit * (1 + 1e-9), unit));
  }
  CHECK(before(0, 1e-300));
  CHECK_FALSE(before(0, 0));
  CHECK(before(1, kInfinity));
  CHECK_FALSE(before(kInfinity, kInfinity));
}

TEST_CASE("a clock that is advanced a million times is off by one rounding") {
  Clock clock;
  double naive = 0;
  for (int i = 0; i < 1000000; ++i) {
    clock += 0.1;
    naive += 0.1;
  }
  CHECK(static_cast<double>(clock) == 100000.0);
  CHECK(naive != 100000.0);
  clock = 5.0;
  clock += 0.25;
  CHECK(static_cast<double>(clock) == 5.25);
}

TEST_CASE(
    "of one instant completions come before signals, then ranks in order, then what was put down first") {
  using Kind = Turn::Kind;
  const double a = summed(0.1, 8), b = summed(0.2, 4);  // a < b by rounding
  for (const bool swapped : {false, true}) {
    CAPTURE(swapped);
    std::string log;
    Agenda agenda;
    const double first = swapped ? b : a, second = swapped ? a : b;
    agenda.put(first, {Kind::signal, 2, 1}, [&] { log += "2<1 "; });
    agenda.put(second, {Kind::signal, 2, 0}, [&] { log += "2<0 "; });
    agenda.put(first, {Kind::signal, 2, 0}, [&] { log += "2<0' "; });
    agenda.put(first, {Kind::completion, 3}, [&] { log += "end 3 "; });
    agenda.put(second, {Kind::completion, 2}, [&] { log += "end 2 "; });
    agenda.put(second, {}, [&] { log += "nobody's "; });
    agenda.put(0.5, {Kind::signal, 9, 9}, [&] { log += "earlier "; });
    CHECK(agenda.next_s() == 0.5);
    serve(agenda);
    CHECK(log == "earlier end 2 end 3 nobody's 2<0 2<0' 2<1 ");
  }
}

TEST_CASE("signals wait for completions that come while completions are served") {
  using Kind = Turn::Kind;
  std::string log;
  Agenda agenda;
  agenda.put(1, {Kind::signal, 0, 1}, [&] { log += "signal "; });
  agenda.put(1, {Kind::completion, 0}, [&] {
    log += "end ";
    agenda.put(1, {Kind::completion, 1}, [&] { log += "its end "; });
  });
  serve_at(1, agenda);
  CHECK(agenda.more_due());
  CHECK(agenda.next_s() == 1);
  serve(agenda);
  CHECK(log == "end its end signal ");
}

TEST_CASE("what is put down for now takes its turn among what was put down before") {
  using Kind = Turn::Kind;
  std::string log;
  Agenda agenda;
  agenda.put(3, {Kind::signal, 1}, [&] { log += "later "; });
  agenda.put(2, {Kind::signal, 1}, [&] { log += "1 "; });
  agenda.put(
      2, {Kind::signal, 0}, [&] { log += "0 "; }, 2);
  agenda.put(
      2, {Kind::completion, 5}, [&] { log += "end "; }, 2);
  agenda.put(
      2.5, {Kind::signal, 0}, [&] { log += "soon "; }, 2);
  CHECK(agenda.next_s() == 2);
  serve(agenda);
  CHECK(log == "end 0 1 soon later ");
}

// Workers as fibers: who was woken first runs first, wakes are not lost, and stacks do not run out.

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

}  // namespace simsgd::test::engine_agenda
