#include "measure/mpi_worker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "measure/packing.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {

int rank_in(MPI_Comm world) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  return rank;
}

Tensor initial_parameters(const Job& job, Executor& executor) {
  return job.learner ? executor.constant({job.learner->initial_parameters(), {}, {}}) : Tensor{};
}

// One entry of the steps' ages; the rest of a record has a fixed size.
struct Age {
  std::int32_t steps;
  std::uint64_t count;
};

std::vector<Histogram> gather_histograms(MPI_Comm world, const Histogram& own) {
  std::vector<std::uint64_t> numbers{own.zero, static_cast<std::uint64_t>(own.first - Histogram::kFirst)};
  numbers.insert(numbers.end(), own.counts.begin(), own.counts.end());
  std::vector<Histogram> all;
  for (const std::vector<std::uint64_t>& theirs : gather_at_root(world, numbers))
    all.push_back({theirs[0],
                   Histogram::kFirst + static_cast<std::int32_t>(theirs[1]),
                   {theirs.begin() + 2, theirs.end()}});
  return all;
}

// Collective, blocking. On rank 0 the record of every rank, elsewhere nothing.
std::vector<WorkerRecord> gather_records(MPI_Comm world, const WorkerRecord& own) {
  std::vector<Age> own_ages;
  for (const auto& [steps, count] : own.ages) own_ages.push_back({steps, count});
  const auto totals = gather_at_root(world, std::vector<WorkerTotals>{own});
  const std::vector<Histogram> wait = gather_histograms(world, own.step_wait),
                               straggle = gather_histograms(world, own.step_straggle);
  const auto ages = gather_at_root(world, own_ages);
  std::vector<WorkerRecord> records;
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    WorkerRecord& record = records.emplace_back();
    static_cast<WorkerTotals&>(record) = totals[rank].front();
    record.step_wait = wait[rank];
    record.step_straggle = straggle[rank];
    for (const Age& age : ages[rank]) record.ages[age.steps] = age.count;
  }
  return records;
}

}  // namespace

MpiWorker::MpiWorker(const Job& job, MPI_Comm world, const RealRun& how)
    : Worker(job, rank_in(world), executor_),
      job_(job),
      how_(how),
      trust_(begin_trust(world)),
      self_{.world = world,
            .rank = rank(),
            .job = job,
            .executor = executor_,
            .observers = observers_,
            .clock = run_clock_,
            .sizes = how.emulates ? PackedSizes::workload : PackedSizes::values},
      ledger_(rank(), 1, true),
      late_(ledger_.of(rank()), job.stop.time_s),
      progress_(rank(), run_clock_, how.patience_s),
      clock_(self_, progress_, trust_),
      communicators_(world,
                     [this](const MpiProgress::Condition& condition) {
                       const MpiBackground::Quiet quiet(background_);
                       progress_.wait_until(
                           condition, [] { return false; },
                           [] { return std::string("the other members of a group"); });
                     }),
      collectives_(self_, communicators_, *this, how.scenario_schedules,
                   [this](const Tensor& value) {
                     const MpiBackground::Quiet quiet(background_);
                     clock_.need(value);
                   }),
      messages_(self_, *this),
      times_(job.workload),
      replica_(executor_, job.optimizer, initial_parameters(job, executor_),
               [this](const Tensor& parameters, double share) { compute_.update(parameters, share); }),
      compute_(job, times_, rank(), executor_, clock_, replica_, observers_),
      recorder_(rank(), observers_),
      background_(self_),
      preemption_(self_, clock_, compute_, replica_, step_),
      curve_(job, executor_, replica_.parameters(), world),
      end_(
          job, run_clock_,
          [this] {
            return ModelAtInstant{completed_, replica_.parameters()};
          },
          world) {
  compose({.replica = &replica_,
           .compute = &compute_,
           .messages = &messages_,
           .collectives = &collectives_,
           .record = &recorder_,
           .background = &background_,
           .preemption = &preemption_});
  observers_.attach(ledger_);
  observers_.attach(notebook_);
  observers_.attach(curve_);
  if (end_.alone() || std::isfinite(job.stop.time_s)) observers_.attach(late_, {Topic::steps});
  if (job.record.timeline_events > 0) {
    tape_ = std::make_unique<EventTape>(job, rank());
    observers_.attach(*tape_, {Topic::time, Topic::drawing, Topic::steps});
  }
  if (how.logs_steps) {
    step_log_ = std::make_unique<StepLog>(rank(), 1);
    observers_.attach(*step_log_);
  }
  progress_.attend(collectives_);
  progress_.attend(messages_);
  progress_.attend(preemption_);
  progress_.attend(end_);
  progress_.attend(background_);  // its handlers may ask anything of the others
  if (end_.alone()) progress_.end_when([this] { return end_.over(); });
  MPI_Comm_dup(world, &world_);
  if (trust_.crowded()) progress_.share_cores(world_);
  communicators_.site(kWorld, 0);  // so that the first step does not pay for it
  start_clock();
  calendar_offset_s_ = calendar_offset_s();
}

