// Optimizers that treat a layer's weights as a matrix. They are made without a model, and then know no
// matrix; whoever has the model asks for the rule of it. A slice of the parameters does not get what it gets
// in the whole: methods that cut the model into parts refuse them.
#pragma once

#include <memory>
#include <vector>

#include "sim/learn/optimizer.hpp"

namespace simsgd {

struct LayerInfo;  // model.hpp, which brings Eigen

/// (m x k) (k x n).
struct MatrixProduct {
  double m = 0, n = 0, k = 0;
};

class MatrixRule : public UpdateRule {
 public:
  /// The same for a model of these layers.
  virtual std::shared_ptr<const UpdateRule> of_model(const std::vector<LayerInfo>& layers) const = 0;
  /// What an update multiplies for each matrix of rows x columns, beside passes over vectors.
  virtual std::vector<MatrixProduct> products(double rows, double columns) const = 0;
};

inline bool treats_matrices(const UpdateRule& rule) {
  return dynamic_cast<const MatrixRule*>(&rule) != nullptr;
}

/// `rule`, made for the model where it is one that treats matrices.
inline std::shared_ptr<const UpdateRule> rule_of_model(const std::shared_ptr<const UpdateRule>& rule,
                                                       const std::vector<LayerInfo>& layers) {
  const auto* of_matrices = dynamic_cast<const MatrixRule*>(rule.get());
  return of_matrices ? of_matrices->of_model(layers) : rule;
}

}  // namespace simsgd
