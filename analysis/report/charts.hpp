// The charts of a report. Each is made of a study's grid, or says why it cannot be.
#pragma once

#include <variant>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/grid.hpp"

namespace simsgd::report {

/// What charts are made of.
struct ChartSource {
  const frame::Frame& frame;
  const Grid& grid;
};

/// A chart, or a sentence that says why there is none.
using MadeChart = std::variant<Chart, std::string>;

struct ChartKind {
  const char* name;
  const char* title;
  const char* summary;  ///< a sentence for help and docs
  MadeChart (*make)(const ChartSource& source);
};
/// In the order of the page.
const std::vector<ChartKind>& chart_kinds();

MadeChart speedup_chart(const ChartSource& source);
MadeChart efficiency_chart(const ChartSource& source);
MadeChart loss_chart(const ChartSource& source);
MadeChart accuracy_chart(const ChartSource& source);
MadeChart target_chart(const ChartSource& source);
MadeChart throughput_chart(const ChartSource& source);
MadeChart cost_chart(const ChartSource& source);
MadeChart energy_chart(const ChartSource& source);
MadeChart pareto_chart(const ChartSource& source);
MadeChart breakdown_chart(const ChartSource& source);
MadeChart step_times_chart(const ChartSource& source);
MadeChart winners_chart(const ChartSource& source);
MadeChart measured_chart(const ChartSource& source);
MadeChart links_chart(const ChartSource& source);

}  // namespace simsgd::report
