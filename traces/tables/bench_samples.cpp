// samples: raw samples of simsgd-measure's micro-benchmarks (measure/bench/campaigns.cpp has the columns).
// The median over the samples of a point in a campaign is one measurement: campaigns are what drifts.
#include <cmath>
#include <map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "traces/import.hpp"
#include "traces/measurements.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

constexpr std::string_view kSampleHead = "benchmark,campaign,campaign_begun_unix_s,";

class BenchSamples final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    CsvReader reader(input, ',');
    std::vector<std::string> cells;
    if (!reader.record(names_)) return;
    check_columns(names_,
                  {{"campaign", "sample", "time_s"},
                   "benchmark",
                   "Use letters, digits and \"_\"",
                   "Keep the columns that simsgd-measure writes"},
                  file.name());
    points_.clear();
    places_.clear();
    while (reader.record(cells)) {
      if (cells.size() == names_.size() && !reader.open_quotes())
        add(cells, reader.line(), file);
      else
        file.ignore("rows that do not have the header's columns");
    }
    for (SampledPoint& point : points_) {
      point.row.samples = point.times_s.size();
      point.row.value = median(point.times_s);
      file.add(std::move(point.row));
    }
  }

 private:
  struct SampledPoint {
    Measurement row;
    std::vector<double> times_s;
  };

  // All cells but those of the sample tell a point.
  void add(const std::vector<std::string>& cells, std::size_t line, ImportedFile& file) {
    std::string key;
    double time_s = kNotGiven;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (names_[i] == "time_s") {
        if (!read_number(cells[i], time_s) || !(time_s > 0) || std::isinf(time_s))
          return file.ignore("samples whose time_s is not above 0");
      } else if (names_[i] != "sample") {
        key += cells[i];
        key += '\0';
      }
    }
    const auto [place, fresh] = places_.try_emplace(std::move(key), points_.size());
    if (fresh) {
      SampledPoint point;
      point.row.line = line;
      if (put_all(cells, point.row))
        points_.push_back(std::move(point));
      else
        place->second = kUnusable;
    }
    if (place->second == kUnusable) return file.ignore("samples whose size or ranks cannot be read");
    points_[place->second].times_s.push_back(time_s);
  }

  // Whether all can be read.
  bool put_all(const std::vector<std::string>& cells, Measurement& row) const {
    row.quantity = "time_s";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& name = names_[i];
      if (name == "sample" || name == "time_s" || name == "campaign_begun_unix_s") continue;
      if (!put_cell(name, cells[i], row)) return false;
    }
    return true;
  }

  static constexpr std::size_t kUnusable = static_cast<std::size_t>(-1);
  std::vector<std::string> names_;
  std::vector<SampledPoint> points_;
  std::map<std::string, std::size_t> places_;
};

bool is_bench_samples(std::string_view head) {
  return head.starts_with(kSampleHead) ||
         (head.starts_with("\xEF\xBB\xBF") && head.substr(3).starts_with(kSampleHead));
}

}  // namespace

std::vector<ImportFormat> bench_samples() {
  return {{{.name = "samples", .summary = "raw samples of simsgd-measure's micro-benchmarks", .citation = ""},
           is_bench_samples,
           make_importer<BenchSamples>}};
}

}  // namespace simsgd::importers
