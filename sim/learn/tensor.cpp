#include "sim/learn/tensor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>

#include "sim/base/check.hpp"

namespace simsgd {

namespace detail {

// Counts the nodes that are alive and not computed; shared with nodes that outlive their executor.
using Unfinished = std::shared_ptr<std::atomic<std::size_t>>;

struct Node {
  Node() = default;
  explicit Node(Unfinished counter) : unfinished(std::move(counter)) { ++*unfinished; }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { finish(); }
  void finish() {
    if (unfinished) --*unfinished;
    unfinished = nullptr;
  }

  Unfinished unfinished;
  std::uint64_t id = 0;
  TensorData tensor;
  Kernel kernel;                              // emptied once computed
  std::vector<std::shared_ptr<Node>> inputs;  // emptied once computed
  std::vector<std::weak_ptr<Node>> dependents;
  std::size_t missing = 0;  // inputs not computed yet
  std::atomic<bool> done{false};
  bool queued = false;
  bool abandoned = false;  // skipped, because nobody held a handle when its turn came
  std::exception_ptr failure;
};

}  // namespace detail

using detail::Node;

std::uint64_t Tensor::id() const { return node_ ? node_->id : 0; }

std::size_t Executor::SharedKeyHash::operator()(const SharedKey& key) const {
  std::size_t hash = std::hash<std::string>{}(key.name);
  const auto mix = [&hash](std::uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  };
  for (const double parameter : key.parameters) mix(std::bit_cast<std::uint64_t>(parameter));
  for (const std::uint64_t input : key.inputs) mix(input);
  return hash;
}

Executor::Executor(int threads) {
  CHECK(threads >= 1, "an executor needs a thread");
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Executor::~Executor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Tensor Executor::constant(TensorData tensor) {
  auto node = std::make_shared<Node>();
  node->tensor = std::move(tensor);
  node->done = true;
  const std::lock_guard lock(mutex_);
  node->id = next_id_++;
  return Tensor(std::move(node));
}

Tensor Executor::submit(std::vector<Tensor> inputs, Kernel kernel) {
  auto node = std::make_shared<Node>(unfinished_);
  node->kernel = std::move(kernel);
  {
    const std::lock_guard lock(mutex_);
    node->id = next_id_++;
    node->inputs.reserve(inputs.size());
    for (Tensor& input : inputs) {
      CHECK(input, "a kernel was given an empty handle");
      if (!input.node_->done) {
        ++node->missing;
        input.node_->dependents.push_back(node);
      }
      node->inputs.push_back(std::move(input.node_));
    }
    enqueue_if_ready(node);
  }
  Tensor result(std::move(node));
  throttle();
  return result;
}

Tensor Executor::submit_shared(const std::string& name, std::vector<double> parameters,
                               std::vector<Tensor> inputs, Kernel kernel) {
  SharedKey key{name, std::move(parameters), {}};
  key.inputs.reserve(inputs.size());
  for (const Tensor& input : inputs) key.inputs.push_back(input.id());
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = shared_.find(key); found != shared_.end())
      if (NodePtr node = found->second.lock(); node && !node->abandoned) return Tensor(std::move(node));
  }
  Tensor result = submit(std::move(inputs), std::move(kernel));
  const std::lock_guard lock(mutex_);
  shared_[std::move(key)] = result.node_;
  if (shared_.size() > sweep_at_) forget_dead();
  return result;
}

void Executor::forget_dead() {
  std::erase_if(shared_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * shared_.size());
}

bool Executor::ready(const Tensor& values) const { return values.node_ && values.node_->done; }

const TensorData& Executor::get(const Tensor& values) {
  CHECK(values, "an empty handle has no tensor");
  std::unique_lock lock(mutex_);
  while (!values.node_->done) {
    CHECK(!values.node_->abandoned, "a tensor was abandoned while its handle was held");
    if (!run_one(lock)) changed_.wait(lock);
  }
  if (values.node_->failure) std::rethrow_exception(values.node_->failure);
  return values.node_->tensor;
}

