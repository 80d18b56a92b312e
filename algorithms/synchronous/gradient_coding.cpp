// Gradient coding: every part of the data is with s + 1 workers, so that the whole gradient is there without
// the s slowest.
//   blocks of s + 1 workers hold the mini-batches of all their ranks (fractional repetition)
//   worker i:  c_i = sum of the gradients g_j(x) of its block's mini-batches j, to the master
//   master:    once one of each block has come, whichever: x <- x - eta U(1/P sum of these c), to everybody
// Tandon, Lei, Dimakis, Karampatziakis, "Gradient Coding: Avoiding Stragglers in Distributed Learning", ICML
// 2017, arXiv:1612.03301, section 4.1, told from memory. Any P - s workers have one of each block; the master
// does not wait until P - s have come where fewer do. What comes later is ignored, and a worker drops what it
// computes when the next model comes; without that it would stay late. The master is on rank 0, in the memory
// of its host: it adds up at the host's rate of reduction, U is part of that, and its own worker needs no
// message. A worker computes s + 1 mini-batches in a step, its own one first, and all workers together learn
// what allreduce_sgd learns. Bytes per worker and step: the model to the master, unless dropped, and back.
// After a crash a worker computes again what it lost; others wait only for the last one of its block.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kSum = 0x6763, kUpdated = 0x6764;  // tags: to the master, and back

struct GradientCodingOptions {
  int stragglers = 1;

  void fields(Fields& f) {
    f.whole("stragglers", stragglers,
            "s: nobody waits for the s slowest workers, and each computes s + 1 mini-batches")
        .at_least(0);
  }
};

/// What is known of the newest model. Shared by run() and the handlers, which the worker keeps.
struct Newest {
  std::uint64_t step = 0;  ///< whose update it has
  Tensor model;
  std::uint64_t awaited = 0;
  Handle<Nothing> over;  ///< signalled once the awaited step's update is there

  void come(Worker& worker, std::uint64_t of, const Tensor& parameters) {
    step = of;
    model = parameters;
    if (over && step >= awaited) worker.background().signal(over);
  }
  void await(Worker& worker) {
    awaited = worker.step();
    over = worker.background().make_event();
    if (step >= awaited) worker.background().signal(over);
  }
};

/// Lives on rank 0, beside its worker.
class Master : public std::enable_shared_from_this<Master> {
 public:
  using Update = std::function<void(std::uint64_t step, const Tensor& parameters)>;
  Master(Worker& worker, std::size_t blocks, double add_s, Update update)
      : worker_(worker),
        state_{worker.replica().parameters(), {}},
        update_(std::move(update)),
        add_s_(add_s),
        sums_(blocks),
        there_(blocks, false) {}

  void take(std::size_t block, std::uint64_t step, const Tensor& sum) {
    if (step != step_ || there_[block]) return;
    there_[block] = true;
    sums_[block] = sum;
    free_s_ = std::max(free_s_, worker_.now()) + add_s_;
    if (std::count(there_.begin(), there_.end(), false) == 0)
      worker_.background().then(worker_.background().start_timer(free_s_ - worker_.now()),
                                [self = shared_from_this()] { self->decode(); });
  }

 private:
  void decode() {
    Executor& executor = worker_.executor();
    if (sums_.front())
      state_ = worker_.replica().optimizer().step(
          executor, step_, state_,
          linear_combination(executor, std::vector<double>(sums_.size(), 1.0), sums_, 1.0 / worker_.size()));
    there_.assign(there_.size(), false);
    update_(step_++, state_.parameters);
  }

  Worker& worker_;
  ReplicaState state_;
  Update update_;
  double add_s_, free_s_ = 0;  // of a sum; when it will have added up all that came
  std::uint64_t step_ = 1;
  std::vector<Tensor> sums_;  // of the step, by block
  std::vector<bool> there_;
};

class GradientCoding final : public Algorithm {
 public:
  GradientCoding(const GradientCodingOptions& options, const AlgorithmContext& context)
      : block_(options.stragglers + 1) {
    if (context.cluster == nullptr) return;
    const Cost& reduce = context.cluster->host.reduce_s_per_byte;
    note_cluster_cost(context, reduce, "adding up gradients on the master takes no time", "host.reduce");
    add_s_ = reduce * context.workload->model_bytes();
  }

