// ByteScheduler: gradients travel in partitions, those of the first layers first, and a layer's forward pass
// of the next step waits for its own alone.
//   gradient of tensor t is ready:  it is cut in partitions of at most delta bytes, which are queued
//   credit c > 0 and the queue is not empty:  take the partition p of the first layer, c <- c - |p|, start
//   its all-reduce the all-reduce of p has ended:  c <- c + |p| forward pass of step k+1:       a layer waits
//   for its partitions, and is updated:
//                                   x <- x - eta U(1/P sum_j g_j(x)), as in allreduce_sgd
// Peng, Zhu, Chen, Bao, Yi, Lan, Wu, Guo, "A Generic Communication Scheduler for Distributed DNN Training
// Acceleration", SOSP 2019, doi 10.1145/3341301.3359642, whose search for delta and c is left out. Queue,
// credit and defaults as in its released code (github.com/bytedance/byteps, bytescheduler/common/bytecore.py:
// partitions of 1e6 numbers, a credit of 4e6). All ranks must start all-reduces in the same order: it is rank
// 0's, which it tells by messages without bytes along binomial trees (told from memory of the paper: "the
// master determines the order"); credit for more than one partition hides their time. What is evaluated after
// step k is the model before that step's update, as with dear. Bytes per worker and step: all-reduces of the
// model, 2 (P-1)/P m for rings. After a crash a worker computes again what it lost; the others wait.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "algorithms/activation.hpp"
#include "algorithms/buckets.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kOrder = 0x6273;  // tag of the messages that tell rank 0's order
constexpr int kMaster = 0;

struct ByteSchedulerOptions {
  double partition_bytes = 4e6, credit_bytes = 16e6;

  void fields(Fields& f) {
    f.bytes("partition", partition_bytes,
            "delta: gradients of larger tensors are cut into parts of this size")
        .above(0)
        .example("\"4 MB\"");
    f.bytes("credit", credit_bytes, "c: another part is sent while fewer bytes than this are on their way")
        .above(0)
        .example("\"16 MB\"");
  }
};

/// All parts of all tensors in forward order, which is that of their priority.
struct Partitions {
  std::vector<Bucket> parts;
  std::vector<std::size_t> end_of_layer;
  std::vector<std::size_t> first_of_tensor;  ///< by place in Workload::tensors
  std::vector<std::size_t> end_of_tensor;
};

Partitions partitions_of(const Workload& workload, double part_bytes) {
  Partitions all;
  const double most = std::max(1.0, std::floor(part_bytes / workload.bytes_per_parameter));
  const double total = workload.parameters();
  const std::vector<TensorInfo> tensors = workload.tensors();
  all.first_of_tensor.resize(tensors.size());
  all.end_of_tensor.resize(tensors.size());
  all.end_of_layer.assign(workload.layers.size(), 0);
  for (std::size_t place = tensors.size(); place-- > 0;) {
    const TensorInfo& tensor = tensors[place];
    all.first_of_tensor[place] = all.parts.size();
    const auto parts = static_cast<std::int64_t>(std::ceil(tensor.parameters() / most));
    for (std::int64_t part = 0; part < parts; ++part) {
      const double begin = static_cast<double>(part) * most;
      const double end = std::min(begin + most, tensor.parameters());
      all.parts.push_back({.parameters = end - begin,
                           .tensors = 1,
                           .begin_share = (tensor.offset + begin) / total,
                           .end_share = (tensor.offset + end) / total});
    }
    all.end_of_tensor[place] = all.parts.size();
    std::fill(all.end_of_layer.begin() + tensor.layer, all.end_of_layer.end(), all.parts.size());
  }
  return all;
}

/// One rank's parts on their way. Shared by its run() and its handlers.
class PartitionScheduler : public std::enable_shared_from_this<PartitionScheduler> {
 public:
  PartitionScheduler(Worker& worker, const Partitions& partitions, double credit_bytes)
      : worker_(worker),
        partitions_(partitions),
        credit_bytes_(credit_bytes),
        due_(partitions.parts.size()),
        ready_(partitions.parts.size(), false),
        started_(partitions.parts.size()) {}

  /// Before anything else: tells rank 0's order, and hears of it.
  void listen() {
    order_.emplace(worker_, kOrder, [self = weak_from_this()](std::uint64_t number) {
      if (const auto scheduler = self.lock()) scheduler->called(number);
    });
  }
  /// The gradient of the tensor at that place is there.
  void take(std::size_t place, const Tensor& gradient) {
    // A pass may be ahead of what happens beside it; now everything up to here has.
    worker_.wait(worker_.background().start_timer(0));
    gradient_ = gradient;
    for (std::size_t p = partitions_.first_of_tensor[place]; p < partitions_.end_of_tensor[place]; ++p) {
      ready_[p] = true;
      if (worker_.rank() == kMaster) queue_.insert(p);
    }
    call();
    start_called();
  }
  /// The step's gradient is computed: its parts are due, from the first one on.
  void expect() {
    step_ = worker_.step();
    due_ = 0;
  }
  /// Waits for what is due up to that layer's last part, and takes the time of its update.
  void need(std::size_t layer) {
    const std::size_t end = partitions_.end_of_layer[layer];
    if (due_ >= end) return;
    for (; due_ < end; ++due_) {
      wait_for(due_);
      const Bucket& part = partitions_.parts[due_];
      worker_.compute().update(worker_.replica().parameters(), part.end_share - part.begin_share);
    }
    if (due_ == partitions_.parts.size()) apply();
  }

