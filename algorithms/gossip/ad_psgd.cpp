// AD-PSGD: asynchronous decentralised SGD. While a worker computes, models are averaged pair by pair.
//   x_i <- x_i - eta U(g_i(x_i as it was when the gradient was begun));  meanwhile x_i, x_j <- (x_i + x_j) /
//   2
// The graph is bipartite: workers on the side of worker 0 are active, the others passive. An active worker
// sends its model to a neighbour drawn uniformly, which averages at once, in the background, and answers with
// what it had; so nobody waits for a worker that computes, and nothing can deadlock. What its own gradients
// changed meanwhile the active worker keeps: it adds half of the difference of the two models, which is the
// average followed by its own steps. Both sides take one half of the same difference, so the mean of the
// models stays as it is.
// Lian, Zhang, Zhang, Liu, "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018,
// arXiv:1710.06952, Algorithm 1. An active worker has `averagings_per_step` of them in each step, one after
// another, and ends the step when the last one has ended. Bytes per averaging: the model each way.
// After a crash a worker computes again what it lost; its neighbours go on averaging with it meanwhile.
#include "algorithms/gossip_rounds.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kOffer = 0x6170, kAnswer = 0x6171;  // tags: from an active worker, and back

Message model_message(const Worker& worker, Tensor model) {
  Message message;
  message.bytes = worker.workload().model_bytes();
  message.traffic = Traffic::model;
  message.values = std::move(model);
  message.numbers = {static_cast<double>(worker.step())};
  return message;
}

void note_age(Worker& worker, const Message& message) {
  worker.record().staleness(std::max(0.0, static_cast<double>(worker.step()) - message.numbers.at(0)));
}

/// (own + other) / 2; the same tensor on both sides where both have the same inputs.
Tensor average(Worker& worker, const Tensor& active, const Tensor& passive) {
  if (!active || !passive) return {};
  return linear_combination(worker.executor(), {0.5, 0.5}, {active, passive});
}

/// What an active worker's handlers know. Shared by run() and the handlers, which the worker keeps.
class Averagings {
 public:
  Averagings(Worker& worker, const std::vector<int>& neighbours) : worker_(worker), neighbours_(neighbours) {}

  /// Begins `count` averagings, one after another; the returned event is complete after the last.
  Handle<Nothing> begin(int count) {
    left_ = count;
    draws_ = worker_.stream(Purpose::algorithm);
    ended_ = worker_.background().make_event();
    offer();
    return ended_;
  }

  void answered(const Message& answer) {
    note_age(worker_, answer);
    const Tensor now = worker_.replica().parameters();
    if (now && now.id() == offered_.id())
      worker_.replica().set(average(worker_, offered_, answer.values));
    else if (now)
      worker_.replica().set(
          linear_combination(worker_.executor(), {1.0, 0.5, -0.5}, {now, answer.values, offered_}));
    offered_ = {};
    if (--left_ > 0)
      offer();
    else
      worker_.background().signal(ended_);
  }

 private:
  void offer() {
    const auto choice = draws_.below(static_cast<std::uint32_t>(neighbours_.size()));
    offered_ = worker_.replica().parameters();
    worker_.background().post(neighbours_[choice], kOffer, model_message(worker_, offered_));
  }

  Worker& worker_;
  const std::vector<int>& neighbours_;
  int left_ = 0;
  Stream draws_{{}};
  Handle<Nothing> ended_;
  Tensor offered_;
};

class AdPsgd final : public Algorithm {
 public:
  AdPsgd(LogicalGraph graph, int averagings_per_step)
      : graph_(std::move(graph)), sides_(graph_.sides()), averagings_per_step_(averagings_per_step) {}

  void run(Worker& worker) const override {
    if (graph_.workers < 2 || averagings_per_step_ == 0)
      run_alone(worker);
    else if (sides_[static_cast<std::size_t>(worker.rank())] == 0)
      run_active(worker);
    else
      run_passive(worker);
  }
  bool needs_others() const override { return false; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"received model", context.vector_bytes()}});
  }

 private:
  static void run_alone(Worker& worker) {
    while (worker.next_step()) worker.replica().apply(worker.compute().gradient());
  }

  void run_active(Worker& worker) const {
    const auto averagings =
        std::make_shared<Averagings>(worker, graph_.neighbours[static_cast<std::size_t>(worker.rank())]);
    worker.background().serve(kAnswer, [averagings](const Message& answer) { averagings->answered(answer); });
    while (worker.next_step()) {
      const Handle<Nothing> ended = averagings->begin(averagings_per_step_);
      worker.replica().apply(worker.compute().gradient());
      worker.wait(ended);
    }
  }

  static void run_passive(Worker& worker) {
    worker.background().serve(kOffer, [&worker](const Message& offer) {
      note_age(worker, offer);
      const Tensor own = worker.replica().parameters();
      worker.replica().set(average(worker, offer.values, own));
      worker.background().post(offer.from, kAnswer, model_message(worker, own));
    });
    run_alone(worker);
  }

  LogicalGraph graph_;
  std::vector<char> sides_;
  int averagings_per_step_;
};

struct AdPsgdOptions {
  RawValue graph;
  int averagings_per_step = 1;

  void fields(Fields& f) {
    graph_field(f, graph);
    f.whole("averagings_per_step", averagings_per_step,
            "An active worker begins this many averagings in each step; with 0 every worker trains alone");
  }
};

MadeAlgorithm make_ad_psgd(const AdPsgdOptions& options, const AlgorithmContext& context) {
  const LogicalGraph& graph = *context.graph;
  if (context.workers > 1 && graph.sides().empty()) {
    const bool ring = graph.name == "ring";
    reject(
        "graph/name",
        ring
            ? "is a ring of " + std::to_string(context.workers) +
                  " workers, an odd number, so active and passive workers cannot alternate and averaging could deadlock"
            : "has a cycle of odd length, so its workers cannot be split into active and passive ones and averaging could deadlock",
        ring ? "Use an even number of workers" : "Use a ring with an even number of workers, or a hypercube");
  }
  return std::make_unique<AdPsgd>(graph, options.averagings_per_step);
}

}  // namespace

std::vector<AlgorithmPlugin> ad_psgd() {
  return {{{.name = "ad_psgd",
            .summary =
                "asynchronous decentralised SGD: pairs of workers average while they compute, nobody waits",
            .citation = "Lian et al., ICML 2018, arXiv:1710.06952"},
           "the model, once for each averaging that a worker takes part in",
           {.sends = {Traffic::model}},
           make_ad_psgd}};
}

}  // namespace simsgd::algorithms
