#include "bench/bare_factors.hpp"

#include <algorithm>

#include "algorithms/buckets.hpp"

namespace simsgd::bench {

namespace {

/// Neighbours travel together where a message takes 12.2 ms + 1.45 ns for each number and the next one is
/// there within its fixed time.
class FactorGroups {
 public:
  FactorGroups(std::vector<BarePiece>& pieces, double bytes_per_number)
      : pieces_(pieces), bytes_per_number_(bytes_per_number) {}
  void compute(double work_s) {
    pieces_.push_back({work_s});
    now_s_ += work_s;
  }
  void compute_factor(double work_s, double elements) {
    constexpr double kFixed_s = 12.2e-3, kNumber_s = 1.45e-9;
    const double start_s = std::max(free_s_, ready_s_), end_s = start_s + kFixed_s + elements_ * kNumber_s;
    compute(work_s);
    if (elements_ > 0 && (now_s_ >= end_s || now_s_ > start_s + kFixed_s)) {
      send();
      free_s_ = end_s;
    }
    elements_ += elements;
    ++factors_;
    last_ = pieces_.size() - 1;
    ready_s_ = now_s_;
  }
  void send() {
    pieces_[last_].bytes = elements_ * bytes_per_number_;
    pieces_[last_].tensors = factors_;
    elements_ = factors_ = 0;
  }

 private:
  std::vector<BarePiece>& pieces_;
  double bytes_per_number_, now_s_ = 0, free_s_ = 0, ready_s_ = 0, elements_ = 0;
  int factors_ = 0;
  std::size_t last_ = 0;  // of the pieces: its last factor
};

}  // namespace

std::vector<BarePiece> bare_passes(const Workload& workload, const KfacLayers& layers,
                                   const KfacCosts& costs) {
  FusionSettings fusion;
  fusion.threshold_bytes = 64.0 * 1024 * 1024;
  const Buckets buckets = make_buckets(workload, fusion);
  const std::vector<TensorInfo> tensors = workload.tensors();
  std::vector<BarePiece> pieces;
  FactorGroups a(pieces, workload.bytes_per_parameter), g(a);
  std::size_t k = 0, bucket = 0;
  for (int l = 0; l < static_cast<int>(workload.layers.size()); ++l) {
    if (k < layers.count() && layers.a(k).layer == l) {
      a.compute_factor(costs.factor_s[2 * k], layers.a(k).elements());
      ++k;
    }
    a.compute(workload.layers[static_cast<std::size_t>(l)].forward_s);
  }
  a.send();
  for (int l = static_cast<int>(workload.layers.size()) - 1; l >= 0; --l) {
    g.compute(workload.layers[static_cast<std::size_t>(l)].backward_s);
    for (; bucket < buckets.buckets.size() && tensors[buckets.last_tensors[bucket]].layer == l; ++bucket)
      pieces.push_back({0, buckets.buckets[bucket].parameters * workload.bytes_per_parameter,
                        buckets.buckets[bucket].tensors});
    if (k > 0 && layers.g(k - 1).layer == l) {
      --k;
      g.compute_factor(costs.factor_s[2 * k + 1], layers.g(k).elements());
    }
  }
  g.send();
  return pieces;
}

}  // namespace simsgd::bench