  void run(Worker& worker) const override {
    const auto newest = std::make_shared<Newest>();
    worker.background().serve(kUpdated, [newest, &worker](const Message& message) {
      newest->come(worker, static_cast<std::uint64_t>(message.numbers.at(0)), message.values);
    });
    const std::shared_ptr<Master> master = worker.rank() == 0 ? serve(worker, newest) : nullptr;
    while (worker.next_step()) {
      newest->await(worker);
      if (const std::vector<Tensor> parts = compute(worker, newest->over); !parts.empty()) {
        Message sum = message_of(worker, Traffic::gradient, worker.step());
        if (parts.front())
          sum.values = linear_combination(worker.executor(), std::vector<double>(parts.size(), 1.0), parts);
        if (master)
          master->take(0, worker.step(), sum.values);
        else
          worker.background().post(0, kSum, std::move(sum));
      }
      worker.wait(newest->over);
      if (newest->model) worker.replica().set(newest->model);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // The optimizer's state is the master's, in the memory of its host.
    std::vector<MemoryPart> parts =
        replica_memory_and(context, {{"sum of the parts' gradients", context.vector_bytes()},
                                     {"received model", context.vector_bytes()}});
    std::erase_if(parts, [](const MemoryPart& part) { return part.name == "optimizer state"; });
    return parts;
  }

 private:
  /// The gradients of the block's parts, in the order of their ranks; none once the step is over.
  std::vector<Tensor> compute(Worker& worker, const Handle<Nothing>& over) const {
    const int own = worker.rank() % block_, first = worker.rank() - own;
    std::vector<Tensor> parts(static_cast<std::size_t>(block_));
    for (int i = 0; i < block_; ++i) {
      const int part = (own + i) % block_;
      GradientOptions options;
      options.part.rank = first + part;
      const Handle<RunningGradient> gradient = worker.preemption().start(options);
      if (worker.wait_any(std::array<Awaited, 2>{gradient, over}) == 1) {
        worker.preemption().cancel(gradient);
        if (i == 0) worker.compute().use({}, {});  // its mini-batch, by another worker
        return {};
      }
      parts[static_cast<std::size_t>(part)] = worker.preemption().take(gradient);
    }
    return parts;
  }
  static Message message_of(const Worker& worker, Traffic traffic, std::uint64_t step) {
    Message message;
    message.bytes = worker.workload().model_bytes();
    message.traffic = traffic;
    message.numbers = {static_cast<double>(step)};
    return message;
  }
  std::shared_ptr<Master> serve(Worker& worker, const std::shared_ptr<Newest>& newest) const {
    const auto update = [newest, &worker](std::uint64_t step, const Tensor& parameters) {
      for (int rank = 1; rank < worker.size(); ++rank) {
        Message updated = message_of(worker, Traffic::model, step);
        updated.values = parameters;
        worker.background().post(rank, kUpdated, std::move(updated));
      }
      newest->come(worker, step, parameters);
    };
    const auto master =
        std::make_shared<Master>(worker, static_cast<std::size_t>(worker.size() / block_), add_s_, update);
    worker.background().serve(kSum, [master, block = block_](const Message& message) {
      master->take(static_cast<std::size_t>(message.from / block),
                   static_cast<std::uint64_t>(message.numbers.at(0)), message.values);
    });
    return master;
  }

  int block_;  // workers
  double add_s_ = 0;
};

MadeAlgorithm make_gradient_coding(const GradientCodingOptions& options, const AlgorithmContext& context) {
  if (options.stragglers >= context.workers)
    reject("stragglers", fmt::format("is not below the number of workers, {}", context.workers),
           fmt::format("Use at most {}", context.workers - 1));
  if (context.workers % (options.stragglers + 1) != 0)
    reject("stragglers",
           fmt::format("makes blocks of s + 1 = {} workers, which do not divide the {} workers",
                       options.stragglers + 1, context.workers),
           "Use a number of workers that they divide, or another s");
  return std::make_unique<GradientCoding>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> gradient_coding() {
  return {
      {{.name = "gradient_coding",
        .summary =
            "workers share their mini-batches in blocks, and the exact gradient is there without the s slowest",
        .citation = "Tandon, Lei, Dimakis, Karampatziakis, ICML 2017, arXiv:1612.03301"},
       "the model to rank 0 and back; rank 0 sends (P-1) m",
       {.sends = {Traffic::gradient, Traffic::model}, .codecs = AlgorithmUses::Codecs::none},
       make_gradient_coding}};
}

}  // namespace simsgd::algorithms
