// An island: GPUs on fast links that train as one worker, beside islands on slow ones. What its GPUs exchange
// among themselves is part of the worker's computing; messages to other islands leave from its first GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/fields.hpp"

namespace simsgd {

struct Island {
  /// How its GPUs share a step.
  enum class Inside : std::uint8_t { data_parallel, sharded, tensor_parallel, given };

  int gpus = 1;
  Inside inside = Inside::data_parallel;
  int pieces = 1;
  bool overlap = false;
  std::optional<double> time_s;

  /// Whether each GPU computes the workload's batch, so that the worker's batch is `gpus` of them.
  bool multiplies_batch() const { return inside != Inside::tensor_parallel; }
  /// Whether each GPU has 1 / gpus of the model.
  bool divides_model() const { return inside == Inside::sharded || inside == Inside::tensor_parallel; }

  void fields(Fields& f) {
    f.whole("gpus", gpus, "A worker is this many GPUs: a divisor of a node's, or whole nodes")
        .required()
        .at_least(1);
    f.choice(
        "inside", inside,
        {{"data_parallel", Inside::data_parallel},
         {"sharded", Inside::sharded},
         {"tensor_parallel", Inside::tensor_parallel},
         {"given", Inside::given}},
        "How they share a step. data_parallel: each computes a batch, then gradients are averaged; sharded: the same with "
        "1 / gpus of the parameters on each, gathered for each pass; tensor_parallel: each computes 1 / gpus of each layer; "
        "given: data parallel, with the exchange that `time` says");
    f.whole("pieces", pieces,
            "The model's gradients or parameters travel in this many operations of equal size")
        .at_least(1)
        .at_most(10000);
    f.flag("overlap", overlap,
           "Whether exchange and computing run side by side, so that a pass takes the longer of both");
    f.time("time", time_s, "With \"inside\": \"given\", the exchange of each step takes this")
        .by_rule("none");
  }
};

}  // namespace simsgd
