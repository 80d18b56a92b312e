// Charts as Vega-Lite 6 (https://vega.github.io/vega-lite/docs/): the only place that knows it.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/questions/chart.hpp"

namespace simsgd::faces {

using namespace questions;
using Spec = nlohmann::ordered_json;

/// Its rows are the data set "rows", of which a page gives it those that are shown; colours are var(--NAME),
/// see palette.
Spec vega(const Chart& chart);

}  // namespace simsgd::faces
