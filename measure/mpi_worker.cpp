#include "measure/mpi_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/gathering.hpp"
#include "measure/schedule_choice.hpp"
#include "measure/worker_records.hpp"
#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/message_precision.hpp"

namespace simsgd {

MpiWorker::MpiWorker(const Job& job, MPI_Comm world, double patience_s)
    : job_(job),
      patience_s_(patience_s),
      communicators_(world,
                     [this](const Condition& condition) {
                       poll(
                           condition, [] { return false; },
                           [] { return std::string("the other members of a group"); });
                     }),
      collectives_(job, executor_, clock_, communicators_, ledger_),
      mailroom_(world, executor_, clock_, ledger_),
      curve_(job, world) {
  MPI_Comm_dup(world, &world_);
  MPI_Comm_rank(world_, &rank_);
  if (job.learner) state_.parameters = executor_.constant({job.learner->initial_parameters(), {}, {}});
  model_of_step_ = state_.parameters;
  communicators_.site(kWorld, 0);  // so that the first step does not pay for it
  MPI_Barrier(world_);
  clock_.start();
}

// Steps
// ---------------------------------------------------------------------------------------------------------

// What the main thread did since the last booking.
void MpiWorker::book(Activity activity) {
  const double now_s = clock_.now();
  ledger_.book(activity, now_s - booked_s_);
  booked_s_ = now_s;
}

bool MpiWorker::next_step() {
  book(Activity::host);
  if (step_ > 0) end_step();
  if (!over_ && curve_.meets_after(step_)) {
    meet([this] {
      curve_.gather(executor_, model_of_step_);
      over_ = curve_.run_is_over(booked_s_);
    });
  }
  const double samples = static_cast<double>(step_) * job_.workers() * job_.workload.batch;
  if (over_ || step_ >= job_.stop.steps || samples >= job_.stop.samples * (1 - 1e-9)) return false;
  ++step_;
  mini_batches_ = 0;
  ledger_.begin_step(booked_s_);
  return true;
}

void MpiWorker::end_step() {
  step_times_.add(ledger_.end_step(booked_s_));
  curve_.completed(step_, booked_s_);
  model_of_step_ = state_.parameters;
}

// Other ranks may need what this one has under way before they can come.
void MpiWorker::meet_there() {
  MPI_Request everybody = MPI_REQUEST_NULL;
  MPI_Ibarrier(world_, &everybody);
  poll([&] { return is_complete(everybody); }, [] { return false; },
       [] { return std::string("the other ranks to end their step"); });
}

void MpiWorker::meet(const std::function<void()>& action) {
  const double begin_s = clock_.wall_s();
  meet_there();
  action();
  double pause_s = clock_.wall_s() - begin_s, longest_s = 0;
  MPI_Allreduce(&pause_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, world_);
  nap(begin_s + longest_s - clock_.wall_s());
  clock_.pause(clock_.wall_s() - begin_s);
}

RunRecord MpiWorker::finish() {
  meet_there();
  curve_.gather(executor_, model_of_step_);
  std::vector<WorkerRecord> workers = gather_records(world_, ledger_.record());
  const std::vector<std::vector<double>> step_times = gather_at_root(world_, step_times_.values());
  RunRecord record;
  if (rank_ != 0) return record;
  record.clock = "wall";
  StepTimes all_step_times;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    record.end_s = std::max(record.end_s, workers[rank].end_s);
    for (const double seconds : step_times[rank]) all_step_times.add(seconds);
  }
  record.workers = std::move(workers);
  record.step_times_s = all_step_times.values();
  record.fidelities = collectives_.record();
  curve_.finish(record.end_s, record);
  return record;
}

// Replica
// -------------------------------------------------------------------------------------------------------

void MpiWorker::set_model(Values model) {
  state_.parameters = std::move(model);
  if (state_.parameters) executor_.get(state_.parameters);
}

void MpiWorker::apply(const Values& gradient) {
  if (!gradient) return;
  executor_.get(gradient);
  book(Activity::host);
  state_ = job_.optimizer.step(executor_, step_, state_, gradient);
  executor_.get(state_.parameters);
  book(Activity::compute);
}

// Messages and collectives
// ---------------------------------------------------------------------------------------

Handle MpiWorker::start_send(int to, int tag, Message message) {
  CHECK(to >= 0 && to < size() && to != rank_, "a message to nobody, or to oneself");
  CHECK(tag >= 0, "tags of messages begin at 0");
  message.values = rounded_to(executor_, message.values, job_.network.precision);
  return mailroom_.send(to, tag, message);
}

Handle MpiWorker::start_receive(int from, int tag) {
  CHECK(from >= 0 && from < size() && from != rank_, "a message from nobody, or from oneself");
  CHECK(tag >= 0, "tags of messages begin at 0");
  return mailroom_.receive(from, tag);
}

Handle MpiWorker::start(Collective collective) {
  collective.contribution = contribution_of(executor_, collective, job_.network.precision);
  collective.entries.reset();
  return collectives_.start(std::move(collective));
}

double MpiWorker::predict(const Collective& collective) {
  return predicted_s(job_, collective, communicators_.ranks(collective.group));
}

// Completion
// -----------------------------------------------------------------------------------------------------

MpiPending& MpiWorker::pending_of(const Handle& handle) {
  CHECK(handle != nullptr, "waiting for nothing");
  return static_cast<MpiPending&>(*handle);
}

void MpiWorker::progress() {
  collectives_.progress();
  mailroom_.progress();
}

void MpiWorker::poll(const Condition& complete, const Condition& under_way,
                     const std::function<std::string()>& what) {
  const double begin_s = clock_.wall_s();
  while (!complete()) {
    const double waited_s = clock_.wall_s() - begin_s;
    if (waited_s > patience_s_)
      throw RunError(
          fmt::format("Rank {} has waited {:.0f} s for {} in step {}, and gives up: the algorithm's ranks do "
                      "not agree on what "
                      "they exchange, or another rank is stuck.",
                      rank_, waited_s, what(), step_));
    rest(waited_s, under_way());
    progress();
  }
}

void MpiWorker::wait(const Handle& handle) { wait_any({&handle, 1}); }

std::size_t MpiWorker::wait_any(std::span<const Handle> handles) {
  CHECK(!handles.empty(), "waiting for any of nothing");
  book(Activity::host);
  const auto complete = [](const Handle& handle) { return pending_of(handle).complete; };
  const auto under_way = [](const Handle& handle) { return pending_of(handle).under_way; };
  progress();
  poll([&] { return std::any_of(handles.begin(), handles.end(), complete); },
       [&] { return std::any_of(handles.begin(), handles.end(), under_way); },
       [&] { return pending_of(handles.front()).description; });
  const auto first = std::find_if(handles.begin(), handles.end(), complete);
  const double from_s = booked_s_;
  booked_s_ = clock_.now();
  ledger_.wait(pending_of(*first).channel, from_s, booked_s_);
  return static_cast<std::size_t>(first - handles.begin());
}

bool MpiWorker::done(const Handle& handle) {
  progress();
  return pending_of(handle).complete;
}

Values MpiWorker::result(const Handle& handle) { return pending_of(handle).result; }
std::vector<Values> MpiWorker::gathered(const Handle& handle) { return pending_of(handle).gathered; }
Message MpiWorker::message(const Handle& handle) { return pending_of(handle).message; }

}  // namespace simsgd
