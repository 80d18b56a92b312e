// Non-blocking SGD: a worker's batch is cut into M micro-batches, and the model is updated from those that
// are finished when a trigger ends the round, so that nobody waits for the slowest worker's whole batch.
//   round k, worker i:  G_i = sum of the gradients of c_i <= M micro-batches, all at the same x_i;
//                       then the update of round_update.hpp: over an all-reduce, D-PSGD or MATCHA
// "Non-blocking mini-batches": its abstract, and a reconstruction with every open choice as an option
// (docs/papers/nonblocking.md). At equal times a completion comes before SYNC, and the next micro-batch has
// then begun. "trigger": "none" is the blocking method, and so is M = 1 with "preempt": "finish". After a
// crash a worker over an all-reduce recomputes what it lost while the others wait; over D-PSGD and MATCHA it
// goes on with its checkpoint. Bytes per worker and round: those of the exchange, and SYNC, which has none.
#include "algorithms/nonblocking/nonblocking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace simsgd {

namespace {

class NonblockingSgd final : public Algorithm {
 public:
  /// `gossip`: null for an all-reduce.
  NonblockingSgd(const NonblockingOptions& options, std::unique_ptr<const GossipRounds> gossip)
      : options_(options), gossip_(std::move(gossip)) {}

  void run(Worker& worker) const override {
    const auto most = static_cast<std::uint64_t>(options_.round.micro_batches);
    RoundTrigger trigger(worker, options_.trigger);
    const std::unique_ptr<RoundUpdate> update = gossip_ ? update_over_gossip(worker, options_.round, *gossip_)
                                                        : update_over_allreduce(worker, options_.round);
    worker.compute().recover_by(gossip_ ? Recovery::rejoin : Recovery::recompute);
    std::uint64_t next = 0;  // of the worker's micro-batches, M of each batch
    while (worker.next_step()) {
      if (!options_.carry) next = (worker.step() - 1) * most;
      const std::vector<Tensor> gradients = compute(worker, trigger, next);
      next += gradients.size();
      update->apply(gradients);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"sum of micro-batches' gradients", context.vector_bytes()}});
  }

 private:
  // The gradients of the micro-batches from number `next` on that are finished before the round ends.
  std::vector<Tensor> compute(Worker& worker, RoundTrigger& trigger, std::uint64_t next) const {
    const auto most = static_cast<std::size_t>(options_.round.micro_batches);
    std::vector<Tensor> gradients;
    const Handle<Nothing> over = trigger.begin(worker.step());
    if (over && worker.done(over)) return gradients;
    GradientOptions options;
    for (; gradients.size() < most; ++next) {
      options.part = {static_cast<int>(next % most), options_.round.micro_batches};
      options.batch = next / most + 1;
      const Handle<RunningGradient> gradient = worker.preemption().start(options);
      const bool cut_short = over && worker.wait_any(std::array<Awaited, 2>{gradient, over}) == 1;
      if (cut_short && options_.drop) {
        worker.preemption().cancel(gradient);
        return gradients;
      }
      worker.wait(gradient);
      gradients.push_back(worker.preemption().take(gradient));
      if (cut_short) return gradients;
    }
    trigger.finished();
    return gradients;
  }

  NonblockingOptions options_;
  std::unique_ptr<const GossipRounds> gossip_;
};

// What every worker averages with whom, if it is not an all-reduce. What belongs to one synchroniser alone is
// refused with another.
std::unique_ptr<const GossipRounds> gossip_of(const NonblockingOptions& options,
                                              const AlgorithmContext& context) {
  const GivenRoundsOptions& given = options.gossip;
  const auto belongs = [&options](const char* key, bool there, RoundsOver to, const char* over) {
    if (there && options.over != to)
      reject(key, fmt::format("applies only with \"over\": \"{}\"", over),
             fmt::format("Leave it out, or set \"over\": \"{}\"", over));
  };
  belongs("weights", given.weights.has_value(), RoundsOver::d_psgd, "d_psgd");
  belongs("budget", given.budget.has_value(), RoundsOver::matcha, "matcha");
  belongs("probabilities", given.probabilities.has_value(), RoundsOver::matcha, "matcha");
  if (options.over == RoundsOver::d_psgd)
    return std::make_unique<NeighbourRounds>(given.of_neighbours().rounds(*context.graph, *context.workload));
  if (options.over == RoundsOver::matcha)
    return std::make_unique<MatchingRounds>(
        given.of_matchings().rounds(*context.graph, *context.workload, context.seed));
  const auto meaningless = [](const char* key, bool there) {
    if (there)
      reject(key, "has no effect with \"over\": \"allreduce\"",
             "Leave it out, or set \"over\" to \"d_psgd\" or \"matcha\"");
  };
  meaningless("alpha", given.alpha.has_value());
  meaningless("coupling", given.coupling.has_value());
  return nullptr;
}

}  // namespace

