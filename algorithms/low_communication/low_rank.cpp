#include "algorithms/low_communication/low_rank.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>

#include "algorithms/plugin.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

using Map = Eigen::Map<Matrix<float>>;
using ConstMap = Eigen::Map<const Matrix<float>>;

/// Calls `each` with a matrix and where its factors of `height` rows begin; returns where the last one ends.
template <class Each>
std::size_t for_each_factor(const LowRankLayout& layout, std::int64_t LearnedMatrix::*height, Each each) {
  std::size_t at = 0;
  for (const LearnedMatrix& matrix : layout.learned) {
    each(matrix, at);
    at += static_cast<std::size_t>(matrix.*height * matrix.rank);
  }
  return at;
}

/// Calls `each` with the ranges of the flat vector that are not matrices: begin, end.
template <class Each>
void for_each_vector(const LowRankLayout& layout, Each each) {
  std::size_t begin = 0;
  for (const LearnedMatrix& matrix : layout.learned) {
    if (begin < matrix.offset) each(begin, matrix.offset);
    begin = matrix.offset + static_cast<std::size_t>(matrix.rows * matrix.columns);
  }
  if (begin < layout.parameters) each(begin, layout.parameters);
}

ConstMap matrix_of(const TensorData& flat, const LearnedMatrix& matrix) {
  return {flat.values.data() + matrix.offset, matrix.rows, matrix.columns};
}

template <class Iterator>
auto at_offset(Iterator data, std::size_t offset) {
  return data + static_cast<std::ptrdiff_t>(offset);
}

}  // namespace

LowRankLayout low_rank_layout(int rank, const Workload& workload, const Learner* learner) {
  LowRankLayout layout;
  layout.rank = rank;
  bool any = false;
  for (const Layer& layer : workload.layers)
    for (const TensorShape& shape : layer.tensors) any = any || shape.is_matrix();
  if (!any)
    reject(
        "name",
        fmt::format("has nothing to compress: no tensor of the workload \"{}\" is a matrix", workload.name),
        "Give the tensors of its layers as [rows, columns], or use allreduce_sgd");
  if (learner == nullptr) return layout;
  layout.parameters = learner->parameters();
  for (const LayerInfo& layer : learner->model().layers()) {
    if (layer.kind == LayerInfo::Kind::other) continue;
    layout.learned.push_back(
        {layer.offset, layer.rows, layer.columns, std::min({std::int64_t{rank}, layer.rows, layer.columns})});
  }
  return layout;
}

LowRankCosts low_rank_costs(int rank, const AlgorithmContext& context) {
  LowRankCosts costs;
  const Device* device = context.cluster ? &context.cluster->device : nullptr;
  for (const Layer& layer : context.workload->layers) {
    for (const TensorShape& shape : layer.tensors) {
      if (!shape.is_matrix()) {
        costs.left_numbers += shape.parameters();
        continue;
      }
      const double columns = std::min({static_cast<double>(rank), shape.rows, shape.columns});
      costs.left_numbers += shape.rows * columns;
      costs.right_numbers += shape.columns * columns;
      if (device == nullptr) continue;
      // A thin product reads the whole matrix: the slower side of the roofline, where it was not measured.
      const double numbers = shape.parameters();
      const GemmSize thin{.m = shape.rows, .n = columns, .k = shape.columns};
      const double read_s = vector_pass_s(*device, {.read = kBytesPerNumber * numbers, .written = 0});
      costs.product_s +=
          is_measured(*device, thin) ? gemm_s(*device, thin) : std::max(gemm_s(*device, thin), read_s);
      note_size(context, thin);
      costs.qr_s += qr_s(*device, {.m = shape.rows, .n = columns});
      costs.residual_s += vector_pass_s(
          *device, {.read = 2 * kBytesPerNumber * numbers, .written = kBytesPerNumber * numbers});
    }
  }
  costs.left_bytes = costs.left_numbers * context.workload->bytes_per_parameter;
  costs.right_bytes = costs.right_numbers * context.workload->bytes_per_parameter;
  return costs;
}

Tensor random_right(Executor& executor, const LowRankLayout& layout, std::uint64_t seed) {
  const std::size_t size = for_each_factor(layout, &LearnedMatrix::columns, [](const auto&, std::size_t) {});
  Stream draws({seed, Purpose::algorithm, 0, 0});
  TensorData right;
  for (std::size_t i = 0; i < size; ++i) right.values.push_back(static_cast<float>(draws.normal()));
  return executor.constant(std::move(right));
}