 private:
  /// Rank 0: calls parts while there is credit. The n-th of all calls is number n times the parts, plus the
  /// part.
  void call() {
    while (!queue_.empty() && credit_bytes_ > 0) {
      const std::size_t p = *queue_.begin();
      queue_.erase(queue_.begin());
      credit_bytes_ -= bytes_of(p);
      order_->announce(calls_++ * partitions_.parts.size() + p);
    }
  }
  void called(std::uint64_t number) {
    const auto count = static_cast<std::uint64_t>(partitions_.parts.size());
    called_[number / count] = static_cast<std::size_t>(number % count);
    start_called();
  }
  /// In the order of the calls, as far as gradients are there.
  void start_called() {
    for (auto next = called_.find(starts_); next != called_.end() && ready_[next->second];
         next = called_.find(starts_)) {
      const std::size_t p = next->second;
      called_.erase(next);
      ++starts_;
      start(p);
    }
  }
  void start(std::size_t p) {
    ready_[p] = false;
    started_[p] = worker_.collectives().start(gradient_mean(worker_, partitions_.parts[p], gradient_));
    if (worker_.rank() == kMaster)
      worker_.background().then(started_[p], [self = shared_from_this(), bytes = bytes_of(p)] {
        self->credit_bytes_ += bytes;
        self->call();
      });
    if (p == awaited_) worker_.background().signal(event_);
  }
  void wait_for(std::size_t p) {
    if (!started_[p]) {
      awaited_ = p;
      event_ = worker_.background().make_event();
      worker_.wait(event_);
      awaited_ = SIZE_MAX;
    }
    worker_.wait(started_[p]);
  }
  void apply() {
    std::vector<Tensor> means;
    for (Handle<Tensor>& each : started_) {
      means.push_back(each.result());
      each = {};
    }
    if (means.front()) apply_late(worker_, step_, concatenate(worker_.executor(), means));
  }
  double bytes_of(std::size_t p) const {
    return partitions_.parts[p].parameters * worker_.workload().bytes_per_parameter;
  }

  Worker& worker_;
  const Partitions& partitions_;
  std::optional<Activation> order_;
  // Rank 0's.
  std::set<std::size_t> queue_;
  double credit_bytes_;
  std::uint64_t calls_ = 0;
  // Everybody's.
  std::map<std::uint64_t, std::size_t> called_;  // by number of the call, those that are not started yet
  std::uint64_t starts_ = 0, step_ = 0;
  std::size_t due_;  // parts below it are not waited for any more
  Tensor gradient_;
  std::vector<bool> ready_;
  std::vector<Handle<Tensor>> started_;
  std::size_t awaited_ = SIZE_MAX;
  Handle<Nothing> event_;
};

class ByteScheduler final : public Algorithm {
 public:
  ByteScheduler(const ByteSchedulerOptions& options, const Workload& workload)
      : partitions_(partitions_of(workload, options.partition_bytes)), credit_bytes_(options.credit_bytes) {}

  void run(Worker& worker) const override {
    const auto parts = std::make_shared<PartitionScheduler>(worker, partitions_, credit_bytes_);
    parts->listen();
    std::size_t place = 0;
    GradientOptions options;
    options.before_forward = [&](const LayerPass& pass) {
      parts->need(static_cast<std::size_t>(pass.layer));
    };
    options.parameters = [&] { return worker.replica().parameters(); };
    options.gradient_ready = [&](const TensorInfo&, const Tensor& gradient) {
      parts->take(place++, gradient);
    };
    while (worker.next_step()) {
      place = 0;
      worker.compute().gradient(options);
      parts->expect();
    }
    parts->need(partitions_.end_of_layer.size() - 1);  // the last step's
  }

 private:
  Partitions partitions_;
  double credit_bytes_;
};

}  // namespace

std::vector<AlgorithmPlugin> bytescheduler() {
  return {
      {{.name = "bytescheduler",
        .summary =
            "synchronous SGD whose gradients travel in parts, first layers first, past the next step's start",
        .citation = "Peng et al., SOSP 2019, doi:10.1145/3341301.3359642"},
       "all-reduces of the gradient's parts: 2 (P-1)/P m by rings",
       {.sends = {Traffic::gradient}},
       +[](const ByteSchedulerOptions& options, const AlgorithmContext& context) -> MadeAlgorithm {
         note_overlap(context);
         return std::make_unique<ByteScheduler>(options, *context.workload);
       }}};
}

}  // namespace simsgd::algorithms
