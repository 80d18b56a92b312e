// Rank r mostly contributes r + 1 times something.
#include <doctest/doctest.h>

#include <array>

#include "tests/roles/behaviours.hpp"

namespace simsgd::test {

namespace collective_facts {

/// 4,000 bytes with that contribution.
template <class Operation>
Operation of(const Tensor& contribution) {
  Operation operation;
  operation.bytes = 4000;
  operation.contribution = contribution;
  return operation;
}

float one_more(const Worker& worker) { return static_cast<float>(worker.rank() + 1); }

/// 0, 1, ... times (rank + 1).
Tensor ramp(Worker& worker, int entries) {
  std::vector<float> values;
  for (int entry = 0; entry < entries; ++entry)
    values.push_back(one_more(worker) * static_cast<float>(entry));
  return vector(worker, std::move(values));
}

void all_reduce(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    auto mean = of<AllReduce>(vector(worker, {one_more(worker), 10 * one_more(worker)}));
    mean.scale = 0.5;
    note(worker, mine, worker.collectives().run(mean));
    auto middle = of<AllReduce>(ramp(worker, 5));
    middle.entries = {1, 3};
    note(worker, mine, worker.collectives().run(middle));
    worker.next_step();
  });
  // (1 + 2 + 3) / 2 and ten times that; 6 times the entries 1 and 2.
  for (const Notes& each : notes) CHECK(each == Notes{3, 30, 6, 12});
}

void reduce(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    auto sum = of<Reduce>(vector(worker, {one_more(worker)}));
    sum.root = 1;
    sum.scale = 2;
    note(worker, mine, worker.collectives().run(sum));
    worker.next_step();
  });
  CHECK(notes == std::vector<Notes>{{}, {12}, {}});
}

void reduce_scatter(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    note(worker, mine, worker.collectives().run(of<ReduceScatter>(ramp(worker, 7))));
    worker.next_step();
  });
  CHECK(notes == std::vector<Notes>{{0, 6}, {12, 18}, {24, 30, 36}});
}

void all_gather(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    const std::array<TensorData, 3> given = {
        {{{1.5F}, {7}, {0.25}}, {{2.5F, 3.5F}, {1, 9}, {}}, {{}, {}, {1, 2, 3}}}};
    const Tensor own = worker.executor().constant(given[static_cast<std::size_t>(worker.rank())]);
    const std::vector<Tensor> all = worker.collectives().run(of<AllGather>(own));
    mine.push_back(static_cast<double>(all.size()));
    for (const Tensor& each : all) {
      const TensorData tensor = worker.executor().get(each);
      mine.insert(mine.end(), tensor.values.begin(), tensor.values.end());
      mine.insert(mine.end(), tensor.indices.begin(), tensor.indices.end());
      mine.insert(mine.end(), tensor.scalars.begin(), tensor.scalars.end());
    }
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{3, 1.5, 7, 0.25, 2.5, 3.5, 1, 9, 1, 2, 3});
}

void all_to_all(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    note(worker, mine, worker.collectives().run(of<AllToAll>(ramp(worker, 7))));
    worker.next_step();
  });
  // Entries 0 and 1, 2 and 3, or 4 to 6 of 1, 2 and 3 times 0, 1, 2, 3, 4, 5, 6.
  CHECK(notes ==
        std::vector<Notes>{{0, 1, 0, 2, 0, 3}, {2, 3, 4, 6, 6, 9}, {4, 5, 6, 8, 10, 12, 12, 15, 18}});
}

void broadcast(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    auto from_two =
        of<Broadcast>(worker.rank() == 2 ? worker.executor().constant({{1, 2}, {3, 5}, {4.5}}) : Tensor());
    from_two.root = 2;
    const TensorData tensor = worker.executor().get(worker.collectives().run(from_two));
    mine.insert(mine.end(), tensor.values.begin(), tensor.values.end());
    mine.insert(mine.end(), tensor.indices.begin(), tensor.indices.end());
    mine.insert(mine.end(), tensor.scalars.begin(), tensor.scalars.end());
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{1, 2, 3, 5, 4.5});
}

std::shared_ptr<Schedule> schedule_of(const char* name, std::vector<std::vector<std::int32_t>> stages) {
  auto schedule = std::make_shared<Schedule>();  // shared by all ranks, as a schedule is
  schedule->name = name;
  schedule->ranks = kBehaviourRanks;
  for (std::vector<std::int32_t>& to : stages) schedule->stages.push_back(make_stage(std::move(to), 4000, 0));
  return schedule;
}

void custom(const Runner& run) {
  const auto notes =
      noted(run, plain_job(),
            [ring = schedule_of("twice around", {{1, 2, 0}, {1, 2, 0}})](Worker& worker, Notes& mine) {
              worker.next_step();
              auto shift = of<CustomCollective>(vector(worker, {one_more(worker)}));
              shift.messages = ring;
              shift.effect = [](Executor&, const std::vector<Tensor>& given) {
                return std::vector<Tensor>{given[1], given[2], given[0]};
              };
              note(worker, mine, worker.collectives().run(shift));
              auto sum = of<CustomCollective>(vector(worker, {one_more(worker)}));
              sum.messages = ring;
              sum.effect = [](Executor& executor, const std::vector<Tensor>& given) {
                return std::vector<Tensor>{linear_combination(executor, {1, 10, 100}, given)};
              };
              note(worker, mine, worker.collectives().run(sum));
              worker.next_step();
            });
  CHECK(notes == std::vector<Notes>{{2, 321}, {3, 321}, {1, 321}});
}

