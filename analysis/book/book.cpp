#include "analysis/book/book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/calibrate_stragglers.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/use.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"

namespace simsgd::book {

namespace {

struct SetSection {
  SetSpec set;

  void fields(Fields& f) {
    f.text("name", set.name, "What is predicted").required();
    f.text("measured_on", set.measured_on, "The machine; sets of one stand together").required();
    f.text("spec", set.spec, "A calibration").required();
    f.text("left_out", set.left_out, "Column of its parts that are left out in turn, and judged");
    f.text("test", set.test, "Name of one of its tests, in place of left_out");
    f.choice(
         "seen", set.seen, std::vector<std::string>{"left out", "blind", "explored"},
         "left out: not fitted, and the model was made with the cells in sight; blind: nobody had looked at them; explored: the model was chosen by these cells")
        .required();
    f.text("cause", set.cause, "Why its worst cells are off");
  }
};

struct BookSection {
  std::string name;
  std::vector<SetSection> sets;

  void fields(Fields& f) {
    f.text("name", name, "What pages call it").required();
    f.objects("sets", sets, "Cells that are judged together", "A line of the table")
        .required()
        .least_items(1);
  }
};

}  // namespace

Book load_book(const std::string& path) {
  JsonFiles files;
  ErrorList errors;
  const std::string file = scenario_path(path);
  const Sourced sourced = resolve_uses(files, file, {}, {}, errors);
  BookSection described;
  checked(schema::of(described, "A book of judgements"), sourced.value, sourced.origins, sourced.incomplete,
          errors);
  errors.throw_if_any();
  const auto section = options_of<BookSection>(sourced.value);
  Book book{shown_name(file), section.name, {}};
  std::set<std::string> names;
  for (std::size_t i = 0; i < section.sets.size(); ++i) {
    const SetSpec& set = section.sets[i].set;
    const std::string at = child("/sets", i);
    if (set.left_out.empty() == set.test.empty())
      errors.add(sourced.value, sourced.origins, at, "needs either \"left_out\" or \"test\"",
                 "Give exactly one of them");
    if (!names.insert(set.measured_on + "\n" + set.name).second)
      errors.add(sourced.value, sourced.origins, at + "/name",
                 "is already the name of another set of this machine", "Give each a name of its own");
    book.sets.push_back(set);
  }
  errors.throw_if_any();
  return book;
}

namespace {

constexpr std::size_t kWorstCells = 10;

Coverage coverage_of(const std::vector<Cell>& cells, const std::vector<double>& weights, std::size_t level) {
  Coverage coverage{kIntervalLevels[level], 0, 0, 0, 0};
  double sum = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const auto found = std::ranges::find_if(
        cell.intervals, [&](const Interval& each) { return each.level == coverage.level && each.low > 0; });
    if (found == cell.intervals.end()) continue;
    const bool inside = cell.measured >= found->low && cell.measured <= found->high;
    ++coverage.told;
    coverage.inside += inside ? 1U : 0U;
    coverage.share += inside ? weights[i] : 0;
    coverage.width += weights[i] * (found->high / found->low - 1);
    sum += weights[i];
  }
  if (sum > 0) coverage.share /= sum, coverage.width /= sum;
  return coverage;
}

double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

Line line_from(const nlohmann::json& json) {
  Line line{json.at("date"),
            json.at("cells"),
            json.at("mean"),
            json.at("median"),
            json.at("worst"),
            json.at("bias"),
            {},
            {},
            {}};
  for (const auto& each : json.at("coverage"))
    line.coverage.push_back(
        {each.at("level"), each.at("inside"), each.at("told"), each.at("width"), each.at("share")});
  if (json.contains("noise")) line.noise = json.at("noise").get<double>();
  for (const auto& each : json.at("worst_cells"))
    line.worst_cells.push_back({each.at("name"), each.at("error")});
  return line;
}

}  // namespace

const Coverage* Line::at(double level) const {
  for (const Coverage& each : coverage)
    if (each.level == level && each.told > 0) return &each;
  return nullptr;
}

Line line_of(const std::vector<Cell>& cells, const std::vector<double>& given, std::optional<double> noise,
             const std::string& date) {
  const std::vector<double> weights = given.empty() ? std::vector<double>(cells.size(), 1) : given;
  std::vector<JudgedPoint> points;
  for (std::size_t i = 0; i < cells.size(); ++i)
    points.push_back({i, cells[i].measured, cells[i].predicted, {}, 0});
  const ErrorSummary summary = summarise_errors(points, weights);
  Line line{date, cells.size(), summary.mean, summary.median, summary.worst, summary.bias, {}, noise, {}};
  for (std::size_t level = 0; level < kIntervalLevels.size(); ++level)
    line.coverage.push_back(coverage_of(cells, weights, level));
  for (const Cell& cell : cells) line.worst_cells.push_back({cell.name, cell.error()});
  std::ranges::stable_sort(line.worst_cells, [](const WorstCell& a, const WorstCell& b) {
    return std::fabs(a.error) > std::fabs(b.error);
  });
  line.worst_cells.resize(std::min(line.worst_cells.size(), kWorstCells));
  return line;
}

std::string key_of(const SetSpec& set) { return set.measured_on + ": " + set.name; }

nlohmann::ordered_json lines_json(const Lines& lines) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const auto& [key, line] : lines) {
    nlohmann::ordered_json one = {{"date", line.date},
                                  {"cells", line.cells},
                                  {"mean", rounded(line.mean)},
                                  {"median", rounded(line.median)},
                                  {"worst", rounded(line.worst)},
                                  {"bias", rounded(line.bias)},
                                  {"coverage", nlohmann::ordered_json::array()}};
    for (const Coverage& each : line.coverage)
      one["coverage"].push_back({{"level", each.level},
                                 {"inside", each.inside},
                                 {"told", each.told},
                                 {"share", rounded(each.share)},
                                 {"width", rounded(each.width)}});
    if (line.noise) one["noise"] = rounded(*line.noise);
    one["worst_cells"] = nlohmann::ordered_json::array();
    for (const WorstCell& each : line.worst_cells)
      one["worst_cells"].push_back({{"name", each.name}, {"error", rounded(each.error)}});
    all[key] = std::move(one);
  }
  return all;
}

Lines read_lines(const std::string& file) {
  const nlohmann::json json = nlohmann::json::parse(read_file(file), nullptr, false);
  Lines lines;
  try {
    for (const auto& each : json.items()) lines[each.key()] = line_from(each.value());
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError({file, "", "is not a file of judged lines", error.what(),
                       "Write it again with `simsgd book --record`"});
  }
  return lines;
}

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
  throw ConfigError({set.spec, "/fit/leave_out", "does not leave out the column that the book judges",
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
  throw ConfigError({set.spec, "/tests", "has no test with the name that the book judges", set.test,
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
    return settings_.only.empty() || std::ranges::any_of(settings_.only, [&](const std::string& part) {
             return set.spec.find(part) != std::string::npos;
           });
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
      made.skipped = "was not selected";
      return made;
    }
    Spec spec = load_spec(set.spec);
    if (const std::string file = missing_file(spec, settings_.calibration.data); !file.empty()) {
      made.skipped = file + " was not found";
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
      made.skipped = "the measurements have no such cell";
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