// Ranks leave a barrier one after another; where they can, they count from the same instant: when the last
// came.
void MpiWorker::start_clock() {
  int ranks = 0;
  MPI_Comm_size(world_, &ranks);
  run_clock_.start();
  const std::array<double, 2> own{run_clock_.begin_s(), trust_.ranks_here == ranks ? 0.0 : 1.0};
  std::array<double, 2> most{};
  MPI_Allreduce(own.data(), most.data(), 2, MPI_DOUBLE, MPI_MAX, world_);
  if (most[1] == 0)
    run_clock_.began_later(most[0] - own[0]);
  else
    run_clock_.start();
}

// Steps
// ---------------------------------------------------------------------------------------------------------

void MpiWorker::train() {
  try {
    job_.algorithm->run(*this);
    if (!end_.alone()) {
      clock_.book(Activity::host);
      return ledger_.of(rank()).end_run(clock_.booked_s());
    }
  } catch (const MpiProgress::RunIsOver&) {
    clock_.book(Activity::host);
  }
  ledger_.of(rank()).cut(end_.over_s().value_or(clock_.booked_s()));
}

bool MpiWorker::next_step() {
  clock_.book(Activity::host);
  if (end_.alone()) {
    progress_.progress();
    if (end_.over()) throw MpiProgress::RunIsOver();  // what is not complete then does not count
  }
  if (step_ > 0) end_step();
  if (!over_ && curve_.meets_after(step_)) {
    meet([this] {
      curve_.gather();
      over_ = curve_.run_is_over(clock_.booked_s());
    });
  }
  if (end_.alone()) {
    progress_.progress();
    if (end_.over()) return false;
  }
  const double samples = static_cast<double>(step_) * job_.workers() * job_.workload.batch;
  const bool enough = step_ >= job_.stop.steps || samples >= job_.stop.samples * (1 - 1e-9);
  if (over_ || (enough && !end_.alone())) return false;
  ++step_;
  step_begin_s_ = clock_.booked_s();
  progress_.begin_step(step_);
  compute_.begin_step(step_);
  observers_.tell(Topic::steps, &Observer::step_began, rank(), step_, step_begin_s_);
  return true;
}

void MpiWorker::end_step() {
  compute_.finish_step();
  observers_.tell(Topic::steps, &Observer::step_ended,
                  StepEnd{rank(), step_, step_begin_s_, clock_.booked_s(), replica_.parameters()});
  completed_ = step_;
  end_.completed(clock_.booked_s(), compute_.step_samples());
}

// Other ranks may need what this one has under way before they can come.
void MpiWorker::meet_there() {
  MPI_Request everybody = MPI_REQUEST_NULL;
  MPI_Ibarrier(world_, &everybody);
  progress_.wait_until([&] { return is_complete(everybody); }, [] { return false; },
                       [] { return std::string("the other ranks to end their step"); });
}

void MpiWorker::meet(const std::function<void()>& action) {
  const double begin_s = run_clock_.wall_s();
  meet_there();
  action();
  constexpr double kHeard_s = 100e-6;  // assumed: a small message, so that who hears it late naps least
  double pause_s = run_clock_.wall_s() - begin_s + kHeard_s, longest_s = 0;
  MPI_Allreduce(&pause_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, world_);
  nap(begin_s + longest_s - run_clock_.wall_s());
  // As long for everybody, whose naps are too long by times of their own: clocks would drift apart.
  run_clock_.pause(longest_s);
}

