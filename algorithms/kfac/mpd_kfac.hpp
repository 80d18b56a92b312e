#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin mpd_kfac_plugin();
}
