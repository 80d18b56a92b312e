#include "results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "results/summary_view.hpp"
#include "results/text_table.hpp"
#include "sim/base/field.hpp"
#include "sim/base/units.hpp"
#include "sim/record.hpp"

namespace simsgd {

namespace {

/// Rows that are shown of a table; the document has all.
constexpr std::size_t kMostTableRows = 16;

using NumberColumn = std::vector<std::optional<double>>;

/// Parts of a step below this share of it are not shown.
constexpr double kLeastShare = 1e-6;

std::vector<double> known(const NumberColumn& values) {
  std::vector<double> known;
  for (const auto& value : values)
    if (value) known.push_back(*value);
  return known;
}

// A table with one column for each run.
class Columns {
 public:
  Columns(const std::vector<SummaryColumn>& runs) : columns_(runs), runs_(run_views(runs)) {
    table_.left = 2;
  }

  std::string text() {
    header();
    speed();
    step();
    learning();
    expense();
    while (!table_.rows.empty() && table_.rows.back().empty()) table_.rows.pop_back();
    const std::string heading = summary_heading(runs_);
    return (heading.empty() ? "" : heading + "\n\n") + table_.text() + notes();
  }

 private:
  NumberColumn each(const std::function<std::optional<double>(const RunView&)>& get) const {
    NumberColumn values;
    for (const RunView& run : runs_) values.push_back(get(run));
    return values;
  }
  NumberColumn metric(const std::string& name) const {
    return each([&name](const RunView& run) { return run.metric(name); });
  }

  void row(const std::string& label, const std::string& unit, std::vector<std::string> cells) {
    cells.insert(cells.begin(), {label, unit});
    table_.rows.push_back(std::move(cells));
  }

  /// No row where no run has a value.
  void row(const std::string& label, const std::string& unit, const NumberColumn& values,
           const std::function<std::string(double)>& show) {
    if (known(values).empty()) return;
    std::vector<std::string> cells;
    for (const auto& value : values) cells.push_back(value ? show(*value) : "-");
    row(label, unit, std::move(cells));
  }
  void row(const std::string& label, const CommonUnit& unit, const NumberColumn& values) {
    row(label, unit.name, values, [&unit](double value) { return unit.show(value); });
  }

  void gap() {
    if (!table_.rows.empty() && !table_.rows.back().empty()) table_.rows.emplace_back();
  }

  void ratio(const NumberColumn& values) {
    const NumberColumn over_first = ratios(values);
    row("  over the first", common_unit("x", 1, known(over_first)), over_first);
  }

  void interval(const std::string& name, const CommonUnit& unit) {
    std::vector<std::string> cells;
    bool any = false;
    for (const RunView& run : runs_) {
      const auto ends = run.interval(name);
      any = any || ends;
      cells.push_back(ends ? unit.show(ends->first) + " to " + unit.show(ends->second) : "-");
    }
    if (any) row("  in 90 %", unit.name, std::move(cells));
  }

  void header() {
    const std::string name = common_text(runs_, [](const RunView& run) { return run.text("/name"); });
    if (columns_.size() == 1 && (columns_[0].title == name || columns_[0].title.empty()) &&
        !runs_[0].failed())
      return;
    std::size_t lines = 0;
    for (const SummaryColumn& run : columns_) lines = std::max(lines, run.coordinates.size());
    for (std::size_t line = 0; line < std::max<std::size_t>(1, lines); ++line) {
      std::string label;
      std::vector<std::string> cells;
      for (const SummaryColumn& run : columns_) {
        const bool named = line < run.coordinates.size();
        cells.push_back(named ? run.coordinates[line].second : line == 0 ? run.title : "");
        if (named) label = run.coordinates[line].first;
      }
      row(label, "", std::move(cells));
    }
    table_.rows.push_back({"-"});
    if (std::ranges::none_of(runs_, [](const RunView& run) { return run.failed(); })) return;
    std::vector<std::string> cells;
    for (const RunView& run : runs_) cells.emplace_back(run.failed() ? "failed" : "ok");
    row("Run", "", std::move(cells));
    gap();
  }

  void speed() {
    const NumberColumn throughput = metric("throughput_samples_per_s");
    row("Throughput", common_unit("samples/s", 1, known(throughput)), throughput);
    interval("throughput_samples_per_s", common_unit("samples/s", 1, known(throughput)));
    ratio(throughput);
    row("Scaling efficiency", "%", metric("scaling_efficiency"),
        [](double value) { return grouped(100 * value, 1); });
    gap();
  }

