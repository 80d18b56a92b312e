// HALoS: asynchronous local SGD with two levels of servers. Workers tell the local server of their region how
// far they went, and go on from what it has then; after K differences a local server tells the global one how
// far it went, goes on serving, and mixes in what that answers.
//   worker i: D = theta_i - x_i after H steps from theta_i, its last answer;  x_i <- theta_i <- the next
//   answer
//   local server: y <- y less D, by delayed Nesterov momentum; after K differences since z was set: send z -
//   y global server: g <- g less what came, by delayed Nesterov momentum; answer g local server, at g: y <-
//   (1 - alpha) y + alpha g;  z <- y
// What a local server takes over between the two is not in z - y: with alpha < 1 a share of it stays in the
// region. Kim, Li, Gandham, Baldonado, Gangidi, Balaji, Wang, Akella, "HALoS", ICML 2025, arXiv:2506.04531,
// Algorithm 1 as in its published simulator (github.com/utnslab/halos, src/halos/simulation/exec_halos.py),
// from whose examples/run_halos.sh the defaults are. Its steps dealt by speed are left out: every worker does
// H. Regions are of consecutive ranks; a local server is on the first rank of its region, the global one on
// rank 0; their own worker's differences need no message, and serving takes no time. Bytes per worker and H
// steps: the model to the local server and back; per local server and K of these the model to rank 0 and
// back. After a crash a worker computes again what it lost; servers serve the others meanwhile.
#include <fmt/format.h>

#include <cmath>

#include "algorithms/low_communication/outer_nesterov.hpp"
#include "algorithms/low_communication/served_workers.hpp"
#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kFromRegion = 0x6861, kToRegion = 0x6862;  // tags: to the global server, and back

struct HalosOptions {
  int inner_steps = 8, accumulate = 32;
  double merge = 0.25;
  double local_rate = 0.2, local_momentum = 0.9, global_rate = 0.15, global_momentum = 0.5;
  int local_delay = 16, global_delay = 2;
  std::optional<int> regions;

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: steps that a worker trains before it sends a difference")
        .at_least(1);
    f.whole("regions", regions, "Consecutive workers form this many groups, each with a local server")
        .at_least(1)
        .by_rule("the root of the number of workers, rounded down");
    f.whole("accumulate", accumulate,
            "K: a local server reports to the global one after this many differences")
        .at_least(1);
    f.number("merge", merge, "alpha: a local server mixes in this share of the global model")
        .at_least(0)
        .at_most(1);
    f.number("local_rate", local_rate, "A local server applies this share of a difference").above(0);
    f.number("local_momentum", local_momentum, "Local servers keep this much of their momentum")
        .at_least(0)
        .below(1);
    f.whole("local_delay", local_delay, "A local momentum is updated once in this many differences")
        .at_least(1);
    f.number("global_rate", global_rate, "The global server applies this share of a difference").above(0);
    f.number("global_momentum", global_momentum, "The global server keeps this much of its momentum")
        .at_least(0)
        .below(1);
    f.whole("global_delay", global_delay, "The global momentum is updated once in this many differences")
        .at_least(1);
  }
  void complete(const AlgorithmContext& context) {
    if (!regions) regions = static_cast<int>(std::sqrt(context.workers));
  }

  /// `rate` is of one difference: eps of delayed Nesterov momentum is N times as much.
  static DelayedNesterovSettings server(double rate, double momentum, int delay) {
    return {.rate = rate * delay, .momentum = momentum, .delay = delay};
  }
};

/// What a region's server has. Shared by its rank's run() and the handlers that its worker keeps.
class LocalServer {
 public:
  LocalServer(const HalosOptions& options, const Tensor& model)
      : accumulate_(static_cast<std::uint64_t>(options.accumulate)),
        merge_(options.merge),
        server_(HalosOptions::server(options.local_rate, options.local_momentum, options.local_delay), model),
        merged_(model) {}

  /// Whether the global server is to be told now.
  bool take(Executor& executor, const Tensor& difference) {
    server_.take(executor, difference);
    return server_.taken() == merged_at_ + accumulate_;
  }
  Tensor gone(Executor& executor) const {
    return merged_ ? linear_combination(executor, {1.0, -1.0}, {merged_, server_.model()}) : Tensor();
  }
  void merge(Executor& executor, const Tensor& global) {
    if (global)
      server_.set_model(linear_combination(executor, {1 - merge_, merge_}, {server_.model(), global}));
    merged_ = server_.model();
    merged_at_ = server_.taken();
  }
  ServedModel served() const { return {server_.model(), server_.taken()}; }

 private:
  std::uint64_t accumulate_;
  double merge_;
  DelayedNesterov server_;
  Tensor merged_;                // z
  std::uint64_t merged_at_ = 0;  // differences taken over by then
};

class Halos final : public Algorithm {
 public:
  explicit Halos(const HalosOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    const Tensor model = worker.replica().parameters();
    const auto local = std::make_shared<LocalServer>(options_, model);
    const auto global = std::make_shared<DelayedNesterov>(
        HalosOptions::server(options_.global_rate, options_.global_momentum, options_.global_delay), model);
    const int server = first_of_region(worker);
    if (worker.rank() == 0)
      worker.background().serve(kFromRegion, [global, &worker](const Message& message) {
        global->take(worker.executor(), message.values);
        worker.background().post(message.from, kToRegion, model_sized(worker, global->model()));
      });
    else if (worker.rank() == server)
      worker.background().serve(kToRegion, [local, &worker](const Message& message) {
        local->merge(worker.executor(), message.values);
      });
    run_served(worker, options_.inner_steps, server,
               [local, global, &worker](const Tensor& difference) -> ServedModel {
                 if (local->take(worker.executor(), difference)) tell_global(worker, *local, *global);
                 return local->served();
               });
  }
  bool needs_others() const override { return false; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // A worker's start; model, momentum, sum and z of a local server; model, momentum and sum of the global
    // one.
    return replica_memory_and(context, {{"start and, on rank 0, two servers", 8 * context.vector_bytes()}});
  }

 private:
  /// The rank of the local server. Region r of R is of the ranks from floor(r P / R) on.
  int first_of_region(const Worker& worker) const {
    const int regions = *options_.regions, size = worker.size();
    const int region = (worker.rank() * regions + regions - 1) / size;
    return region * size / regions;
  }
  static void tell_global(Worker& worker, LocalServer& local, DelayedNesterov& global) {
    const Tensor gone = local.gone(worker.executor());
    if (worker.rank() != 0) return worker.background().post(0, kFromRegion, difference_of(worker, gone));
    global.take(worker.executor(), gone);
    local.merge(worker.executor(), global.model());
  }

  HalosOptions options_;
};

MadeAlgorithm make_halos(const HalosOptions& options, const AlgorithmContext& context) {
  if (*options.regions > context.workers)
    reject("regions", fmt::format("is more than the number of workers, {}", context.workers),
           fmt::format("Use at most {}", context.workers));
  return std::make_unique<Halos>(options);
}

}  // namespace

std::vector<AlgorithmPlugin> halos() {
  return {{{.name = "halos",
            .summary = "asynchronous local SGD with a server in each region, and one for these servers",
            .citation = "Kim et al., ICML 2025, arXiv:2506.04531"},
           "the model to the region's server and back every H steps; of each K from there to rank 0 and back",
           {.sends = {Traffic::model}, .interval = "inner_steps"},
           make_halos}};
}

}  // namespace simsgd::algorithms
