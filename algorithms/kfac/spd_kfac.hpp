#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin spd_kfac_plugin();
}
