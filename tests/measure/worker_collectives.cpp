// Collectives of the real Worker on three ranks. Rank r contributes r + 1 times something.
#include <doctest/doctest.h>

#include "tests/measure/world.hpp"

namespace simsgd::test::measure_worker_collectives {

using Op = Collective::Op;
using Floats = std::vector<float>;

TEST_CASE("all_reduce: everybody gets the scaled sum") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  const auto factor = static_cast<float>(worker.rank() + 1);
  Collective mean = collective(Op::all_reduce, vector(worker, {factor, 10 * factor}));
  mean.scale = 1.0 / 3;
  // (1 + 2 + 3) / 3 and (10 + 20 + 30) / 3.
  const Tensor result = tensor(worker, run(worker, mean));
  CHECK(result.values.size() == 2);
  CHECK(result.values[0] == doctest::Approx(2));
  CHECK(result.values[1] == doctest::Approx(20));
}

TEST_CASE("reduce: the root alone gets the sum") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Collective sum = collective(Op::reduce, vector(worker, {static_cast<float>(worker.rank() + 1)}));
  sum.root = 1;
  const Values result = run(worker, sum);
  CHECK(static_cast<bool>(result) == (worker.rank() == 1));
  if (worker.rank() == 1) CHECK(tensor(worker, result).values == Floats{6});
}

TEST_CASE("reduce_scatter: rank i gets the i-th part of the sum, seven entries as 2, 2 and 3") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Floats own;
  for (int entry = 0; entry < 7; ++entry) own.push_back(static_cast<float>((worker.rank() + 1) * entry));
  const Tensor part = tensor(worker, run(worker, collective(Op::reduce_scatter, vector(worker, own))));
  // (1 + 2 + 3) times 0, 1, 2, 3, 4, 5, 6.
  const std::vector<Floats> expected = {{0, 6}, {12, 18}, {24, 30, 36}};
  CHECK(part.values == expected[static_cast<std::size_t>(worker.rank())]);
}

TEST_CASE("all_gather: contributions of different lengths, with indices and scalars, in rank order") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  const std::vector<Tensor> given = {{{1.5F}, {7}, {0.25}}, {{2.5F, 3.5F}, {1, 9}, {}}, {{}, {}, {1, 2, 3}}};
  const Tensor& own = given[static_cast<std::size_t>(worker.rank())];
  const Handle handle =
      worker.start(collective(Op::all_gather, sparse(worker, own.indices, own.values, own.scalars)));
  worker.wait(handle);
  const std::vector<Values> all = worker.gathered(handle);
  CHECK(all.size() == 3);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    CAPTURE(rank);
    const Tensor arrived = tensor(worker, all[rank]);
    CHECK(arrived.values == given[rank].values);
    CHECK(arrived.indices == given[rank].indices);
    CHECK(arrived.scalars == given[rank].scalars);
  }
}

TEST_CASE("broadcast: everybody gets the root's tensor, indices and scalars too") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Collective from_two =
      collective(Op::broadcast, worker.rank() == 2 ? sparse(worker, {3, 5}, {1, 2}, {4.5}) : Values());
  from_two.root = 2;
  const Tensor arrived = tensor(worker, run(worker, from_two));
  CHECK(arrived.values == Floats{1, 2});
  CHECK(arrived.indices == std::vector<std::int32_t>{3, 5});
  CHECK(arrived.scalars == std::vector<double>{4.5});
}

TEST_CASE("custom: the effect gets all contributions in rank order; one result each") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Collective shift = collective(Op::custom, vector(worker, {static_cast<float>(worker.rank())}));
  shift.effect = [](Executor&, const std::vector<Values>& given) {
    return std::vector<Values>{given[1], given[2], given[0]};
  };
  const float next = static_cast<float>((worker.rank() + 1) % 3);
  CHECK(tensor(worker, run(worker, shift)).values == Floats{next});
}