void NonblockingOptions::fields(Fields& f) {
  using Over = RoundsOver;
  trigger.fields(f);
  f.choice("over", over, {{"allreduce", Over::allreduce}, {"d_psgd", Over::d_psgd}, {"matcha", Over::matcha}},
           "How a round is exchanged: among all workers (allreduce), or with neighbours in a graph");
  graph_field(f, graph);
  gossip.fields(f);
  round.fields(f);
  f.choice("preempt", drop, {{"finish", false}, {"drop", true}},
           "What happens to the micro-batch in progress when the round ends: it is finished, or dropped");
  f.flag("carry", carry, "Whether micro-batches that a round leaves undone are done in the next one");
}

MadeAlgorithm make_nonblocking(const NonblockingOptions& options, const AlgorithmContext& context) {
  if (context.learner && context.learner->batch() < options.round.micro_batches)
    reject("micro_batches",
           fmt::format("is more than the {} samples of the learner's batch", context.learner->batch()),
           fmt::format("Give at most {}, or raise /learner/batch", context.learner->batch()));
  options.trigger.check(context.workers);
  return std::make_unique<NonblockingSgd>(options, gossip_of(options, context));
}

}  // namespace simsgd

namespace simsgd::algorithms {

std::vector<AlgorithmPlugin> nonblocking() {
  return {
      {{.name = "nonblocking",
        .summary =
            "the model is updated from the micro-batches that are finished when the first worker is through",
        .citation = "Non-blocking mini-batches (abstract, and a reconstruction: docs/papers/nonblocking.md)"},
       "one exchange of the gradient (over: allreduce) or of the model (d_psgd, matcha)",
       {.sends = {Traffic::gradient, Traffic::model}},
       make_nonblocking}};
}

}  // namespace simsgd::algorithms

namespace simsgd {

namespace {
constexpr int kSyncTag = 0x5C00, kReportTag = 0x5C01;
}

void TriggerSettings::fields(Fields& f) {
  f.choice(
      "trigger", rule,
      {{"none", Rule::none}, {"first", Rule::first}, {"deadline", Rule::deadline}, {"kth", Rule::kth}},
      "What ends a round: the first worker that finishes it (first), the k-th (kth), a time (deadline), or the last worker (none: blocking)");
  f.time("deadline", deadline_s, "A round ends after this time; for \"trigger\": \"deadline\"").above(0);
  f.whole("k", k, "A round ends when this many workers have finished; for \"trigger\": \"kth\"").at_least(1);
}

void TriggerSettings::check(int workers) const {
  const auto belongs = [this](const char* key, bool given, Rule to, const char* trigger) {
    if (rule == to && !given)
      reject("trigger", fmt::format("needs \"{}\"", key), fmt::format("Add \"{}\"", key));
    if (rule != to && given)
      reject(key, fmt::format("applies only with \"trigger\": \"{}\"", trigger),
             fmt::format("Leave it out, or set \"trigger\": \"{}\"", trigger));
  };
  belongs("deadline", deadline_s.has_value(), Rule::deadline, "deadline");
  belongs("k", k.has_value(), Rule::kth, "kth");
  if (k && *k > workers)
    reject("k", fmt::format("is more than the number of workers, {}", workers),
           fmt::format("Give at most {}", workers));
}

class RoundTrigger::Rank : public std::enable_shared_from_this<RoundTrigger::Rank> {
 public:
  Rank(Worker& worker, const TriggerSettings& settings) : worker_(worker), settings_(settings) {}

  // Apart from the constructor, because the handlers share this object.
  void listen() {
    using Rule = TriggerSettings::Rule;
    if (settings_.rule != Rule::first && settings_.rule != Rule::kth) return;
    activation_.emplace(worker_, kSyncTag, [rank = weak_from_this()](std::uint64_t round) {
      if (const auto self = rank.lock()) self->heard(round);
    });
    if (settings_.rule == Rule::kth && worker_.rank() == 0)
      worker_.background().serve(kReportTag, [self = shared_from_this()](const Message& message) {
        self->count(static_cast<std::uint64_t>(message.numbers[0]));
      });
  }

  Handle<Nothing> begin(std::uint64_t round) {
    round_ = round;
    if (settings_.rule == TriggerSettings::Rule::none) return {};
    if (settings_.rule == TriggerSettings::Rule::deadline)
      return worker_.background().start_timer(settings_.deadline_s.value());
    over_ = worker_.background().make_event();
    if (heard_ >= round_) worker_.background().signal(over_);
    return over_;
  }

  void finished() {
    if (heard_ >= round_) return;
    if (settings_.rule == TriggerSettings::Rule::first) {
      activation_->announce(round_);
    } else if (settings_.rule == TriggerSettings::Rule::kth) {
      if (worker_.rank() == 0) return count(round_);
      Message report;
      report.numbers = {static_cast<double>(round_)};
      worker_.background().post(0, kReportTag, std::move(report));
    }
  }

 private:
  void heard(std::uint64_t round) {
    heard_ = std::max(heard_, round);
    if (over_ && heard_ >= round_) worker_.background().signal(over_);
  }

  // Rank 0: one more has finished.
  void count(std::uint64_t round) {
    if (++reports_[round] == settings_.k.value()) activation_->announce(round);
    if (reports_[round] == worker_.size()) reports_.erase(round);
  }

