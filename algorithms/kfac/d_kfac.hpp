#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin d_kfac_plugin();
}