void leaving_early(const Runner& run) {
  // Rank 0 sends to rank 1, and nobody else sends anything.
  auto schedule = schedule_of("one message", {{1, -1, -1}});
  schedule->all_wait_for_all = false;
  const auto notes = noted(run, plain_job(), [schedule](Worker& worker, Notes& mine) {
    worker.next_step();
    auto pair = of<CustomCollective>(vector(worker, {one_more(worker)}));
    pair.messages = schedule;
    pair.member_effect = [](Executor& executor, std::int32_t member, const std::vector<Tensor>& given) {
      return member == 1 ? linear_combination(executor, {1, 10}, {given[0], given[1]})
                         : given[static_cast<std::size_t>(member)];
    };
    note(worker, mine, worker.collectives().run(pair));
    worker.next_step();
  });
  CHECK(notes == std::vector<Notes>{{1}, {21}, {3}});
}

void groups(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    if (worker.rank() != 1) {
      const GroupId ends = worker.collectives().group({0, 2});
      mine.push_back(worker.collectives().group({0, 2}) == ends ? 1 : 0);
      auto sum = of<AllReduce>(vector(worker, {one_more(worker)}));
      sum.group = ends;
      note(worker, mine, worker.collectives().run(sum));
      auto from_two = of<Broadcast>(vector(worker, {one_more(worker)}));
      from_two.group = ends;
      from_two.root = 1;  // rank 2
      note(worker, mine, worker.collectives().run(from_two));
    }
    worker.collectives().run(Barrier());
    worker.next_step();
  });
  CHECK(notes == std::vector<Notes>{{1, 1 + 3, 3}, {}, {1, 1 + 3, 3}});
}

void channels(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    Collectives& collectives = worker.collectives();
    const auto first = collectives.start(of<AllReduce>(vector(worker, {1})));
    const auto second = collectives.start(of<AllGather>(vector(worker, {one_more(worker)})));
    const auto third = collectives.start(of<AllReduce>(vector(worker, {2})));
    auto beside = of<AllReduce>(vector(worker, {100}));
    beside.channel = 1;
    note(worker, mine, collectives.run(beside));
    worker.wait(third);
    mine.push_back(worker.done(first) && worker.done(second) ? 1 : 0);
    note(worker, mine, first.result());
    for (const Tensor& each : second.result()) note(worker, mine, each);
    note(worker, mine, third.result());
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{300, 1, 3, 1, 2, 3, 6});
}

void without_values(const Runner& run) {
  const auto ring = schedule_of("around", {{1, 2, 0}, {1, 2, 0}});
  const auto notes = noted(run, plain_job(), [ring](Worker& worker, Notes& mine) {
    worker.next_step();
    Collectives& collectives = worker.collectives();
    for (const Tensor& result : {collectives.run(of<AllReduce>({})), collectives.run(of<Reduce>({})),
                                 collectives.run(of<ReduceScatter>({})), collectives.run(of<Broadcast>({}))})
      mine.push_back(result ? 1 : 0);
    auto custom = of<CustomCollective>({});
    custom.messages = ring;
    mine.push_back(collectives.run(custom) ? 1 : 0);
    const std::vector<Tensor> gathered = collectives.run(of<AllGather>({}));
    mine.push_back(static_cast<double>(gathered.size()));
    collectives.run(Barrier());
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{0, 0, 0, 0, 0, 0});
}

void exchange_without_values(const Runner& run) {
  const auto notes = noted(run, plain_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    mine.push_back(worker.collectives().run(of<AllToAll>({})) ? 1 : 0);
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{0});
}

}  // namespace collective_facts

const std::vector<Behaviour>& collective_behaviours() {
  using namespace collective_facts;
  static const std::vector<Behaviour> kAll = {
      {"all_reduce: everybody gets the scaled sum, of some entries where only these are asked for",
       all_reduce},
      {"reduce: the root alone gets the scaled sum", reduce},
      {"reduce_scatter: rank i gets the i-th part of the sum, seven entries as 2, 2 and 3", reduce_scatter},
      {"all_gather: contributions of different lengths, with indices and scalars, in rank order", all_gather},
      {"all_to_all: rank j gets part j of every contribution, in rank order", all_to_all},
      {"broadcast: everybody gets the root's tensor, indices and scalars too", broadcast},
      {"custom: the effect gets all contributions in rank order; one result for all, or one each", custom},
      {"custom, leaving early: a member's effect gets what its schedule brings to it", leaving_early},
      {"a group has its own sums, and its root is a rank in it", groups},
      {"operations of one channel keep their order; another channel may be waited for first", channels},
      {"without values every operation takes place and has no result", without_values},
      {"and so does an all_to_all", exchange_without_values}};
  return kAll;
}

}  // namespace simsgd::test