RunRecord MpiWorker::finish() {
  progress_.end_when({});
  trust_.wall_s = run_clock_.wall_s();
  trust_.emulates = how_.emulates || !job_.learner;
  trust_.clock_step_s = calendar_offset_s() - calendar_offset_s_;
  meet_there();
  doubts_ = simsgd::doubts(world_, trust_);
  double over_s =
      job_.stop.time_s;  // where workers need each other: whoever is through first goes on until then
  if (end_.alone()) {
    over_s = late_.agree(world_, job_.stop, end_.over_s().value_or(over_s));
    curve_.gather_alone(end_, over_s);
  } else {
    curve_.gather();
  }
  std::vector<WorkerRecord> workers = gather_records(world_, late_.without(over_s));
  const std::vector<std::vector<double>> step_times = gather_at_root(world_, step_times_until(over_s));
  if (step_log_)
    for (const std::vector<StepRow>& theirs : gather_at_root(world_, step_log_->rows()))
      std::copy_if(theirs.begin(), theirs.end(), std::back_inserter(steps_),
                   [over_s](const StepRow& row) { return row.end_s <= over_s; });
  if (tape_) timeline_ = tape_->timeline(world_);
  const double now_s = clock_.booked_s();
  double last_s = 0;
  MPI_Allreduce(&now_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, world_);
  RunRecord record;
  gather_failures(record);
  if (rank() != 0) return {};
  record.clock = "wall";
  StepTimes all_step_times;
  for (std::size_t each = 0; each < workers.size(); ++each) {
    record.end_s = std::max(record.end_s, workers[each].end_s);
    for (const double seconds : step_times[each]) all_step_times.add(seconds);
  }
  if (last_s >= over_s) record.end_s = over_s;
  record.workers = std::move(workers);
  record.step_times_s = all_step_times.take_values();
  record.fidelities = collectives_.record();
  notebook_.fill(record);
  curve_.finish(record.end_s, last_s >= over_s, record);
  return record;
}

// An even sample of very many loses none of its last ones: they do not matter there.
std::vector<double> MpiWorker::step_times_until(double over_s) {
  std::vector<double> times = ledger_.step_times().take_values();
  if (times.size() == ledger_.of(rank()).record().steps)
    times.resize(times.size() - std::min<std::size_t>(times.size(), late_.after(over_s)));
  return times;
}

void MpiWorker::gather_failures(RunRecord& record) {
  if (!compute_.crashes()) return;
  for (const auto& totals :
       gather_at_root(world_, std::vector<Crashes::Totals>{compute_.crashes()->totals()}))
    add_totals(totals.front(), record.extra);
}

// Completion
// -----------------------------------------------------------------------------------------------------

// Handing an operation's bytes to MPI takes time too, in which others may come: whoever does nothing else
// before it waits for the operation has waited since it began.
void MpiWorker::book_host(std::span<const Awaited> handles) {
  if (handles.size() > 1) return clock_.book(Activity::host);
  const double begun_s = collectives_.begun_s(handles.front().pending()->channel);
  if (begun_s >= clock_.booked_s())
    clock_.book_until(Activity::host, begun_s);
  else
    clock_.book(Activity::host);
}

std::size_t MpiWorker::wait_any(std::span<const Awaited> handles) {
  CHECK(!handles.empty(), "waiting for any of nothing");
  const auto complete = [](const Awaited& handle) { return handle.pending()->known(); };
  const auto under_way = [](const Awaited& handle) { return handle.pending()->under_way; };
  CHECK(std::all_of(handles.begin(), handles.end(), [](const Awaited& each) { return each.pending(); }),
        "waiting for nothing");
  book_host(handles);
  progress_.progress();
  progress_.wait_until([&] { return std::any_of(handles.begin(), handles.end(), complete); },
                       [&] { return std::any_of(handles.begin(), handles.end(), under_way); },
                       [&] { return handles.front().pending()->what; });
  const auto first = std::find_if(handles.begin(), handles.end(), complete);
  clock_.waited(first->pending()->channel);
  return static_cast<std::size_t>(first - handles.begin());
}

bool MpiWorker::done(Awaited handle) {
  progress_.progress();
  return handle.pending()->known();
}

}  // namespace simsgd
