#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin eager_sgd_plugin();
}
