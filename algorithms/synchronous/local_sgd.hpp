#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin local_sgd_plugin();
}
