#include "sim/engine/simulate.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <simgrid/s4u.hpp>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/platform.hpp"
#include "sim/engine/sim_worker.hpp"

namespace simsgd {

namespace {

// Leaves the engine: the run is over, wherever its workers are.
struct Over {};

// Instants that differ by rounding are one: what ends at the last one comes before the end, and an evaluation
// is of the models after what ends at its instant.
double just_after(double time_s) { return time_s * (1 + 1e-9); }

// All that lives during one run.
class Simulation {
 public:
  Simulation(const Job& job, const SimulationOptions& options);
  SimulationResult run();

 private:
  Timeline make_timeline() const;
  Values make_initial_model();
  void time_workload();
  void spawn_workers();
  void collective_seen(const CollectiveEngine::Seen& seen);
  void message_seen(const Mailroom::Delivered& delivered);
  std::string deadlock() const;
  std::vector<ModelAtInstant> models_now() const;
  bool anybody_goes_on() const;
  void evaluate_at(std::uint64_t number);
  void end_by_the_clock();
  void add_workers(RunRecord& record);
  RunRecord make_record();

  const Job& job_;
  SimulationOptions options_;
  std::unique_ptr<simgrid::s4u::Engine> engine_;
  Executor executor_;
  Transport transport_;
  Groups groups_;
  CollectiveEngine collectives_;
  Mailroom mailroom_;
  LearningCurve curve_;
  Timeline timeline_;
  StepTimes step_times_;
  News news_;
  RunEnd end_;
  World world_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
};

Simulation::Simulation(const Job& job, const SimulationOptions& options)
    : job_(job),
      options_(options),
      engine_(make_engine()),
      executor_(options.threads),
      transport_(job.cluster),
      groups_(job.workers()),
      collectives_(job, transport_, groups_, executor_, [this](const auto& seen) { collective_seen(seen); }),
      mailroom_(job, transport_, [this](const auto& delivered) { message_seen(delivered); }),
      curve_(job, executor_, [this] { return models_now(); }),
      timeline_(make_timeline()),
      news_(job, transport_),
      end_(job, [this](double) { transport_.at(transport_.now(), [] { throw Over(); }); }),
      world_{job,    executor_, transport_,  groups_, collectives_, mailroom_,
             curve_, timeline_, step_times_, news_,   end_} {
  world_.workers = &workers_;
  world_.initial_model = make_initial_model();
  time_workload();
  world_.progress = [this](std::uint64_t step) {
    if (options_.interrupted && options_.interrupted()) throw Interrupted();
    if (options_.progress) options_.progress(step);
  };
}

Timeline Simulation::make_timeline() const {
  return Timeline({job_.record.timeline_events, job_.workers(), job_.cluster.gpus_per_node,
                   job_.cluster.device.name, job_.cluster.device.memory_bytes, job_.name,
                   job_.workload.bytes_per_parameter});
}

Values Simulation::make_initial_model() {
  if (!job_.learner) return {};
  return executor_.constant({job_.learner->initial_parameters(), {}, {}});
}

void Simulation::time_workload() {
  const Workload& workload = job_.workload;
  world_.tensors = workload.tensors();
  world_.forward_s = workload.forward_s();
  auto tensor = world_.tensors.begin();
  for (int layer = static_cast<int>(workload.layers.size()) - 1; layer >= 0; --layer) {
    world_.backward_s += workload.layers[static_cast<std::size_t>(layer)].backward_s;
    for (; tensor != world_.tensors.end() && tensor->layer == layer; ++tensor)
      world_.tensor_ready_s.push_back(world_.backward_s);
  }
}

// SimGrid aborts where it gets no stack: ask before it does.
void check_stacks(int workers) {
  const std::size_t bytes = static_cast<std::size_t>(workers) * (kStackBytes + std::size_t{8192});
  void* const space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED)
    throw RunError(fmt::format(
        "{} workers need {} of address space for their stacks, which this process does not get. Raise "
        "the limit (ulimit -v), or use fewer workers.",
        workers, human_bytes(static_cast<double>(bytes))));
  munmap(space, bytes);
}

void Simulation::spawn_workers() {
  check_stacks(job_.workers());
  for (int rank = 0; rank < job_.workers(); ++rank) {
    workers_.push_back(std::make_unique<SimWorker>(rank, world_));
    SimWorker* worker = workers_.back().get();
    simgrid::s4u::Actor::create(fmt::format("worker{}", rank), transport_.host(rank), [this, worker] {
      try {
        job_.algorithm->run(*worker);
        worker->ended();
      } catch (const simgrid::ForcefulKillException&) {
        throw;
      } catch (...) {
        // An exception must not leave an actor; it ends the run from outside, between two events.
        const std::exception_ptr failure = std::current_exception();
        transport_.at(transport_.now(), [failure] { std::rethrow_exception(failure); });
      }
    });
  }
}

void Simulation::collective_seen(const CollectiveEngine::Seen& seen) {
  Ledger& ledger = workers_[static_cast<std::size_t>(seen.rank)]->ledger();
  ledger.operation(seen.ledger_channel, seen.span);
  ledger.sent(seen.collective->traffic, seen.bytes_sent);
  if (timeline_.records(seen.rank)) {
    const auto last = std::find(seen.arrival_s->begin(), seen.arrival_s->end(), seen.span.go_s);
    const bool waited = seen.span.go_s > seen.span.start_s && last != seen.arrival_s->end();
    const std::vector<int>& members = groups_.ranks(seen.collective->group);
    timeline_.collective(
        seen.rank,
        {op_name(seen.collective->op), *seen.schedule, seen.span.start_s, seen.span.end_s,
         seen.collective->bytes, seen.group_size, seen.collective->group, seen.ledger_channel, seen.sequence,
         seen.collective->traffic,
         waited ? members[static_cast<std::size_t>(last - seen.arrival_s->begin())] : -1, seen.span.go_s});
  }
}

void Simulation::message_seen(const Mailroom::Delivered& delivered) {
  const double go = std::max(delivered.send_posted_s, delivered.receive_posted_s);
  const auto book = [&](int rank, double posted) {
    workers_[static_cast<std::size_t>(rank)]->ledger().operation(
        0, {posted, go, delivered.end_s, 0, 0, delivered.traffic});
  };
  book(delivered.from, delivered.send_posted_s);
  book(delivered.to, delivered.receive_posted_s);
  timeline_.message(delivered.from, delivered.to, go, delivered.end_s, delivered.bytes);
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
      "Deadlock at {:.6g} s of simulated time: nothing is left to happen, and these ranks wait for ever: "
      "{}.{}{} The "
      "algorithm's ranks do not agree on what they exchange.",
      transport_.now(), blocked, collectives_.unfinished(), mailroom_.unfinished());
}

