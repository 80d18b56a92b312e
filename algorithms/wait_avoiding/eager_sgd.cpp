// Eager-SGD: gradients are averaged by a partial all-reduce, which does not wait for late workers.
//   send buffer of worker i:  b_i <- b_i + g_i(x) when i arrives;  b_i <- 0 when an operation takes it
//   x <- x - eta U(1/P sum_i b_i)
// A late worker's buffer is empty when the operation runs (it gives null), and its gradient goes into the
// next one: every gradient is used once, late by as many steps as `staleness` says. Every worker applies the
// result of every operation, in order, so that replicas agree at equal steps; in the authors' code a worker
// that is more than one step behind sees the latest result only, and models are synchronised now and then.
// Li, Ben-Nun, Di Girolamo, Alistarh, Hoefler, PPoPP 2020, arXiv:1908.04207. Bytes per worker and step: log2
// P gradients (recursive doubling).
// After a crash a worker computes again what it lost; the others go on without its gradient.
#include "algorithms/plugin.hpp"
#include "algorithms/wait_avoiding/wait_avoiding.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kEagerActivation = 0xEA6E;

// The gradients of one worker that no operation has taken yet.
class SendBuffer {
 public:
  SendBuffer(Worker& worker, std::string schedule)
      : worker_(worker), schedule_(std::move(schedule)), bytes_(worker.workload().model_bytes()) {
    if (worker.replica().size() > 0)
      null_ = worker.executor().constant({std::vector<float>(worker.replica().size(), 0.0F), {}, {}});
  }

  void add(Tensor gradient) {
    if (sum_) gradient = linear_combination(worker_.executor(), {1.0, 1.0}, {sum_, gradient});
    sum_ = std::move(gradient);
    from_steps_.push_back(worker_.step());
  }

  AllReduce take(std::uint64_t version) {
    for (const std::uint64_t step : from_steps_)
      worker_.record().staleness(static_cast<double>(version + 1) - static_cast<double>(step));
    from_steps_.clear();
    AllReduce collective;
    collective.bytes = bytes_;
    collective.traffic = Traffic::gradient;
    collective.contribution = sum_ ? std::exchange(sum_, {}) : null_;
    collective.scale = 1.0 / worker_.size();
    collective.schedule = schedule_;
    return collective;
  }

 private:
  Worker& worker_;
  std::string schedule_;
  double bytes_;
  Tensor null_, sum_;
  std::vector<std::uint64_t> from_steps_;  // of the gradients in sum_
};

struct EagerSgdOptions {
  Initiator initiator = Initiator::solo;
  std::string schedule = "recursive_doubling";

  void fields(Fields& f) {
    activation_field(f, initiator);
    all_reduce_field(f, schedule);
  }
};

class EagerSgd final : public Algorithm {
 public:
  explicit EagerSgd(const EagerSgdOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    SendBuffer buffer(worker, asked_schedule(options_.schedule));
    WaitAvoiding mean(worker, {options_.initiator, kEagerActivation},
                      [&](std::uint64_t version, bool) { return buffer.take(version); });
    while (worker.next_step()) {
      buffer.add(worker.compute().gradient());
      worker.replica().apply(mean.call().result);
    }
  }
  bool needs_others() const override { return false; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"send and receive buffers", 2 * context.vector_bytes()}});
  }

 private:
  EagerSgdOptions options_;
};

}  // namespace

std::vector<AlgorithmPlugin> eager_sgd() {
  return {
      {{.name = "eager_sgd",
        .summary =
            "gradients are averaged over all workers without waiting for late ones, whose gradients come later",
        .citation = "Li et al., PPoPP 2020, arXiv:1908.04207"},
       "log2 P gradients",
       {.sends = {Traffic::gradient}},
       +[](const EagerSgdOptions& options, const AlgorithmContext& context) -> MadeAlgorithm {
         note_overlap(context);
         return std::make_unique<EagerSgd>(options);
       }}};
}

}  // namespace simsgd::algorithms
