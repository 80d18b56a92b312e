#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin topk_sgd_plugin();
}
