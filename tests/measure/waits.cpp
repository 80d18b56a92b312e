// Since when a rank has waited for bytes alone, and who waits for whom, on three ranks. Ranks see late what
// happens elsewhere, so they tell each other when they came: what is compared here are the very same numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "measure/common_end.hpp"
#include "measure/packing.hpp"
#include "tests/measure/world.hpp"
#include "tests/roles/behaviours.hpp"

namespace simsgd::test::measure_waits {

namespace {

class Spans final : public Observer {
 public:
  void operation(int, std::int32_t, const OperationSpan& span) override { spans.push_back(span); }
  std::vector<OperationSpan> spans;
};

/// The one operation of each rank's `work`, which rank r begins so long after the others; at rank 0.
std::vector<OperationSpan> spans_of(const RealRun& how, const std::vector<double>& later_s,
                                    const std::function<void(MpiWorker&)>& work) {
  const Job job = small_job();
  MpiWorker worker(job, MPI_COMM_WORLD, how);
  Spans seen;
  worker.attach(seen);
  worker.next_step();
  worker.compute().spend(Activity::selection, later_s[static_cast<std::size_t>(worker.rank())]);
  work(worker);
  worker.next_step();
  worker.finish();
  std::vector<OperationSpan> all;
  for (const auto& theirs : gather_at_root(MPI_COMM_WORLD, seen.spans))
    all.insert(all.end(), theirs.begin(), theirs.end());
  return all;
}

RealRun how(bool by_scenario) { return {.patience_s = 30, .scenario_schedules = by_scenario}; }

template <class Collective>
void start(MpiWorker& worker) {
  worker.collectives().run(timed<Collective>(4000, ""));
}

}  // namespace

TEST_CASE("whoever is early waits until the last rank came, to the bit, and for bytes from then on") {
  const struct {
    const char* name;
    void (*work)(MpiWorker&);
  } operations[] = {{"all_reduce", start<AllReduce>},
                    {"reduce_scatter", start<ReduceScatter>},
                    {"all_gather", start<AllGather>},
                    {"all_to_all", start<AllToAll>}};
  for (const bool by_scenario : {false, true}) {
    for (const auto& each : operations) {
      CAPTURE(by_scenario);
      CAPTURE(each.name);
      const auto spans = spans_of(how(by_scenario), {0, 3e-3, 6e-3}, each.work);
      double last_s = 0;
      for (const OperationSpan& span : spans) last_s = std::max(last_s, span.start_s);
      for (const OperationSpan& span : spans) {
        CHECK(span.go_s == last_s);
        CHECK(span.end_s > last_s);
      }
    }
  }
}

TEST_CASE("a broadcast waits for its root; a message for its sender") {
  const auto root_late = spans_of(how(false), {6e-3, 0, 3e-3}, start<Broadcast>);
  // A busy machine may hold up others longer than the root.
  for (const OperationSpan& span : root_late)
    CHECK(span.go_s == std::max(span.start_s, root_late[0].start_s));
  const auto sent = spans_of(how(false), {6e-3, 0, 0}, [](MpiWorker& worker) {
    if (worker.rank() == 0) worker.messages().send(1, 7, message({}));
    if (worker.rank() == 1) worker.messages().receive(0, 7);
  });
  if (sent.empty()) return;
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].go_s == std::max(sent[0].start_s, sent[1].start_s));
}

TEST_CASE("between neighbours both sides wait for each other, though bytes go one way, and for nobody else") {
  Schedule schedule;
  schedule.name = "0 to 1";
  schedule.ranks = 3;
  schedule.concurrent = true;
  schedule.all_wait_for_all = false;
  schedule.stages = {make_stage({1, -1, -1}, 4000, 0)};
  const auto shared = std::make_shared<const Schedule>(schedule);
  for (const bool sender_late : {false, true}) {
    CAPTURE(sender_late);
    const std::vector<double> later_s =
        sender_late ? std::vector<double>{6e-3, 0, 20e-3} : std::vector<double>{0, 6e-3, 20e-3};
    const auto spans = spans_of(how(true), later_s, [&](MpiWorker& worker) {
      CustomCollective exchange;
      exchange.bytes = 4000;
      exchange.messages = shared;
      worker.collectives().run(exchange);
    });
    if (spans.empty()) continue;
    REQUIRE(spans.size() == 3);
    const double both_s = std::max(spans[0].start_s, spans[1].start_s);
    for (const std::size_t rank : {0U, 1U}) {
      CHECK(spans[rank].go_s == both_s);
      CHECK(spans[rank].end_s >= both_s);
    }
    CHECK(spans[2].go_s == spans[2].start_s);
  }
}

// Steps that end while the news of the end is on its way, on three ranks whose clocks are scripts.

namespace {

/// A rank whose steps end at these times; each computes for half of its time and uses 4 samples.
struct Scripted {
  LedgerBook book;
  LateSteps late;
  int rank;

  Scripted(int rank_in, const std::vector<double>& ends)
      : book(rank_in, 1, false), late(book.of(rank_in)), rank(rank_in) {
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

}  // namespace simsgd::test::measure_waits
