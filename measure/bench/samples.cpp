#include "measure/bench/samples.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/check.hpp"
#include "traces/reading/csv.hpp"

namespace simsgd {

const std::vector<SampleColumn>& sample_columns() {
  static const std::vector<SampleColumn> columns = {
      {"benchmark", "", "`network`, `collectives` or `compute`"},
      {"campaign", "", "from 1; campaigns are apart in time"},
      {"campaign_begun_unix_s", "s", "since 1970"},
      {"load_1min", "", "processes that wanted to run, mean of the minute before the campaign"},
      {"cores", "", "that rank 0's machine gives its ranks"},
      {"ranks_per_core", "", "on the fullest machine; above 1 ranks wait for their turn"},
      {"operation", "",
       "`ping_pong`, `exchange` (both ways), `exchanges` (of several pairs), a collective; empty of kernels"},
      {"schedule", "", "as in scenarios, or `mpi`: MPI's own choice; empty of messages and kernels"},
      {"workers", "", "ranks that took part"},
      {"nodes", "", "hosts that they were on"},
      {"bytes", "B", "of the message, or of the whole array; of an all-to-all, of what one rank gives"},
      {"sample", "", "from 1; warm-up is left out"},
      {"time_s", "s",
       "of a ping-pong half the round trip; else from the common start until the last rank is done"}};
  return columns;
}

SampleTable::SampleTable(std::string benchmark, const BenchMachine& machine,
                         const std::vector<std::string>& labels)
    : benchmark_(std::move(benchmark)),
      cores_(machine.cores),
      ranks_per_core_(machine.ranks_per_core),
      labels_(labels.size()) {
  for (const SampleColumn& column : sample_columns())
    text_ += (text_.empty() ? "" : ",") + std::string(column.name);
  for (const std::string& label : labels) text_ += "," + label;
  text_ += "\n";
}

void SampleTable::add(const Campaign& campaign, const BenchPoint& point, const std::vector<double>& times_s) {
  CHECK(point.labels.size() == labels_, "a point has a cell for each label of its table");
  std::string labels;
  for (const std::string& label : point.labels) append_csv(labels += ',', label);
  const std::string front = fmt::format(
      "{},{},{:.0f},{},{},{:.4g},{},{},{},{},{}", benchmark_, campaign.number, campaign.begun_unix_s,
      std::isnan(campaign.load) ? std::string() : fmt::format("{:.2f}", campaign.load), cores_,
      ranks_per_core_, point.operation, point.schedule, point.workers, point.nodes,
      point.bytes > 0 ? fmt::format("{:.0f}", point.bytes) : std::string());
  for (std::size_t s = 0; s < times_s.size(); ++s)
    text_ += fmt::format("{},{},{:.9g}{}\n", front, s + 1, times_s[s], labels);
}

}  // namespace simsgd