Tensor times_right(Executor& executor, const LowRankLayout& layout, const Tensor& sum, const Tensor& right) {
  if (!sum) return {};
  return executor.submit({sum, right}, [layout](TensorData& out, auto in) {
    std::size_t from = 0;
    for_each_factor(layout, &LearnedMatrix::rows, [&](const LearnedMatrix& matrix, std::size_t at) {
      out.values.resize(at + static_cast<std::size_t>(matrix.rows * matrix.rank));
      Map(at_offset(out.values.data(), at), matrix.rows, matrix.rank).noalias() =
          matrix_of(*in[0], matrix) *
          ConstMap(at_offset(in[1]->values.data(), from), matrix.columns, matrix.rank);
      from += static_cast<std::size_t>(matrix.columns * matrix.rank);
    });
    for_each_vector(layout, [&](std::size_t begin, std::size_t end) {
      out.values.insert(out.values.end(), at_offset(in[0]->values.begin(), begin),
                        at_offset(in[0]->values.begin(), end));
    });
  });
}

Tensor orthonormal(Executor& executor, const LowRankLayout& layout, const Tensor& left) {
  if (!left) return {};
  return executor.submit_shared(
      "low_rank_orthonormal", {static_cast<double>(layout.rank)}, {left}, [layout](TensorData& out, auto in) {
        out.values = in[0]->values;
        for_each_factor(layout, &LearnedMatrix::rows, [&](const LearnedMatrix& matrix, std::size_t at) {
          Map factor(at_offset(out.values.data(), at), matrix.rows, matrix.rank);
          const Eigen::HouseholderQR<Matrix<float>> qr(factor);
          factor = qr.householderQ() * Matrix<float>::Identity(matrix.rows, matrix.rank);
        });
      });
}

Tensor times_left(Executor& executor, const LowRankLayout& layout, const Tensor& sum, const Tensor& left) {
  if (!sum) return {};
  return executor.submit({sum, left}, [layout](TensorData& out, auto in) {
    std::size_t from = 0;
    for_each_factor(layout, &LearnedMatrix::columns, [&](const LearnedMatrix& matrix, std::size_t at) {
      out.values.resize(at + static_cast<std::size_t>(matrix.columns * matrix.rank));
      Map(at_offset(out.values.data(), at), matrix.columns, matrix.rank).noalias() =
          matrix_of(*in[0], matrix).transpose() *
          ConstMap(at_offset(in[1]->values.data(), from), matrix.rows, matrix.rank);
      from += static_cast<std::size_t>(matrix.rows * matrix.rank);
    });
  });
}

Tensor product(Executor& executor, const LowRankLayout& layout, const Tensor& left, const Tensor& right) {
  if (!left) return {};
  return executor.submit_shared(
      "low_rank_product", {static_cast<double>(layout.rank)}, {left, right},
      [layout](TensorData& out, auto in) {
        out.values.resize(layout.parameters);
        std::size_t from = 0;
        std::size_t next =
            for_each_factor(layout, &LearnedMatrix::rows, [&](const LearnedMatrix& matrix, std::size_t at) {
              Map(at_offset(out.values.data(), matrix.offset), matrix.rows, matrix.columns).noalias() =
                  ConstMap(at_offset(in[0]->values.data(), at), matrix.rows, matrix.rank) *
                  ConstMap(at_offset(in[1]->values.data(), from), matrix.columns, matrix.rank).transpose();
              from += static_cast<std::size_t>(matrix.columns * matrix.rank);
            });
        for_each_vector(layout, [&](std::size_t begin, std::size_t end) {
          std::copy_n(at_offset(in[0]->values.begin(), next), end - begin,
                      at_offset(out.values.begin(), begin));
          next += end - begin;
        });
      });
}

Tensor residual_after(Executor& executor, const LowRankLayout& layout, const Tensor& sum,
                      const Tensor& update) {
  if (!sum) return {};
  return executor.submit({sum, update}, [layout](TensorData& out, auto in) {
    out.values.assign(layout.parameters, 0.0F);
    for (const LearnedMatrix& matrix : layout.learned)
      Map(at_offset(out.values.data(), matrix.offset), matrix.rows, matrix.columns) =
          matrix_of(*in[0], matrix) - matrix_of(*in[1], matrix);
  });
}

}  // namespace simsgd