  void step() {
    const NumberColumn totals = metric("iteration_time_mean_s");
    const CommonUnit unit = common_time_unit(known(totals));
    row("Time per step", unit, totals);
    interval("iteration_time_mean_s", unit);
    std::size_t width = 0;
    for (const double total : known(totals)) width = std::max(width, unit.show(total).size());
    for (const ActivityInfo& part : activities()) {
      part_row(activity_metric(part.activity), fmt::format("  {}", part.label), totals, unit, width);
      if (part.activity != Activity::communication || kinds_sent() < 2) continue;
      for (const TrafficInfo& kind : traffics())
        part_row(exposed_metric(kind.traffic), fmt::format("    of {}s", kind.name), totals, unit, width);
    }
    communication(unit);
    for (std::vector<std::string>& each : fact_rows(runs_)) table_.rows.push_back(std::move(each));
    gap();
  }

  void part_row(const std::string& name, const std::string& label, const NumberColumn& totals,
                const CommonUnit& unit, std::size_t width) {
    const NumberColumn values = metric(name);
    std::vector<std::string> cells;
    bool shown = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double total = totals[i].value_or(0), value = values[i].value_or(0);
      shown = shown || value > kLeastShare * total;
      cells.push_back(total > 0 ? shown_share(value / total) + pad_left(unit.show(value), width + 2) : "-");
    }
    if (shown) row(label, "", std::move(cells));
  }

  // Kinds of traffic that take time in any of the runs.
  std::ptrdiff_t kinds_sent() const {
    return std::count_if(traffics().begin(), traffics().end(), [this](const TrafficInfo& kind) {
      return std::ranges::any_of(runs_, [&kind](const RunView& run) {
        return !run.failed() && run.metric(hidden_metric(kind.traffic)).value_or(0) +
                                        run.metric(exposed_metric(kind.traffic)).value_or(0) >
                                    0;
      });
    });
  }

  void communication(const CommonUnit& unit) {
    const NumberColumn hidden = each([](const RunView& run) -> std::optional<double> {
      if (run.failed()) return std::nullopt;
      double sum = 0;
      for (const TrafficInfo& kind : traffics()) sum += run.metric(hidden_metric(kind.traffic)).value_or(0);
      return sum;
    });
    const NumberColumn bytes = metric("bytes_sent_per_worker_per_step");
    const auto any = [](const NumberColumn& values) {
      return std::ranges::any_of(values, [](const auto& value) { return value.value_or(0) > 0; });
    };
    if (any(hidden)) row("Hidden communication", unit, hidden);
    if (any(hidden) && kinds_sent() > 1)
      for (const TrafficInfo& kind : traffics())
        if (const NumberColumn part = metric(hidden_metric(kind.traffic)); any(part))
          row(fmt::format("    of {}s", kind.name), unit, part);
    if (any(bytes)) row("Sent per worker and step", common_bytes_unit(known(bytes)), bytes);
  }

  void learning() {
    const NumberColumn times = metric("simulated_time_s");
    const CommonUnit unit = common_time_unit(known(times));
    const std::string steps = common_text(runs_, [](const RunView& run) { return run.steps(); });
    if (steps.empty()) {
      std::vector<std::string> cells;
      for (const RunView& run : runs_) cells.push_back(run.failed() ? "-" : run.steps());
      row("Steps", "", std::move(cells));
    }
    row(steps.empty() ? "Time of the run" : "Time of " + steps + (steps == "1" ? " step" : " steps"), unit,
        times);
    target(unit);
    gap();
    for (std::vector<std::string>& each : learning_rows(runs_, unit)) table_.rows.push_back(std::move(each));
    gap();
  }

  void target(const CommonUnit& unit) {
    const auto show = [&](double value) { return unit.show(value); };
    if (const std::string label = target_label(runs_); !label.empty()) {
      const NumberColumn times = metric("time_to_target_s");
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < times.size(); ++i)
        cells.push_back(times[i] ? show(*times[i]) : runs_[i].failed() ? "-" : "not met");
      row(label, unit.name, std::move(cells));
      interval("time_to_target_s", unit);
      ratio(times);
      return;
    }
    // Without one: the best accuracy that all of several runs reach, in whole percents.
    const std::vector<double> best = known(each([](const RunView& run) { return run.best_accuracy(); }));
    if (best.size() < 2) return;
    const double percents = std::floor(100 * *std::ranges::min_element(best));
    row(fmt::format("Time to {} % test accuracy", percents), unit.name,
        each([&](const RunView& run) { return run.time_to_accuracy_s(percents / 100); }), show);
  }

