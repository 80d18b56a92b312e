// What happens first among things of the same instant, and which instants are the same.
#include "sim/engine/agenda.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "sim/base/instants.hpp"

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

}  // namespace simsgd::test::engine_agenda