TEST_CASE("custom, leaving early: the effect of a rank sees only what the schedule brings to it") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  // Rank 0 sends to rank 1, and nobody else sends anything.
  auto schedule = std::make_shared<Schedule>();
  schedule->name = "one message";
  schedule->ranks = 3;
  schedule->stages = {make_stage({1, -1, -1}, 4000, 0)};
  schedule->all_wait_for_all = false;
  Collective pair = collective(Op::custom, vector(worker, {static_cast<float>(worker.rank() + 1)}));
  pair.custom = schedule;
  pair.place_effect = [](Executor& executor, std::int32_t place, const std::vector<Values>& given) {
    CHECK(static_cast<bool>(given[0]) == (place == 0 || place == 1));
    CHECK(static_cast<bool>(given[1]) == (place == 1));
    CHECK(static_cast<bool>(given[2]) == (place == 2));
    return place == 1 ? linear_combination(executor, {1, 1}, {given[0], given[1]})
                      : given[static_cast<std::size_t>(place)];
  };
  const Floats expected = {1, 1 + 2, 3};
  CHECK(tensor(worker, run(worker, pair)).values ==
        Floats{expected[static_cast<std::size_t>(worker.rank())]});
}

TEST_CASE("a group has its own sums, and its root is a place in it") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  if (worker.rank() != 1) {
    const GroupId ends = worker.group({0, 2});
    CHECK(worker.group({0, 2}) == ends);
    Collective sum = collective(Op::all_reduce, vector(worker, {static_cast<float>(worker.rank() + 1)}));
    sum.group = ends;
    CHECK(tensor(worker, run(worker, sum)).values == Floats{1 + 3});
    Collective from_two = collective(Op::broadcast, vector(worker, {static_cast<float>(worker.rank())}));
    from_two.group = ends;
    from_two.root = 1;  // rank 2
    CHECK(tensor(worker, run(worker, from_two)).values == Floats{2});
  }
  worker.barrier();
}

TEST_CASE("a group that is new to one rank does not stop what it has under way elsewhere") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  const Handle everybody = worker.start(collective(Op::all_gather, vector(worker, {1})));
  Collective pair = collective(Op::all_reduce, vector(worker, {1}));
  if (worker.rank() < 2) pair.group = worker.group({0, 1});
  // Rank 0 comes to the group before its all_gather is complete, rank 1 only after its own is.
  if (worker.rank() == 0) CHECK(tensor(worker, run(worker, pair)).values == Floats{2});
  worker.wait(everybody);
  if (worker.rank() == 1) CHECK(tensor(worker, run(worker, pair)).values == Floats{2});
  CHECK(worker.gathered(everybody).size() == 3);
}

TEST_CASE("operations of one channel keep their order; another channel may be waited for first") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  std::vector<Handle> started;
  for (int i = 0; i < 5; ++i) {
    Collective sum =
        collective(i % 2 == 0 ? Op::all_reduce : Op::all_gather, vector(worker, {static_cast<float>(i)}));
    started.push_back(worker.start(sum));
  }
  Collective beside = collective(Op::all_reduce, vector(worker, {100}));
  beside.channel = 1;
  CHECK(tensor(worker, run(worker, beside)).values == Floats{300});
  worker.wait(started.back());
  for (const Handle& handle : started) CHECK(worker.done(handle));
  for (const int i : {0, 2, 4})
    CHECK(tensor(worker, worker.result(started[static_cast<std::size_t>(i)])).values ==
          Floats{3.0F * static_cast<float>(i)});
  for (const int i : {1, 3})
    CHECK(tensor(worker, worker.gathered(started[static_cast<std::size_t>(i)])[2]).values ==
          Floats{static_cast<float>(i)});
}

TEST_CASE("without values every operation takes place and has no result") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  for (const Op op : {Op::all_reduce, Op::reduce, Op::reduce_scatter, Op::broadcast, Op::barrier, Op::custom})
    CHECK_FALSE(run(worker, collective(op, {})));
  const Handle gathering = worker.start(collective(Op::all_gather, {}));
  worker.wait(gathering);
  CHECK(worker.gathered(gathering).size() == 3);
  for (const Values& each : worker.gathered(gathering)) CHECK_FALSE(each);
}

TEST_CASE("predictions are those of the scenario's cluster: a ring takes 2 (P-1) (alpha + m/P beta)") {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD);
  Collective sum = collective(Op::all_reduce, {});
  sum.bytes = 3e6;
  sum.schedule = "ring";
  CHECK(worker.predict(sum) == doctest::Approx(2 * 2 * (10e-6 + 1e6 / 1e9)).epsilon(1e-9));
}

}  // namespace simsgd::test::measure_worker_collectives
