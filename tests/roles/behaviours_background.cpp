// Background and preemption: of the machines that have them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/roles/behaviours.hpp"

namespace simsgd::test {

namespace background_facts {

void answered(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    Background& background = worker.background();
    background.serve(1, [&](const Message& question) {
      background.post(question.from, 2, message({}, {question.numbers.front() + 100.0 * worker.rank()}));
    });
    const Handle<Nothing> both = background.make_event();
    background.serve(2, [&](const Message& answer) {
      mine.push_back(answer.numbers.front());
      if (mine.size() == 2) background.signal(both);
    });
    worker.next_step();
    if (worker.rank() == 0) {
      for (const int to : {1, 2}) background.post(to, 1, message({}, {7}));
      worker.wait(both);
      std::sort(mine.begin(), mine.end());  // who answers first is the machine's affair
    }
    worker.collectives().run(Barrier());
    worker.next_step();
  });
  CHECK(notes == std::vector<Notes>{{107, 207}, {}, {}});
}

void actions(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    Background& background = worker.background();
    const Handle<Nothing> seen = background.make_event();
    AllReduce sum;
    sum.bytes = 4000;
    sum.contribution = vector(worker, {static_cast<float>(worker.rank() + 1)});
    const Handle<Tensor> handle = worker.collectives().start(sum);
    background.then(handle, [&, handle] {
      note(worker, mine, handle.result());
      background.signal(seen);
    });
    worker.wait(seen);
    mine.push_back(worker.done(handle) ? 1 : 0);
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{6, 1});
}

void timers(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    Background& background = worker.background();
    const Handle<Nothing> never = background.make_event();
    const Handle<Nothing> late = background.start_timer(0.5), early = background.start_timer(0.25);
    const double begin_s = worker.now();
    mine.push_back(static_cast<double>(worker.wait_any(std::array<Awaited, 3>{never, late, early})));
    mine.push_back(worker.done(late) ? 1 : 0);
    worker.wait(late);
    mine.push_back(std::floor((worker.now() - begin_s) * 4 + 1e-9) / 4);  // a real machine may be late
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{2, 0, 0.5});
}

void flooding(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    Background& background = worker.background();
    const Handle<Nothing> heard = background.make_event();
    const bool hears = background.hear(3, [&](std::uint64_t number) {
      mine.push_back(static_cast<double>(number));
      background.signal(heard);
    });
    worker.next_step();
    worker.collectives().run(Barrier());
    if (!hears) {
      mine.push_back(worker.rank() == 1 ? -1 : 42);  // a machine may have no shorter way than messages
    } else if (worker.rank() == 1) {
      background.flood(3, 42);
      mine.push_back(-1);
    } else {
      worker.wait(heard);
    }
    worker.collectives().run(Barrier());
    worker.next_step();
  });
  CHECK(notes == std::vector<Notes>{{42}, {-1}, {42}});
}

void replicas(const Runner& run) {
  const auto notes = noted(run, learning_job(), [](Worker& worker, Notes& mine) {
    Background& background = worker.background();
    const Handle<Nothing> set = background.make_event();
    background.serve(1, [&](const Message& arrived) {
      worker.replica().set(arrived.values);
      background.signal(set);
    });
    worker.next_step();
    if (worker.rank() == 0) background.post(1, 1, message(vector(worker, std::vector<float>(36, 2.5F))));
    if (worker.rank() == 1) {
      worker.wait(set);
      note(worker, mine, worker.replica().parameters());
    }
    worker.collectives().run(Barrier());
    worker.next_step();
  });
  CHECK(notes[1] == Notes(36, 2.5));
}

void given_up(const Runner& run) {
  const auto notes = noted(run, learning_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    Preemption& preemption = worker.preemption();
    const Handle<RunningGradient> first = preemption.start({});
    worker.wait(first);
    const TensorData taken = worker.executor().get(preemption.take(first));
    mine.push_back(static_cast<double>(taken.values.size()));
    preemption.cancel(preemption.start({}));
    const Handle<RunningGradient> third = preemption.start({});
    const Handle<Nothing> never = worker.background().make_event();
    mine.push_back(static_cast<double>(worker.wait_any(std::array<Awaited, 2>{never, third})));
    mine.push_back(worker.executor().get(preemption.take(third)).values == taken.values ? 1 : 0);
    mine.push_back(worker.executor().get(worker.compute().gradient()).values == taken.values ? 1 : 0);
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{36, 1, 1, 1});
}

}  // namespace background_facts

const std::vector<Behaviour>& background_behaviours() {
  using namespace background_facts;
  static const std::vector<Behaviour> kAll = {
      {"a posted message reaches its handler, which may answer; an event wakes who waits for it", answered},
      {"then calls its action when an operation ends, with its result", actions},
      {"timers end in the order of time, beside what never comes", timers},
      {"a number that one rank floods is heard once by all others", flooding},
      {"a handler may set the replica", replicas},
      {"a gradient may be started, waited for with other things, given up, and taken", given_up}};
  return kAll;
}

}  // namespace simsgd::test