void Executor::enqueue_if_ready(const NodePtr& node) {
  if (node->missing > 0 || node->queued) return;
  node->queued = true;
  queue_.push_back(node);
  if (!threads_.empty()) changed_.notify_one();
}

// Takes a node from the queue and computes it, unlocked meanwhile. False if the queue is empty.
bool Executor::run_one(std::unique_lock<std::mutex>& lock) {
  if (queue_.empty()) return false;
  NodePtr node = std::move(queue_.front());
  queue_.pop_front();
  const bool wanted = node.use_count() > 1;
  std::vector<NodePtr> inputs = std::move(node->inputs);
  Kernel kernel = std::move(node->kernel);
  node->inputs.clear();
  node->kernel = nullptr;
  if (wanted) {
    lock.unlock();
    try {
      std::vector<const TensorData*> tensors;
      tensors.reserve(inputs.size());
      for (const NodePtr& input : inputs) {
        if (input->failure) std::rethrow_exception(input->failure);
        tensors.push_back(&input->tensor);
      }
      kernel(node->tensor, tensors);
    } catch (...) {
      node->failure = std::current_exception();
    }
    kernel = nullptr;
    inputs.clear();
    lock.lock();
    node->done = true;
    node->finish();
    // What waited for this comes next, while this is in a cache; in its order.
    for (; !node->dependents.empty(); node->dependents.pop_back()) {
      if (NodePtr waiting = node->dependents.back().lock()) {
        if (--waiting->missing > 0 || waiting->queued) continue;
        waiting->queued = true;
        queue_.push_front(std::move(waiting));
      }
    }
  } else {
    node->abandoned = true;
    node->finish();
  }
  changed_.notify_all();
  lock.unlock();
  inputs.clear();  // may free tensors, outside the lock
  node.reset();
  lock.lock();
  return true;
}

void Executor::throttle() {
  // Enough work ahead to keep every thread busy; few enough tensors, and short enough chains of them, to
  // bound memory.
  constexpr std::size_t kMostUnfinished = 512;
  if (*unfinished_ <= kMostUnfinished) return;
  std::unique_lock lock(mutex_);
  while (*unfinished_ > kMostUnfinished && run_one(lock)) {
  }
}

void Executor::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!run_one(lock)) changed_.wait(lock);
  }
}

namespace {

void add_term(float weight, const float* term, std::size_t count, float* sum) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += weight * term[i];
}

// In their order, as one by one; but the sum comes from the cache and goes there once for all four.
void add_four(const std::array<float, 4>& weights, const std::array<const float*, 4>& terms,
              std::size_t count, float* sum) {
  const auto [wa, wb, wc, wd] = weights;
  const auto [a, b, c, d] = terms;
  for (std::size_t i = 0; i < count; ++i) {
    float s = sum[i];
    s += wa * a[i];
    s += wb * b[i];
    s += wc * c[i];
    s += wd * d[i];
    sum[i] = s;
  }
}

void multiply(float factor, std::size_t count, float* numbers) {
  if (factor == 1) return;
  for (std::size_t i = 0; i < count; ++i) numbers[i] *= factor;
}

/// Of `size` entries of each input, from its own place on.
struct Combination {
  std::vector<float> weights;
  std::vector<std::size_t> from;
  std::optional<std::size_t> size;  // none: all of the first one
  float scale = 1;

