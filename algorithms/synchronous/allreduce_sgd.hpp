#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin allreduce_sgd_plugin();
}