std::vector<ModelAtInstant> Simulation::models_now() const {
  std::vector<ModelAtInstant> models;
  for (const auto& worker : workers_) models.push_back(worker->model_now());
  return models;
}

// SimGrid finds deadlocks where no event is left; a watch on the clock is one.
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
  transport_.watch_at(just_after(at_s), [this, number, at_s] {
    if (!anybody_goes_on()) return;
    curve_.evaluate(at_s, models_now());
    if (job_.target.stop && curve_.target_met_s()) return end_.end(at_s);
    evaluate_at(number + 1);
  });
}

void Simulation::end_by_the_clock() {
  if (end_.alone() && std::isfinite(job_.stop.time_s))
    transport_.watch_at(just_after(job_.stop.time_s), [this] {
      if (anybody_goes_on()) end_.end(job_.stop.time_s);
    });
  if (job_.learner && job_.record.evaluate_every_s > 0) evaluate_at(1);
}

void Simulation::add_workers(RunRecord& record) {
  for (const auto& worker : workers_) {
    if (end_.over_s()) worker->ledger().cut(*end_.over_s());
    record.workers.push_back(worker->ledger().record());
    record.end_s = std::max(record.end_s, record.workers.back().end_s);
  }
  if (end_.over_s()) record.end_s = *end_.over_s();
}

RunRecord Simulation::make_record() {
  RunRecord record;
  add_workers(record);
  record.step_times_s = step_times_.values();
  curve_.finish(record.end_s, record);
  std::vector<double> bytes = transport_.link_bytes();
  collectives_.add_link_bytes(bytes);
  for (std::size_t id = 0; id < bytes.size(); ++id) {
    const Link& link = job_.cluster.network.links[id];
    if (bytes[id] > 0) record.links.push_back({link.name, link.bandwidth_Bps, bytes[id]});
  }
  record.tables = std::move(world_.tables);
  for (const auto& worker : workers_)
    if (const Outages* outages = worker->outages()) add_totals(outages->totals(), record.extra);
  record.fidelities = collectives_.fidelities();
  record.events = transport_.events();
  for (const FidelityRecord& fidelity : record.fidelities) record.events += fidelity.count;
  return record;
}

SimulationResult Simulation::run() {
  simgrid::s4u::Engine::on_deadlock_cb([this] { throw RunError(deadlock()); });
  spawn_workers();
  end_by_the_clock();
  try {
    engine_->run();
  } catch (const Over&) {
  }
  RunRecord record = make_record();
  return {std::move(record), std::move(timeline_)};
}

}  // namespace

SimulationResult simulate(const Job& job, const SimulationOptions& options) {
  CHECK(job.algorithm != nullptr && job.workers() > 0, "a job needs an algorithm and workers");
  CHECK(job.workers() <= kMostSimulatedWorkers, "more workers than a process can have actors");
  // Never destroyed: after an error SimGrid's actors are still on their stacks, and after a run its statics
  // refer to us.
  auto* simulation = new Simulation(job, options);
  return simulation->run();
}

}  // namespace simsgd
