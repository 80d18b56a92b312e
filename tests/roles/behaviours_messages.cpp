#include <doctest/doctest.h>

#include <array>

#include "tests/roles/behaviours.hpp"

namespace simsgd::test {

namespace message_facts {

void whole(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    const int next = (worker.rank() + 1) % 3, before = (worker.rank() + 2) % 3;
    const auto own = static_cast<float>(worker.rank());
    const Tensor values = worker.executor().constant({{own, own + 0.5F}, {4, 8}, {0.125}});
    const auto sent = worker.messages().start_send(next, 5, message(values, {42, own}));
    const Message arrived = worker.messages().receive(before, 5);
    worker.wait(sent);
    const TensorData content = worker.executor().get(arrived.values);
    mine = {static_cast<double>(arrived.from), arrived.bytes, static_cast<double>(arrived.traffic)};
    mine.insert(mine.end(), arrived.numbers.begin(), arrived.numbers.end());
    mine.insert(mine.end(), content.values.begin(), content.values.end());
    mine.insert(mine.end(), content.indices.begin(), content.indices.end());
    mine.insert(mine.end(), content.scalars.begin(), content.scalars.end());
    worker.next_step();
  });
  for (int rank = 0; rank < kBehaviourRanks; ++rank) {
    CAPTURE(rank);
    const double from = (rank + 2) % 3;
    CHECK(notes[static_cast<std::size_t>(rank)] ==
          Notes{from, 1e6, static_cast<double>(Traffic::factor), 42, from, from, from + 0.5, 4, 8, 0.125});
  }
}

void in_order(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    Messages& messages = worker.messages();
    if (worker.rank() == 0) {
      std::vector<Handle<Nothing>> sent;
      for (const int tag : {1, 2, 1})
        sent.push_back(
            messages.start_send(1, tag, message({}, {10.0 * tag + static_cast<double>(sent.size())})));
      for (const Handle<Nothing>& handle : sent) worker.wait(handle);
    } else if (worker.rank() == 1) {
      const auto first = messages.start_receive(0, 1), second = messages.start_receive(0, 1);
      mine.push_back(messages.receive(0, 2).numbers.front());
      worker.wait(second);
      worker.wait(first);
      mine.push_back(first.result().numbers.front());
      mine.push_back(second.result().numbers.front());
      mine.push_back(second.result().values ? 1 : 0);
    }
    worker.next_step();
  });
  CHECK(notes[1] == Notes{21, 10, 12, 0});
}

void any(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    Messages& messages = worker.messages();
    if (worker.rank() == 0) {
      const auto from_1 = messages.start_receive(1, 7), from_2 = messages.start_receive(2, 7);
      mine.push_back(static_cast<double>(worker.wait_any(std::array<Awaited, 2>{from_1, from_2})));
      mine.push_back(worker.done(from_1) ? 1 : 0);
      messages.send(1, 7, message({}));  // now rank 1 may send
      mine.push_back(static_cast<double>(worker.wait_any(std::array<Awaited, 1>{from_1})));
      mine.push_back(worker.done(from_1) ? 1 : 0);
      mine.push_back(static_cast<double>(worker.wait_any(std::array<Awaited, 2>{from_1, from_2})));
    } else if (worker.rank() == 1) {
      messages.receive(0, 7);
      messages.send(0, 7, message({}));
    } else {
      messages.send(0, 7, message({}));
    }
    worker.next_step();
  });
  CHECK(notes[0] == Notes{1, 0, 0, 1, 0});  // of two that are complete, the first
}

void never(const Runner& run) {
  const Outcome outcome = run({plain_job(),
                               [](Worker& worker, Notes&) {
                                 worker.next_step();
                                 worker.messages().receive((worker.rank() + 1) % 3, 9);
                               },
                               true});
  CAPTURE(outcome.error);
  CHECK(outcome.error.find("algorithm's ranks do not agree on what they exchange") != std::string::npos);
  CHECK(outcome.error.find("step 1") != std::string::npos);
  CHECK(outcome.error.find("rank 1 (tag 9)") != std::string::npos);  // what rank 0 waits for
}

void steps(const Runner& run) {
  Job job = plain_job();
  job.stop.steps = 3;
  const auto notes = noted(run, std::move(job), [](Worker& worker, Notes& mine) {
    mine = {static_cast<double>(worker.rank()), static_cast<double>(worker.size()),
            static_cast<double>(worker.step())};
    while (worker.next_step()) mine.push_back(static_cast<double>(worker.step()));
  });
  CHECK(notes[2] == Notes{2, 3, 0, 1, 2, 3});
}

}  // namespace message_facts

const std::vector<Behaviour>& message_behaviours() {
  static const std::vector<Behaviour> kAll = {
      {"steps count from 1, and end when the run does", message_facts::steps},
      {"a message arrives whole, around a ring of three", message_facts::whole},
      {"messages of one tag arrive in the order sent, and tags do not mix", message_facts::in_order},
      {"wait_any returns what has arrived, though something else was asked for first", message_facts::any},
      {"ranks that wait for what never comes end with a sentence", message_facts::never}};
  return kAll;
}

}  // namespace simsgd::test
