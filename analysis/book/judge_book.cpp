#include "analysis/book/judge_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "analysis/calibration/calibrate_stragglers.hpp"
#include "analysis/calibration/left_out.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::book {

namespace {

/// A spec that is fitted once for all of its sets.
struct Fit {
  std::unique_ptr<Calibration> calibration;
  std::unique_ptr<StragglerCalibration> stragglers;
};

/// A file of measurements that is not there; "" where all are.
std::string missing_file(const Spec& spec, const std::string& directory) {
  for (const DataSpec& data : spec.data)
    for (const std::string& file : data.files)
      if (!std::filesystem::exists(std::filesystem::path(directory) / file)) return file;
  return "";
}

/// What tells a measurement from the others of its set, for people.
std::string name_of(const Measurement& each) {
  std::string name;
  const auto add = [&](const std::string& part) {
    name += (name.empty() || part.empty() ? "" : ", ") + part;
  };
  for (const char* label :
       {"organization", "system", "benchmark", "workload", "network", "algorithm", "method"})
    if (const auto found = each.labels.find(label); found != each.labels.end()) add(found->second);
  add(each.operation);
  if (each.workers > 0) add(fmt::format("{} workers", each.workers));
  if (each.bytes > 0) add(fmt::format("{:.6g} B", each.bytes));
  for (const char* label : {"label", "outer", "placement"})
    if (const auto found = each.labels.find(label); found != each.labels.end())
      add(label + (" " + found->second));
  if (each.workers == 0 || !each.labels.contains("organization")) add(each.quantity);
  return name;
}

std::vector<Cell> left_out_cells(const Calibration& calibration, const SetSpec& set) {
  for (const LeftOutColumn& column : left_out_columns(calibration)) {
    if (column.column != set.left_out) continue;
    std::vector<Cell> cells;
    for (const auto& [number, point] : column.points) {
      const Measurement& measured = calibration.points.points[number].measurement;
      Cell& cell = cells.emplace_back(Cell{name_of(measured), measured.value, point.predicted, {}});
      if (point.high > 0)
        cell.intervals = {{0.5, point.half_low, point.half_high}, {0.9, point.low, point.high}};
    }
    return cells;
  }
  throw ConfigError({set.spec, "/fit/leave_out", "leaves out no parts of the column that the book judges",
                     set.left_out, "Correct the book or the spec"});
}

std::vector<Cell> tested_cells(const Calibration& calibration, const SetSpec& set,
                               std::vector<double>& weights) {
  for (std::size_t t = 0; t < calibration.spec.tests.size(); ++t) {
    const TestSpec& test = calibration.spec.tests[t];
    if (test.name != set.test) continue;
    std::vector<Cell> cells;
    std::vector<std::size_t> which;
    for (const JudgedPoint& each : calibration.tests[t].front().points) {
      which.push_back(each.point);
      cells.push_back({name_of(calibration.points.points[each.point].measurement), each.measured,
                       each.predicted, each.intervals});
    }
    if (!which.empty()) weights = weigh(calibration.points, which, test.octaves_equal).weights;
    return cells;
  }
  throw ConfigError({set.spec, "/tests", "has no test of the name that the book judges", set.test,
                     "Correct the book or the spec"});
}

std::vector<Cell> straggler_cells(const StragglerCalibration& stragglers) {
  std::vector<Cell> cells;
  for (const calibration::JudgedStatistic& each : stragglers.verdict->statistics)
    cells.push_back(
        {each.name, each.measured, each.predicted, {{stragglers.verdict->level, each.low, each.high}}});
  return cells;
}

class Judging {
 public:
  Judging(const BookSettings& settings, Lines last) : settings_(settings) { made_.lines = std::move(last); }

  JudgedBook run(const Book& book) {
    made_.book = book;
    for (const SetSpec& set : book.sets) made_.sets.push_back(judged(set));
    return std::move(made_);
  }

 private:
  bool wanted(const SetSpec& set) const {
    return settings_.only.empty() ||
           std::any_of(settings_.only.begin(), settings_.only.end(),
                       [&](const std::string& part) { return set.spec.find(part) != std::string::npos; });
  }

  const Fit& fit_of(Spec spec, const std::string& file) {
    const auto [found, fresh] = fits_.try_emplace(file);
    if (!fresh) return found->second;
    if (settings_.calibration.progress) settings_.calibration.progress("book: " + spec.name, 0);
    if (spec.stragglers)
      found->second.stragglers = std::make_unique<StragglerCalibration>(
          calibrate_stragglers(std::move(spec), settings_.calibration));
    else
      found->second.calibration = calibrate(std::move(spec), settings_.calibration);
    return found->second;
  }

  JudgedSet judged(const SetSpec& set) {
    JudgedSet made{set, {}, ""};
    if (!wanted(set)) {
      made.skipped = "was not asked for";
      return made;
    }
    Spec spec = load_spec(set.spec);
    if (const std::string file = missing_file(spec, settings_.calibration.data); !file.empty()) {
      made.skipped = file + " is not at hand";
      return made;
    }
    const Fit& fit = fit_of(std::move(spec), set.spec);
    std::vector<double> weights;
    std::optional<double> noise;
    if (fit.stragglers) {
      made.cells = straggler_cells(*fit.stragglers);
    } else {
      made.cells = set.test.empty() ? left_out_cells(*fit.calibration, set)
                                    : tested_cells(*fit.calibration, set, weights);
      if (fit.calibration->noise_known) noise = fit.calibration->noise;
    }
    if (made.cells.empty())
      made.skipped = "the measurements at hand have no such cell";
    else
      made_.lines[key_of(set)] = line_of(made.cells, weights, noise, settings_.date);
    return made;
  }

  const BookSettings& settings_;
  std::map<std::string, Fit> fits_;
  JudgedBook made_;
};

}  // namespace

JudgedBook judge_book(const Book& book, const BookSettings& settings, Lines last) {
  return Judging(settings, std::move(last)).run(book);
}

}  // namespace simsgd::book
