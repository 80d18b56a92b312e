// WAGMA-SGD: wait-avoiding group model averaging.
//   W'_t = W_t + U(g(W_t))                          each worker by itself; momentum stays local
//   (t + 1) mod period != 0:  sum of the group's W' by a wait-avoiding all-reduce
//     fresh (it used this W'_t):  W_{t+1} = sum / S
//     stale (it had run with an older W'):  W_{t+1} = (sum + W'_t) / (S + 1), sum the latest one received
//   else:                     W_{t+1} = mean of W'_t over all workers, blocking
// Li, Ben-Nun, Nadiradze, Di Girolamo, Dryden, Alistarh, Hoefler, IEEE TPDS 32(7), 2021, Algorithm 2,
// arXiv:2005.00124. Groups: butterfly.hpp. What a worker gives is the W' of its last iteration, also to
// operations that run before it comes. Bytes per worker and step: log2 S models, and log2 P models in every
// period-th step (recursive doubling, as measured there).
// After a crash a worker computes again what it lost; the others go on with what it gave last, until the next
// global averaging, where they wait.
#include <fmt/format.h>

#include "algorithms/plugin.hpp"
#include "algorithms/wait_avoiding/wait_avoiding.hpp"

namespace simsgd::algorithms {

namespace {

constexpr ChannelId kGlobalChannel = 0, kGroupChannel = 1;
constexpr int kWagmaActivation = 0x57A6;

struct WagmaOptions {
  std::optional<int> group_size;
  std::uint64_t period = 10;
  bool dynamic = true;
  Initiator initiator = Initiator::solo;
  std::string schedule = "recursive_doubling";

  void fields(Fields& f) {
    f.whole("group_size", group_size,
            "Workers that average together in a step, a power of two; 1 is local SGD")
        .at_least(1)
        .at_most(1 << 20)
        .by_rule("2^ceil(log2(workers) / 2), the square root where that is one");
    f.whole("period", period, "All workers average every this many steps").at_least(1);
    f.choice("groups", dynamic, {{"dynamic", true}, {"fixed", false}},
             "Whether the groups change from step to step (dynamic) or never (fixed)");
    activation_field(f, initiator);
    all_reduce_field(f, schedule);
  }
  void complete(const AlgorithmContext& context) {
    if (!group_size) group_size = 1 << (ceil_log2(context.workers) + 1) / 2;
  }
};

// The iteration, from 0, of the group operation number `version`: those that synchronise globally have none.
std::uint64_t iteration_of(std::uint64_t version, std::uint64_t period) {
  return version + version / (period - 1);
}

// What one worker gives to the group operations, and which they are.
class Averaging {
 public:
  Averaging(Worker& worker, const WagmaOptions& options)
      : worker_(worker),
        options_(options),
        model_bytes_(worker.workload().model_bytes()),
        given_(worker.replica().parameters()) {
    const std::uint64_t cycle = options.dynamic ? butterfly_cycle(worker.size(), *options.group_size) : 1;
    for (std::uint64_t t = 0; t < cycle; ++t)
      groups_.push_back(
          worker.collectives().group(butterfly_group(worker.rank(), worker.size(), *options.group_size, t)));
  }

  /// The worker has done its local update of this step.
  void give(Tensor model) {
    given_ = std::move(model);
    given_in_ = worker_.step();
  }

  AllReduce part(std::uint64_t version) {
    const std::uint64_t iteration = iteration_of(version, options_.period);
    worker_.record().staleness(static_cast<double>(iteration + 1) - static_cast<double>(given_in_));
    AllReduce collective = model_sum(kGroupChannel);
    collective.group = groups_[iteration % groups_.size()];
    return collective;
  }

  Tensor global_mean() {
    AllReduce collective = model_sum(kGlobalChannel);
    collective.scale = 1.0 / worker_.size();
    return worker_.collectives().run(std::move(collective));
  }

 private:
  AllReduce model_sum(ChannelId channel) const {
    AllReduce collective;
    collective.bytes = model_bytes_;
    collective.traffic = Traffic::model;
    collective.contribution = given_;
    collective.channel = channel;
    collective.schedule = asked_schedule(options_.schedule);
    return collective;
  }

  Worker& worker_;
  const WagmaOptions& options_;
  double model_bytes_;
  Tensor given_;                // the send buffer
  std::uint64_t given_in_ = 0;  // step; 0: the initial model
  std::vector<GroupId> groups_;
};

class Wagma final : public Algorithm {
 public:
  explicit Wagma(const WagmaOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    Averaging averaging(worker, options_);
    WaitAvoiding groups(worker, {options_.initiator, kWagmaActivation},
                        [&](std::uint64_t version, bool) { return averaging.part(version); });
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      averaging.give(worker.replica().parameters());
      if (worker.step() % options_.period == 0)
        worker.replica().set(averaging.global_mean());
      else if (*options_.group_size > 1)
        worker.replica().set(average(worker, groups.call()));
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"send and receive buffers", 2 * context.vector_bytes()}});
  }

 private:
  Tensor average(Worker& worker, const WaitAvoiding::Outcome& outcome) const {
    const double members = *options_.group_size;
    if (outcome.fresh) return linear_combination(worker.executor(), {1.0}, {outcome.result}, 1 / members);
    return linear_combination(worker.executor(), {1.0, 1.0},
                              {outcome.seen_result, worker.replica().parameters()}, 1 / (members + 1));
  }

  WagmaOptions options_;
};

void check(const WagmaOptions& options, int workers) {
  const int below = power_of_two_below(workers);
  if (below != workers)
    reject("name", fmt::format("needs a power of two of workers, and this run has {}", workers),
           fmt::format("Use {} or {} workers", below, 2 * below));
  const int size = *options.group_size, smaller = power_of_two_below(size);
  if (size > workers)
    reject("group_size", fmt::format("is more than the number of workers, {}", workers),
           fmt::format("Use a power of two up to {}, or leave it out", workers));
  if (smaller != size)
    reject("group_size", "is not a power of two",
           2 * smaller <= workers ? fmt::format("Use {} or {}", smaller, 2 * smaller)
                                  : fmt::format("Use {}", smaller));
}

MadeAlgorithm make_wagma(const WagmaOptions& options, const AlgorithmContext& context) {
  check(options, context.workers);
  note_overlap(context);
  return std::make_unique<Wagma>(options);
}

}  // namespace

std::vector<AlgorithmPlugin> wagma() {
  return {{{.name = "wagma",
            .summary = "models are averaged in changing groups, without waiting for late workers",
            .citation = "Li et al., IEEE TPDS 32(7), 2021, arXiv:2005.00124"},
           "log2 S models, and log2 P models every `period` steps",
           {.sends = {Traffic::model}},
           make_wagma}};
}

}  // namespace simsgd::algorithms