  void expense() {
    const NumberColumn memory = metric("memory_bytes_per_gpu");
    const std::string size =
        common_text(runs_, [](const RunView& run) { return run.text("/cluster/device/memory"); });
    const CommonUnit unit = common_bytes_unit(known(memory));
    row(size.empty() || size == "0" ? "Memory per GPU" : "Memory per GPU, of " + size, unit, memory);
    if (runs_.size() == 1)
      for (const auto& [part, bytes] : runs_[0].memory())
        if (bytes > 0) row("  " + part, "", {unit.show(bytes)});
    const NumberColumn cost = metric("cost_usd"), energy = metric("energy_J");
    CommonUnit price = common_unit("USD", 1, known(cost));
    price.decimals = std::max(2, price.decimals);
    row("Cost", price, cost);
    ratio(cost);
    row("Energy", common_unit("kWh", kJoulePerKWh, known(energy)), energy);
    const NumberColumn staleness = metric("staleness_mean");
    row("Staleness, mean", "steps", staleness, [](double value) { return grouped(value, 2); });
  }

  std::string notes() const { return approximation_lines(runs_) + notes_block(columns_, runs_); }

  const std::vector<SummaryColumn>& columns_;
  std::vector<RunView> runs_;
  TextTable table_;
};

}  // namespace

std::string summary_table(const std::vector<SummaryColumn>& runs) {
  return runs.size() > kMostSummaryColumns ? summary_of_rows(runs) : Columns(runs).text();
}

namespace {

// What rows, their heading and what stands below them show of a document.
constexpr std::array<std::string_view, 16> kShownInRows = {"/scenario/name",
                                                           "/scenario/cluster/name",
                                                           "/scenario/cluster/workers",
                                                           "/scenario/cluster/device/name",
                                                           "/scenario/workload/name",
                                                           "/scenario/workload/batch",
                                                           "/scenario/learner/model/name",
                                                           "/scenario/learner/data/name",
                                                           "/scenario/learner/batch",
                                                           "/scenario/algorithm/name",
                                                           "/scenario/algorithm/function",
                                                           "/scenario/algorithm/file",
                                                           "/clock",
                                                           "/metrics",
                                                           "/fidelity",
                                                           "/notes"};

/// The end of the JSON value that begins there: a text of ours, without spaces between values.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth-- == 0) break;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  return std::min(at, text.size());
}

/// Of the object that begins there, what is shown; the rest is not read. Moves behind it.
OrderedJson shown_of(std::string_view text, std::size_t& at, const std::string& pointer) {
  OrderedJson object = OrderedJson::object();
  for (++at; at < text.size() && text[at] == '"';) {
    const std::size_t begin = std::min(text.find("\":", at), text.size() - 2) + 2;
    const std::string name(text.substr(at + 1, begin - at - 3)), here = fmt::format("{}/{}", pointer, name);
    const auto within = [&here](std::string_view each) { return each.starts_with(here + "/"); };
    at = begin;
    if (text.substr(at).starts_with('{') && std::ranges::any_of(kShownInRows, within)) {
      object[name] = shown_of(text, at, here);
    } else {
      at = end_of_value(text, begin);
      if (std::ranges::find(kShownInRows, here) != kShownInRows.end())
        object[name] = OrderedJson::parse(text.substr(begin, at - begin));
    }
    if (text.substr(at).starts_with(',')) ++at;
  }
  ++at;
  return object;
}

}  // namespace

OrderedJson shortened_for_rows(const std::string& document) {
  std::size_t at = 0;
  return shown_of(document, at, "");
}

namespace {

std::string shown(const OrderedJson& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  const double value = cell.get<double>();
  if (value == std::floor(value)) return grouped(value, 0);
  return fmt::format("{:.4g}", value);
}

std::string one_table(const std::string& name, const OrderedJson& table) {
  const OrderedJson& rows = table.at("rows");
  TextTable text;
  text.rows.push_back(table.at("columns").get<std::vector<std::string>>());
  text.rows.push_back({"-"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostTableRows); ++i) {
    std::vector<std::string>& cells = text.rows.emplace_back();
    for (const OrderedJson& cell : rows[i]) cells.push_back(shown(cell));
  }
  std::string title = name;
  std::replace(title.begin(), title.end(), '_', ' ');
  std::string result = fmt::format("\n{} ({})\n{}", title, rows.size(), text.text());
  if (rows.size() > kMostTableRows)
    result += fmt::format("... and {} more: --json has them all\n", rows.size() - kMostTableRows);
  return result;
}

}  // namespace

std::string decided_tables(const OrderedJson& document) {
  std::string text;
  if (!document.contains("tables")) return text;
  for (const auto& [name, table] : document["tables"].items()) text += one_table(name, table);
  return text;
}

std::string title_of(const nlohmann::ordered_json& document, const std::string& file) {
  const nlohmann::ordered_json& name = document.at("scenario").at("name");
  return name.is_string() ? name.get<std::string>() : file;
}

std::string run_summary(const nlohmann::ordered_json& document, const std::string& title,
                        const RunFiles& files) {
  return summary_table({{title, &document}}) + decided_tables(document) +
         (files.document.empty() ? "" : files_text(files));
}

}  // namespace simsgd