  Worker& worker_;
  TriggerSettings settings_;
  std::optional<Activation> activation_;
  std::uint64_t heard_ = 0;  // rounds that are over
  std::uint64_t round_ = 0;  // that this rank is in
  Handle<Nothing> over_;     // signalled when round_ is over
  std::map<std::uint64_t, int> reports_;
};

RoundTrigger::RoundTrigger(Worker& worker, const TriggerSettings& settings)
    : rank_(std::make_shared<Rank>(worker, settings)) {
  rank_->listen();
}

Handle<Nothing> RoundTrigger::begin(std::uint64_t round) { return rank_->begin(round); }

void RoundTrigger::finished() { rank_->finished(); }

namespace {

// weight * the sum of the gradients (zeros if there are none), and `last` as one entry more where asked for.
Tensor weighted_sum(Worker& worker, const std::vector<Tensor>& gradients, double weight,
                    const float* last = nullptr) {
  const std::size_t size = worker.replica().size();
  if (size == 0) return {};
  const bool extended = last != nullptr;
  const float entry = extended ? *last : 0;
  return worker.executor().submit(gradients, [=](TensorData& out, auto in) {
    out.values.assign(size, 0);
    for (const TensorData* gradient : in)
      for (std::size_t i = 0; i < size; ++i) out.values[i] += gradient->values[i];
    if (weight != 1)
      for (float& value : out.values) value *= static_cast<float>(weight);
    if (extended) out.values.push_back(entry);
  });
}

double own_weight(const RoundSettings& settings, std::size_t finished) {
  if (settings.weighting == Weighting::sample || finished == 0) return 1;
  return 1 / static_cast<double>(finished);
}

class UpdateOverAllreduce final : public RoundUpdate {
 public:
  UpdateOverAllreduce(Worker& worker, const RoundSettings& settings) : worker_(worker), settings_(settings) {}

  void apply(const std::vector<Tensor>& gradients) override {
    const bool by_sample = settings_.weighting == Weighting::sample;
    const auto finished = static_cast<float>(gradients.size());
    const float counted = by_sample ? finished : std::min(finished, 1.0F);
    AllReduce collective;
    collective.bytes = worker_.workload().model_bytes() + worker_.workload().bytes_per_parameter;
    collective.part.exact = 1;  // how many
    collective.contribution =
        weighted_sum(worker_, gradients, own_weight(settings_, gradients.size()), &counted);
    if (by_sample) collective.scale = 1.0 / (static_cast<double>(worker_.size()) * settings_.micro_batches);
    const Handle<Tensor> handle = worker_.collectives().start(std::move(collective));
    worker_.wait(handle);
    worker_.replica().apply(by_sample
                                ? slice(worker_.executor(), handle.result(), 0, worker_.replica().size())
                                : over_count(handle.result()));
  }

 private:
  // The entries over the last one, which counts the workers that gave something.
  Tensor over_count(const Tensor& sum) const {
    if (!sum) return {};
    return worker_.executor().submit_shared("over_count", {}, {sum}, [](TensorData& out, auto in) {
      out.values = in[0]->values;
      const float count = out.values.back();
      out.values.pop_back();
      if (count > 0)
        for (float& value : out.values) value /= count;
    });
  }

  Worker& worker_;
  RoundSettings settings_;
};

class UpdateOverGossip final : public RoundUpdate {
 public:
  UpdateOverGossip(Worker& worker, const RoundSettings& settings, const GossipRounds& gossip)
      : worker_(worker), settings_(settings), gossip_(gossip) {}

  void apply(const std::vector<Tensor>& gradients) override {
    const double weight = settings_.weighting == Weighting::sample ? 1.0 / settings_.micro_batches
                                                                   : own_weight(settings_, gradients.size());
    const Tensor gradient = weighted_sum(worker_, gradients, weight);
    if (gossip_.steps_before_mixing()) worker_.replica().apply(gradient);
    worker_.replica().set(gossip_.mix(worker_, worker_.step(), worker_.replica().parameters()));
    if (!gossip_.steps_before_mixing()) worker_.replica().apply(gradient);
  }

 private:
  Worker& worker_;
  RoundSettings settings_;
  const GossipRounds& gossip_;
};

}  // namespace

void RoundSettings::fields(Fields& f) {
  f.whole("micro_batches", micro_batches, "Micro-batches into which a worker's batch is cut")
      .at_least(1)
      .at_most(1024);
  f.choice(
      "weighting", weighting, {{"sample", Weighting::sample}, {"worker", Weighting::worker}},
      "The update is the mean over finished samples, scaled by their share of the batch (sample), or the mean of the workers' own means (worker)");
}

std::unique_ptr<RoundUpdate> update_over_allreduce(Worker& worker, const RoundSettings& settings) {
  return std::make_unique<UpdateOverAllreduce>(worker, settings);
}

std::unique_ptr<RoundUpdate> update_over_gossip(Worker& worker, const RoundSettings& settings,
                                                const GossipRounds& gossip) {
  return std::make_unique<UpdateOverGossip>(worker, settings, gossip);
}

}  // namespace simsgd
