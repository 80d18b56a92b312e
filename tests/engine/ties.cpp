// Workers that do things at the same instant, reached by different sums of the same durations.
#include <doctest/doctest.h>

#include <array>

#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_ties {

namespace {

constexpr int kTag = 1;
using Numbers = std::vector<double>;

/// In each of 40 rounds every worker computes for the same time, cut into as many pieces as `pieces` says,
/// and posts its rank to rank 0, which takes no time. What rank 0 heard, and at which of its own steps.
Numbers heard(const std::vector<int>& pieces, double unit_s) {
  Numbers log;
  Job job = scripted_job(star(static_cast<int>(pieces.size()), 0, 1e30), [&](Worker& worker) {
    int computed = 0;  // whole rounds
    worker.background().serve(kTag, [&](const Message& message) {
      if (worker.rank() != 0) return;
      log.push_back(message.from);
      log.push_back(computed - message.numbers.at(0));
    });
    const int mine = pieces[static_cast<std::size_t>(worker.rank())];
    while (worker.next_step()) {
      for (int i = 0; i < mine; ++i) worker.compute().spend(Activity::compute, unit_s / mine);
      ++computed;
      Message message;
      message.numbers = {static_cast<double>(worker.step())};
      if (worker.rank() != 0) worker.background().post(0, kTag, std::move(message));
    }
    worker.compute().spend(Activity::compute, unit_s);
  });
  job.stop.steps = 40;
  simulate_job(job);
  return log;
}

}  // namespace

TEST_CASE(
    "at one instant a worker is through before it is told anything, and hears its peers in rank order") {
  Numbers expected;
  for (int round = 0; round < 40; ++round) expected.insert(expected.end(), {1, 0, 2, 0, 3, 0});
  for (const double unit_s : {1e-6, 1e-3, 0.1, 0.7, 1e3, 1e6})
    for (std::vector<int> pieces : {std::vector<int>{10, 3, 7, 1}, {1, 9, 3, 7}, {6, 7, 1, 10}}) {
      CAPTURE(unit_s);
      CAPTURE(pieces[0]);
      CHECK(heard(pieces, unit_s) == expected);
    }
}

TEST_CASE("of what is complete at the same instant the first that was asked for is found") {
  // Ten times 0.1 s, and a timer of 1 s: the sum is 1 ulp less.
  for (const bool timer_first : {false, true}) {
    CAPTURE(timer_first);
    Numbers found;
    simulate_job(scripted_job(star(1, 0, 1e30), [&](Worker& worker) {
      worker.next_step();
      const Handle whole = worker.background().start_timer(1.0);
      for (int i = 0; i < 9; ++i) worker.compute().spend(Activity::compute, 0.1);
      const Handle tenth = worker.background().start_timer(0.1);
      const std::array<Awaited, 2> handles = {timer_first ? whole : tenth, timer_first ? tenth : whole};
      found.push_back(static_cast<double>(worker.wait_any(handles)));
      found.push_back(worker.done(whole));
      found.push_back(worker.done(tenth));
    }));
    CHECK(found == Numbers{0, 1, 1});
  }
}

TEST_CASE("messages take alpha + m beta whatever the unit of time") {
  // 1,000 bytes at 1 kB/s and two latencies of 5 ms; then 3 messages that share a link, 3 s each.
  for (const double unit : {1e-12, 1e-9, 1e-3, 1.0, 1e3, 1e6}) {
    CAPTURE(unit);
    Numbers ends(4, 0.0);
    simulate_job(scripted_job(star(4, 0.01 * unit, 1e3 / unit), [&](Worker& worker) {
      worker.next_step();
      Message message;
      message.bytes = 1000;
      if (worker.rank() == 0) worker.messages().send(1, kTag, message);
      if (worker.rank() == 1) worker.messages().receive(0, kTag);
      worker.collectives().run(Barrier());
      const double from = worker.now();
      if (worker.rank() != 3) {
        worker.messages().send(3, kTag, message);
      } else {
        std::vector<Handle<Message>> handles;
        for (int peer = 0; peer < 3; ++peer) handles.push_back(worker.messages().start_receive(peer, kTag));
        for (const auto& handle : handles) worker.wait(handle);
      }
      ends[static_cast<std::size_t>(worker.rank())] = (worker.now() - from) / unit;
      if (worker.rank() == 1) ends[1] = from / unit;
    }));
    CHECK(ends[0] == doctest::Approx(3.01).epsilon(1e-9));
    CHECK(ends[3] == doctest::Approx(3.01).epsilon(1e-9));
  }
}

}  // namespace simsgd::test::engine_ties
