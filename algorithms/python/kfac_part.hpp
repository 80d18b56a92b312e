// K-FAC's numbers and costs for a method in Python (algorithms/kfac has the formulas): running averages of
// the factors, inverses, preconditioned gradients, whole or of single layers. Who computes and sends what,
// and when, is the method's.
#pragma once

#include <vector>

#include "algorithms/kfac/kfac_setup.hpp"
#include "sim/worker.hpp"

namespace simsgd::python {

class KfacPart {
 public:
  /// `layout` is that of the learner's layers, `cluster` may be null.
  KfacPart(Worker& worker, const FactorLayout& layout, const Cluster* cluster, const KfacMath& math);

  /// By factor of the workload: numbers, seconds of it and of its inverse; last those of preconditioning.
  std::vector<std::vector<double>> costs() const;
  /// Of the learner's layers: dimensions of A and G, and where their packed upper triangles begin.
  std::vector<std::vector<double>> layers() const;

  /// `factors`: what GradientOptions::statistics gives, or a mean of it.
  void average(const Tensor& factors);
  /// Of all layers from the averages; returns what depends on all of them, packed as `factors`.
  Tensor invert();
  /// Inverses that came from elsewhere, packed likewise.
  void set_inverses(const Tensor& inverses);
  Tensor precondition(const Tensor& gradient);

 private:
  std::vector<FactorPair> cut(const Tensor& factors);

  Worker& worker_;
  const FactorLayout& layout_;
  KfacMath math_;
  KfacLayers timed_;
  KfacCosts costs_;
  std::vector<FactorPair> factors_, inverses_;  // by layer of the learner
};

}  // namespace simsgd::python
