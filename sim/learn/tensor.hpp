// The numeric plane: immutable vectors behind handles, computed when somebody needs them.
//
// A `Tensor` is a handle to a tensor that exists or will exist. Operations on handles submit pure functions
// to an `Executor`, which computes them on its threads while simulated time goes on. Because a tensor never
// changes once it is made, "a copy of the inputs" is a handle, a model may be averaged while a gradient at
// the old model is still being computed, replicas that are equal share memory, and the result is the same for
// any number of threads. An empty handle stands for values that nobody computes (a run with `"learner":
// null`): every operation on empty handles is empty.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace simsgd {

/// What a handle leads to. Dense vectors use `values`; sparse ones pair `values` with ascending `indices`;
/// `scalars` carries what comes along (a loss, a count of samples).
struct TensorData {
  std::vector<float> values;
  std::vector<std::int32_t> indices;
  std::vector<double> scalars;
};

namespace detail {
struct Node;
}

/// A handle to an immutable tensor. Copying is cheap. Shared by everybody who may still read the tensor,
/// which is freed with the last handle; a tensor that nobody holds any more is never computed.
class Tensor {
 public:
  Tensor() = default;
  explicit operator bool() const { return node_ != nullptr; }
  /// Unique among the tensors of an executor; equal handles have equal ids. 0 for the empty handle.
  std::uint64_t id() const;

 private:
  friend class Executor;
  explicit Tensor(std::shared_ptr<detail::Node> node) : node_(std::move(node)) {}
  std::shared_ptr<detail::Node> node_;
};

/// Computes a tensor from others. Must be a pure function of its inputs: it may run on any thread, or never.
using Kernel = std::function<void(TensorData& out, std::span<const TensorData* const> in)>;

/// Runs kernels on `threads` threads: `threads - 1` of its own, and the thread that waits for a result. Its
/// functions may be called from any thread; kernels must not call them.
class Executor {
 public:
  explicit Executor(int threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// A tensor that exists already.
  Tensor constant(TensorData tensor);

  /// The tensor that `kernel` will compute from `inputs`.
  Tensor submit(std::vector<Tensor> inputs, Kernel kernel);

  /// The same, computed once for equal (`name`, `parameters`, inputs): workers whose inputs are the same
  /// tensors get the same result, which is how equal replicas are shared.
  Tensor submit_shared(const std::string& name, std::vector<double> parameters, std::vector<Tensor> inputs,
                       Kernel kernel);

  /// The tensor itself; computes, or waits for, whatever it depends on. Valid while a handle is held.
  const TensorData& get(const Tensor& values);
  /// True once the tensor has been computed.
  bool ready(const Tensor& values) const;

 private:
  using NodePtr = std::shared_ptr<detail::Node>;
  struct SharedKey {
    std::string name;
    std::vector<double> parameters;
    std::vector<std::uint64_t> inputs;
    bool operator==(const SharedKey&) const = default;
  };
  struct SharedKeyHash {
    std::size_t operator()(const SharedKey& key) const;
  };

  void enqueue_if_ready(const NodePtr& node);
  bool run_one(std::unique_lock<std::mutex>& lock);
  void work();
  void throttle();
  void forget_dead();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<NodePtr> queue_;  // every input is computed
  // Nodes alive and not computed; shared with nodes that outlive the executor.
  std::shared_ptr<std::atomic<std::size_t>> unfinished_ = std::make_shared<std::atomic<std::size_t>>(0);
  bool stopping_ = false;
  std::uint64_t next_id_ = 1;
  std::unordered_map<SharedKey, std::weak_ptr<detail::Node>, SharedKeyHash> shared_;
  std::size_t sweep_at_ = 1024;
  std::vector<std::thread> threads_;
};

/// Entries [begin, end) of a tensor.
struct EntryRange {
  std::size_t begin = 0, end = 0;
};

/// scale * sum_i weights[i] * terms[i], added up in the order given, in float32. Terms are dense and of equal
/// length; with a range only those entries of them take part.
Tensor linear_combination(Executor& executor, const std::vector<double>& weights,
                          const std::vector<Tensor>& terms, double scale = 1.0,
                          std::optional<EntryRange> entries = {});

/// Entries [begin, end) of a dense tensor.
Tensor slice(Executor& executor, const Tensor& whole, std::size_t begin, std::size_t end);

/// A dense tensor with other entries from `begin` on.
Tensor with_entries(Executor& executor, const Tensor& whole, std::size_t begin, const Tensor& entries);

/// Dense tensors, one after another.
Tensor concatenate(Executor& executor, const std::vector<Tensor>& parts);

}  // namespace simsgd
