// Steps that end while the news of the end is on its way, on three ranks whose clocks are scripts.
#include <doctest/doctest.h>

#include "measure/common_end.hpp"
#include "tests/measure/world.hpp"

namespace simsgd::test::measure_late_steps {

namespace {

/// A rank whose steps end at these times; each computes for half of its time and uses 4 samples.
struct Scripted {
  LedgerBook book;
  LateSteps late;
  int rank;

  Scripted(int rank_in, const std::vector<double>& ends)
      : book(rank_in, 1), late(book.of(rank_in)), rank(rank_in) {
    double begin_s = 0;
    std::uint64_t step = 0;
    for (const double end_s : ends) {
      const StepEnd end{rank, ++step, begin_s, end_s, Tensor()};
      book.step_began(rank, step, begin_s);
      late.step_began(rank, step, begin_s);
      book.booked(rank, Activity::compute, (end_s - begin_s) / 2);
      book.gradient_used(rank, step, {}, 4);
      book.staleness(rank, 1);
      book.step_ended(end);
      late.step_ended(end);
      begin_s = end_s;
    }
  }
};

int rank_here() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

TEST_CASE("what ends after the last step that was needed does not count, on no rank") {
  // Ends of all: 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7. Three steps each are nine; two are six, so the run is over
  // at 4.
  const std::vector<double> ends[] = {{1, 2, 3, 4, 5}, {1.5, 6}, {2.5, 7}};
  const Scripted mine(rank_here(), ends[rank_here()]);
  StopRule two;
  two.steps = 2;
  const double over_s = mine.late.agree(MPI_COMM_WORLD, two, 4.2);
  CHECK(over_s == 4);
  const WorkerRecord record = mine.late.without(over_s);
  const std::uint64_t steps[] = {4, 1, 1}, late[] = {1, 1, 1};
  const double end_s[] = {4, 1.5, 2.5}, computed_s[] = {2, 0.75, 1.25}, unfinished_s[] = {0, 2.25, 1.5};
  const int rank = rank_here();
  CHECK(record.steps == steps[rank]);
  CHECK(mine.late.after(over_s) == late[rank]);
  CHECK(record.end_s == end_s[rank]);
  CHECK(record.samples == 4.0 * static_cast<double>(steps[rank]));
  CHECK(spent_s(record, Activity::compute) == computed_s[rank]);
  // Of the step that was cut: computed half of its time, at most until the end.
  CHECK(record.unfinished_busy_s == unfinished_s[rank]);
  // Ages stay: others used this rank meanwhile.
  CHECK(record.staleness_count == steps[rank] + late[rank]);
}

TEST_CASE("samples and the clock end it likewise, and a run that nothing ends keeps all") {
  const std::vector<double> ends[] = {{1, 2, 3}, {1.5, 6}, {2.5, 7}};
  const Scripted mine(rank_here(), ends[rank_here()]);
  StopRule samples;
  samples.samples = 13;  // four steps of 4
  CHECK(mine.late.agree(MPI_COMM_WORLD, samples, 100) == 2.5);
  StopRule time;
  time.time_s = 2.2;
  CHECK(mine.late.agree(MPI_COMM_WORLD, time, 2.2) == 2.2);
  StopRule never;
  const double over_s = mine.late.agree(MPI_COMM_WORLD, never, std::numeric_limits<double>::infinity());
  CHECK(mine.late.after(over_s) == 0);
  CHECK(mine.late.without(over_s).steps == ends[rank_here()].size());
}

TEST_CASE("of very many steps the earlier ones are counted too") {
  std::vector<double> ends;
  for (int step = 1; step <= 2000; ++step) ends.push_back(step);
  const Scripted mine(rank_here(), ends);
  StopRule most;
  most.steps = 1990;
  CHECK(mine.late.agree(MPI_COMM_WORLD, most, 2000) == 1990);
  CHECK(mine.late.without(1990).steps == 1990);
}

}  // namespace simsgd::test::measure_late_steps
