#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin kfac_plugin();
}
