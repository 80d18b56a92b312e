#include "sim/engine/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/engine/lockstep_run.hpp"
#include "sim/engine/schedule_run.hpp"
#include "sim/engine/sim_worker.hpp"
#include "sim/recording/learning_curve.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

namespace {

// Leaves the engine: the run is over, wherever its workers are.
struct Over {};

// An instant that somebody asked for by its number: sums of durations may miss it by rounding.
double just_after(double time_s) { return time_s * (1 + 1e-9); }

// What comes first of those that look on at one instant.
constexpr int kEvaluation = 0, kEnd = 1;

// All that lives during one run.
class Simulation {
 public:
  Simulation(const Job& job, const SimulationOptions& options);
  SimulationResult run();

 private:
  Timeline make_timeline() const;
  Tensor make_initial_model();
  std::unique_ptr<LockstepRun> make_lockstep();
  void spawn_workers();
  void attach_observers();
  std::string deadlock() const;
  std::vector<ModelAtInstant> models_now() const;
  bool anybody_goes_on() const;
  void evaluate_at(std::uint64_t number);
  void end_at_target();
  void end_by_the_clock();
  void add_workers(RunRecord& record);
  RunRecord make_record();

  const Job& job_;
  SimulationOptions options_;
  Executor executor_;
  Transport transport_;
  Interference interference_;
  Groups groups_;
  Observers observers_, beside_ledgers_;
  CollectiveEngine collectives_;
  Negotiator negotiator_;
  Mailroom mailroom_;
  LearningCurve curve_;
  Timeline timeline_;
  RunEnd end_;
  LedgerBook ledgers_;
  Notebook notebook_;
  Flooding flooding_;
  World world_;
  SimWorker::Steps steps_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<SimBackground*> backgrounds_;  // of the workers
  std::unique_ptr<LockstepRun> lockstep_;    // in place of workers, where the job can be run so
  Fibers fibers_;                            // destroyed first: what is on their stacks refers to all above
};

Simulation::Simulation(const Job& job, const SimulationOptions& options)
    : job_(job),
      options_(options),
      executor_(job.learner ? options.threads : 1),  // else nothing is computed
      transport_(job.cluster, options.time),
      interference_(job.cluster, transport_),
      groups_(job.workers()),
      collectives_(job, transport_, groups_, executor_, observers_),
      negotiator_(job, transport_, groups_, executor_, collectives_),
      mailroom_(job, transport_, observers_),
      curve_(
          job, executor_, [this] { return models_now(); },
          [this](std::function<void()> evaluate) {
            transport_.after(transport_.now(), kEvaluation, [this, evaluate = std::move(evaluate)] {
              evaluate();
              end_at_target();
            });
          }),
      timeline_(make_timeline()),
      end_(job,
           [this](double) {
             transport_.at(transport_.now(),
                           [this] { transport_.after(transport_.now(), kEnd, [] { throw Over(); }); });
           }),
      ledgers_(0, job.workers(), end_.in_time_order()),
      flooding_(job, transport_),
      world_{job,         PassTimes(job.workload),
             executor_,   fibers_,
             transport_,  interference_,
             groups_,     collectives_,
             negotiator_, mailroom_,
             flooding_,   observers_,
             ledgers_,    beside_ledgers_},
      steps_{end_, [this] { return curve_.target_met_s(); },
             [this](std::uint64_t step) {
               if (options_.interrupted && options_.interrupted()) throw Interrupted();
               if (options_.progress) options_.progress(step);
             }},
      lockstep_(make_lockstep()),
      fibers_(lockstep_ ? 0 : job.workers()) {
  attach_observers();
}

void Simulation::attach_observers() {
  observers_.attach(ledgers_, {Topic::time, Topic::steps, Topic::said});
  for (Observers* all : {&observers_, &beside_ledgers_})
    if (timeline_.ranks() > 0) all->attach(timeline_, {Topic::time, Topic::drawing, Topic::steps});
  if (job_.learner) observers_.attach(curve_, {Topic::steps});
  observers_.attach(notebook_, {Topic::said});
  for (Observers* all : {&observers_, &beside_ledgers_})
    for (Observer* observer : options_.observers) all->attach(*observer);
}

Timeline Simulation::make_timeline() const {
  return Timeline({options_.timeline ? job_.record.timeline_events : 0, job_.workers(),
                   job_.cluster.gpus_per_node, job_.cluster.device.name, job_.cluster.device.memory_bytes,
                   job_.name, job_.workload.bytes_per_parameter});
}

Tensor Simulation::make_initial_model() {
  if (!job_.learner) return {};
  return executor_.constant({job_.learner->initial_parameters(), {}, {}});
}

// Those who listen beside the ledgers: to all ranks, or to as many as a timeline has.
std::unique_ptr<LockstepRun> Simulation::make_lockstep() {
  const int heard = options_.observers.empty() ? timeline_.ranks() : job_.workers();
  return LockstepRun::make(world_, steps_, static_cast<std::size_t>(heard));
}

void Simulation::spawn_workers() {
  const Tensor initial_model = make_initial_model();
  for (int rank = 0; rank < job_.workers(); ++rank) {
    workers_.push_back(std::make_unique<SimWorker>(rank, world_, steps_, initial_model, backgrounds_));
    SimWorker* worker = workers_.back().get();
    backgrounds_.push_back(&worker->sim_background());
    fibers_.start([this, worker] {
      try {
        job_.algorithm->run(*worker);
        worker->ended();
      } catch (const Fibers::Ended&) {
        throw;
      } catch (...) {
        // An exception must not leave a fiber; it ends the run from outside, between two events.
        const std::exception_ptr failure = std::current_exception();
        transport_.at(transport_.now(), [failure] { std::rethrow_exception(failure); });
      }
    });
  }
}

std::string Simulation::deadlock() const {
  std::string blocked;
  int count = 0;
  for (const auto& worker : workers_) {
    if (!worker->blocked()) continue;
    if (++count <= 8)
      blocked += fmt::format("{}{} (step {})", blocked.empty() ? "" : ", ", worker->rank(), worker->step());
  }
  if (count > 8) blocked += fmt::format(" and {} more", count - 8);
  return fmt::format(
      "Deadlock at {:.6g} s of simulated time: no event is left, and these ranks wait forever: {}.{}{}{} The algorithm's ranks do not agree on what they exchange.",
      transport_.now(), blocked, collectives_.unfinished(), negotiator_.unfinished(), mailroom_.unfinished());
}

std::vector<ModelAtInstant> Simulation::models_now() const {
  std::vector<ModelAtInstant> models;
  for (const auto& worker : workers_) models.push_back(worker->model_now());
  return models;
}

// A deadlock is where nothing is left to happen; a watch on the clock is something.
bool Simulation::anybody_goes_on() const {
  std::size_t run = 0, blocked = 0;
  for (const auto& worker : workers_) {
    run += worker->runs() ? 1U : 0U;
    blocked += worker->blocked() ? 1U : 0U;
  }
  if (run > 0 && run == blocked && transport_.idle()) throw RunError(deadlock());
  return run > 0;
}

// Evaluation number 1, 2, ... by the clock, and then the next.
void Simulation::evaluate_at(std::uint64_t number) {
  const double at_s = static_cast<double>(number) * job_.record.evaluate_every_s;
  transport_.after(just_after(at_s), kEvaluation, [this, number, at_s] {
    if (!anybody_goes_on()) return;
    curve_.evaluate(at_s, models_now());
    end_at_target();
    evaluate_at(number + 1);
  });
}

void Simulation::end_at_target() {
  if (!job_.target.stop) return;
  if (const std::optional<double> met_s = curve_.target_met_s()) end_.end(*met_s);
}

void Simulation::end_by_the_clock() {
  if (std::isfinite(job_.stop.time_s))
    transport_.after(just_after(job_.stop.time_s), kEnd, [this] {
      if (anybody_goes_on()) end_.end(job_.stop.time_s);
    });
  if (job_.learner && job_.record.evaluate_every_s > 0) evaluate_at(1);
}

void Simulation::add_workers(RunRecord& record) {
  record.workers.reserve(static_cast<std::size_t>(job_.workers()));
  for (int rank = 0; rank < job_.workers(); ++rank) {
    Ledger& ledger = ledgers_.of(rank);
    if (end_.over_s()) ledger.cut(*end_.over_s());
    record.workers.push_back(ledger.take_record());
    record.end_s = std::max(record.end_s, record.workers.back().end_s);
  }
  record.end_s = end_.over_s().value_or(record.end_s);
}

RunRecord Simulation::make_record() {
  RunRecord record;
  add_workers(record);
  record.step_times_s = ledgers_.step_times().take_values();
  curve_.finish(record.end_s, end_.over_s() ? LearningCurve::End::instant : LearningCurve::End::steps,
                record);
  std::vector<double> bytes = transport_.link_bytes();
  collectives_.add_link_bytes(bytes, record.end_s);
  for (std::size_t id = 0; id < bytes.size(); ++id) {
    const Link& link = job_.cluster.network.links[id];
    if (bytes[id] > 0)
      record.links.push_back({link.name, link.bandwidth_Bps, bytes[id], link.price_usd_per_byte});
  }
  notebook_.fill(record);
  for (const auto& worker : workers_)
    if (const auto totals = worker->crash_totals(record.end_s)) add_totals(*totals, record.extra);
  if (lockstep_)
    for (const Crashes::Totals& totals : lockstep_->crash_totals(record.end_s))
      add_totals(totals, record.extra);
  record.fidelities = collectives_.fidelities();
  record.events = transport_.events();
  for (const FidelityRecord& fidelity : record.fidelities) record.events += fidelity.count;
  return record;
}

SimulationResult Simulation::run() {
  lockstep_ ? lockstep_->run() : spawn_workers();
  end_by_the_clock();
  try {
    transport_.run(&fibers_);
    for (const auto& worker : workers_)
      if (worker->runs()) throw RunError(deadlock());
  } catch (const Over&) {
  }
  RunRecord record = make_record();
  if (end_.over_s()) timeline_.cut(*end_.over_s());
  return {std::move(record), std::move(timeline_)};
}

}  // namespace