  void operator()(TensorData& out, std::span<const TensorData* const> in) const {
    const std::size_t all = size.value_or(in[0]->values.size());
    const auto term = [&](std::size_t t) { return in[t]->values.data() + from[t]; };
    for (std::size_t t = 0; t < in.size(); ++t)
      CHECK(from[t] + all <= in[t]->values.size(), "a range beyond the end of its tensors");
    out.values.reserve(all);
    constexpr std::size_t kBlock = 8192;  // stays in the second cache while the terms are added up
    for (std::size_t begin = 0; begin < all; begin += kBlock) {
      const std::size_t count = std::min(all - begin, kBlock);
      out.values.insert(out.values.end(), term(0) + begin, term(0) + begin + count);
      float* sum = out.values.data() + begin;
      multiply(weights[0], count, sum);
      std::size_t t = 1;
      for (; t + 4 <= in.size(); t += 4)
        add_four({weights[t], weights[t + 1], weights[t + 2], weights[t + 3]},
                 {term(t) + begin, term(t + 1) + begin, term(t + 2) + begin, term(t + 3) + begin}, count,
                 sum);
      for (; t < in.size(); ++t) add_term(weights[t], term(t) + begin, count, sum);
      multiply(scale, count, sum);
    }
  }
};

}  // namespace

// Some terms at a time: these are added up as soon as they are there, while they are in a cache, and leave
// their memory to the next ones.
Tensor linear_combination(Executor& executor, const std::vector<double>& weights,
                          const std::vector<Tensor>& terms, double scale, std::optional<EntryRange> entries) {
  CHECK(weights.size() == terms.size() && !terms.empty(), "one weight for each term");
  if (!terms.front()) return {};
  constexpr std::size_t kTogether = 4;
  Tensor sum;
  for (std::size_t t = 0; t < terms.size();) {
    Combination part;
    std::vector<Tensor> inputs;
    const auto add = [&](const Tensor& input, double weight, std::size_t from) {
      inputs.push_back(input);
      part.weights.push_back(static_cast<float>(weight));
      part.from.push_back(from);
    };
    if (sum) add(sum, 1, 0);
    for (const std::size_t end = std::min(t + kTogether, terms.size()); t < end; ++t)
      add(terms[t], weights[t], entries ? entries->begin : 0);
    if (entries) part.size = entries->end - entries->begin;
    if (t == terms.size()) part.scale = static_cast<float>(scale);
    std::vector<double> parameters(part.weights.begin(), part.weights.end());
    parameters.insert(parameters.end(), {part.scale, static_cast<double>(part.from.back()),
                                         part.size ? static_cast<double>(*part.size) : -1.0});
    sum = executor.submit_shared("linear_combination", std::move(parameters), std::move(inputs),
                                 std::move(part));
  }
  return sum;
}

Tensor slice(Executor& executor, const Tensor& whole, std::size_t begin, std::size_t end) {
  if (!whole) return {};
  const std::vector<double> range = {static_cast<double>(begin), static_cast<double>(end)};
  return executor.submit_shared("slice", range, {whole}, [begin, end](TensorData& out, auto in) {
    CHECK(end <= in[0]->values.size(), "a slice beyond the end of its tensor");
    const float* data = in[0]->values.data();
    out.values.assign(data + begin, data + end);
  });
}

Tensor with_entries(Executor& executor, const Tensor& whole, std::size_t begin, const Tensor& entries) {
  if (!whole || !entries) return whole;
  return executor.submit_shared(
      "with_entries", {static_cast<double>(begin)}, {whole, entries}, [begin](TensorData& out, auto in) {
        CHECK(begin + in[1]->values.size() <= in[0]->values.size(), "entries beyond the end of their vector");
        out.values = in[0]->values;
        std::copy(in[1]->values.begin(), in[1]->values.end(),
                  out.values.begin() + static_cast<std::ptrdiff_t>(begin));
      });
}

Tensor concatenate(Executor& executor, const std::vector<Tensor>& parts) {
  CHECK(!parts.empty(), "nothing to concatenate");
  if (!parts.front()) return {};
  if (parts.size() == 1) return parts.front();
  return executor.submit_shared("concatenate", {}, parts, [](TensorData& out, auto in) {
    std::size_t size = 0;
    for (const TensorData* part : in) size += part->values.size();
    out.values.reserve(size);
    for (const TensorData* part : in)
      out.values.insert(out.values.end(), part->values.begin(), part->values.end());
  });
}

}  // namespace simsgd