SimulationResult simulate(const Job& job, const SimulationOptions& options) {
  CHECK(job.algorithm != nullptr && job.workers() > 0, "a job needs an algorithm and workers");
  CHECK(job.workers() <= kMostSimulatedWorkers, "more workers than can be simulated");
  auto simulation = std::make_unique<Simulation>(job, options);
  // SimGrid's statics refer to it.
  return (options.time == own_time ? *simulation : *simulation.release()).run();
}

namespace {

// Runs one plan from now on.
double run_plan(Transport& transport, const Plan& plan, const std::vector<int>& ranks, Fidelity fidelity,
                const JitterDraws& jitter) {
  const double begin = transport.now();
  double last_end = begin;
  ScheduleRun run({&plan, &transport, &ranks, jitter, fidelity == Fidelity::flows,
                   [&](std::int32_t, double end_s, double) { last_end = std::max(last_end, end_s); }});
  run.all_arrive_at(begin);
  transport.run(nullptr);
  return last_end - begin;
}

}  // namespace

std::vector<double> simulate_plans(const Cluster& cluster, const std::vector<PlanToSimulate>& plans,
                                   const JitterDraws* jitter) {
  Transport transport(cluster);
  std::vector<int> ranks(static_cast<std::size_t>(cluster.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<double> times;
  for (const PlanToSimulate& each : plans) {
    JitterDraws draws;
    if (jitter) draws = *jitter;
    draws.operation += times.size();
    times.push_back(run_plan(transport, *each.plan, ranks, each.fidelity, draws));
  }
  return times;
}

}  // namespace simsgd
