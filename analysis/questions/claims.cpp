#include "analysis/questions/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "analysis/faces/table.hpp"
#include "analysis/statistics/intervals.hpp"
#include "scenarios/language/axis_values.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

void take_apart(const std::string& pointer, const Json& value, std::map<std::string, Json>& settings) {
  if (!value.is_object() || value.empty()) {
    settings[pointer] = value;
    return;
  }
  for (const auto& each : value.items()) take_apart(child(pointer, each.key()), each.value(), settings);
}

ComparisonVerdict summed_up(std::vector<ClaimCell> cells) {
  ComparisonVerdict verdict;
  std::vector<double> values;
  for (const ClaimCell& cell : cells) {
    ++verdict.counts[static_cast<std::size_t>(cell.state)];
    if (!std::isnan(cell.low)) values.insert(values.end(), {cell.low, cell.high});
  }
  if (!values.empty()) {
    verdict.low = *std::ranges::min_element(values);
    verdict.high = *std::ranges::max_element(values);
    verdict.median = statistics::median(values);
  }
  verdict.cells = std::move(cells);
  return verdict;
}

/// Only these, and all of these: null where a setting has none, such as an option of another plug-in.
void keep_only(std::vector<ClaimCell>& cells, const std::vector<std::string>& inputs) {
  for (ClaimCell& cell : cells) {
    ClaimInputs kept;
    for (const std::string& input : inputs) {
      const auto found = cell.inputs.find(input);
      kept[input] = found == cell.inputs.end() ? Json() : found->second;
    }
    cell.inputs = std::move(kept);
  }
}

std::vector<std::string> inputs_of(const std::vector<ClaimCell>& cells, const Claim& claim) {
  std::vector<ClaimInputs> all;
  for (const ClaimCell& cell : cells) all.push_back(cell.inputs);
  return varying_inputs(all, claim.names);
}

/// Settings of both, where they agree; the worse state.
std::vector<ClaimCell> joined(const std::vector<ClaimCell>& a, const std::vector<ClaimCell>& b) {
  std::vector<ClaimCell> all;
  for (const ClaimCell& one : a)
    for (const ClaimCell& other : b) {
      const bool agree = std::ranges::all_of(one.inputs, [&](const auto& each) {
        const auto found = other.inputs.find(each.first);
        return found == other.inputs.end() || found->second == each.second;
      });
      if (!agree) continue;
      ClaimCell cell = one;
      cell.inputs.insert(other.inputs.begin(), other.inputs.end());
      cell.state = std::max(one.state, other.state);
      all.push_back(std::move(cell));
    }
  return all;
}

/// Numbers and texts that begin with one in their order, then the rest.
bool before(const std::vector<Json>& a, const std::vector<Json>& b) {
  const auto key = [](const Json& value) {
    double number = std::numeric_limits<double>::infinity();
    if (value.is_number()) number = value.get<double>();
    if (value.is_string()) {
      const auto text = value.get<std::string>();
      std::from_chars(text.data(), text.data() + text.size(), number);
    }
    return std::pair(number, value.dump());
  };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [&](const Json& x, const Json& y) { return key(x) < key(y); });
}

Dependence split(const std::vector<ClaimCell>& cells, std::vector<std::string> inputs) {
  Dependence dependence;
  std::map<std::vector<Json>, StateCounts> sides;
  for (const ClaimCell& cell : cells) {
    std::vector<Json> values;
    for (const std::string& input : inputs) {
      const auto found = cell.inputs.find(input);
      values.push_back(found == cell.inputs.end() ? Json() : found->second);
    }
    ++sides[values][static_cast<std::size_t>(cell.state)];
  }
  std::size_t right = 0;
  for (const auto& [values, counts] : sides) {
    right += *std::ranges::max_element(counts);
    dependence.sides.push_back({values, counts});
  }
  std::ranges::stable_sort(dependence.sides,
                           [](const auto& a, const auto& b) { return before(a.values, b.values); });
  dependence.inputs = std::move(inputs);
  dependence.explained = cells.empty() ? 0 : static_cast<double>(right) / static_cast<double>(cells.size());
  return dependence;
}

/// Which inputs best tell the states of the cells apart.
std::optional<Dependence> find_dependence(const std::vector<ClaimCell>& cells,
                                          const std::vector<std::string>& inputs) {
  const double alone = split(cells, {}).explained;  // all settings on one side
  std::optional<Dependence> best;
  for (const std::string& input : inputs) {
    Dependence one = split(cells, {input});
    if (!best || one.explained > best->explained + 1e-12) best = std::move(one);
  }
  const double single = best ? best->explained : alone;
  // A second input has to tell a good part more apart; it also finds what neither of the two tells alone.
  std::optional<Dependence> pair;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t j = i + 1; j < inputs.size(); ++j) {
      Dependence two = split(cells, {inputs[i], inputs[j]});
      if (!pair || two.explained > pair->explained + 1e-12) pair = std::move(two);
    }
  if (pair && pair->explained >= single + 0.1) best = std::move(pair);
  if (!best || best->explained <= alone + 1e-12) return std::nullopt;
  return best;
}

std::string shown_input(const Claim& claim, std::string pointer) {
  if (pointer.ends_with(kOfFirstSide)) pointer.resize(pointer.size() - std::string(kOfFirstSide).size());
  const auto named = claim.names.find(pointer);
  return named == claim.names.end() ? axis_label(pointer) : named->second;
}

std::string shown_inputs(const Claim& claim, const std::vector<std::string>& pointers) {
  std::string text;
  for (const std::string& each : pointers) text += (text.empty() ? "" : " and ") + shown_input(claim, each);
  return text;
}

/// Null: an input that is not there, such as an option of another plug-in.
std::string shown_input_value(const Json& value) { return value.is_null() ? "none" : value_label(value); }

std::string shown_values(const Claim& claim, const Dependence& dependence, const Dependence::Side& side) {
  std::string text;
  for (std::size_t i = 0; i < side.values.size(); ++i)
    text += (i == 0 ? "" : ", ") + shown_input(claim, dependence.inputs[i]) + " " +
            shown_input_value(side.values[i]);
  return text;
}

std::string number_text(double value, const ClaimComparison& comparison) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : value > 0 ? "unbounded" : "0";
  return comparison.quantity == ClaimComparison::Quantity::ratio ? fmt::format("{:.2f}", value)
                                                                 : fmt::format("{:+.3f}", value);
}

std::string range_text(const ComparisonVerdict& verdict, const ClaimComparison& comparison) {
  const std::string low = number_text(verdict.low, comparison), high = number_text(verdict.high, comparison);
  return low == high ? low
                     : fmt::format("{} to {}, median {}", low, high, number_text(verdict.median, comparison));
}

std::size_t total(const StateCounts& counts) {
  std::size_t all = 0;
  for (const std::size_t each : counts) all += each;
  return all;
}

std::string state_name(ClaimState state) {
  const std::array<const char*, kClaimStates> names = {"reproduced", "reproduced in sign, outside the range",
                                                       "within noise", "reversed", "no value"};
  return names[static_cast<std::size_t>(state)];
}

/// "reproduced 18 of 24, reversed 6 of 24".
std::string counts_text(const StateCounts& counts) {
  std::string text;
  for (std::size_t state = 0; state < kClaimStates; ++state)
    if (counts[state] > 0)
      text += fmt::format("{}{} {} of {}", text.empty() ? "" : "; ",
                          state_name(static_cast<ClaimState>(state)), counts[state], total(counts));
  return text;
}

/// Of each comparison: name, measured, simulated, settings.
Table comparisons_of(const ClaimVerdict& verdict) {
  Table table;
  table.header = {"compared", "measured", "simulated", "settings"};
  table.align = "llll";
  for (std::size_t i = 0; i < verdict.comparisons.size(); ++i) {
    const ClaimComparison& comparison = verdict.claim.comparisons[i];
    table.rows.push_back({comparison.name, comparison.measured,
                          range_text(verdict.comparisons[i], comparison),
                          counts_text(verdict.comparisons[i].counts)});
  }
  return table;
}

/// Settings that agree with the one that is claimed, "90 of 96".
std::string reproduced_text(const StateCounts& counts) {
  return fmt::format("{} of {}", counts[0], total(counts));
}

std::string dependence_text(const ClaimVerdict& verdict) {
  if (!verdict.dependence) return "";
  std::string text;
  for (const Dependence::Side& side : verdict.dependence->sides)
    text += fmt::format("- {}: {}\n", shown_values(verdict.claim, *verdict.dependence, side),
                        counts_text(side.counts));
  return text;
}

std::string told_apart(const ClaimVerdict& verdict) {
  return fmt::format("{:.0f} % of the settings are told apart by {}:\n", 100 * verdict.dependence->explained,
                     shown_inputs(verdict.claim, verdict.dependence->inputs));
}

std::string file_name(const ClaimVerdict& verdict) {
  return std::filesystem::path(verdict.file).filename().string();
}

std::string section_text(const ClaimVerdict& verdict) {
  const Claim& claim = verdict.claim;
  const std::string file = file_name(verdict);
  std::string page =
      fmt::format("\n## {}: {}\n{}\n\n{}. Measured: {}. Study: [{}](../scenarios/claims/{})\n", claim.id,
                  verdict_text(verdict), claim.text, claim.source, claim.measured, file, file);
  page += markdown_rows(comparisons_of(verdict));
  page +=
      fmt::format("\nAll comparisons hold in {} of {} settings", verdict.counts[0], total(verdict.counts));
  std::vector<std::string> names;
  for (const std::string& input : verdict.inputs) names.push_back(shown_input(claim, input));
  page += names.empty() ? ".\n" : fmt::format(" of {}.\n", fmt::join(names, ", "));
  if (verdict.dependence) page += told_apart(verdict) + "\n" + dependence_text(verdict);
  page += "\nWhat was varied: " + claim.inputs + "\n";
  if (!claim.remark.empty()) page += "\n" + claim.remark + "\n";
  return page;
}

}  // namespace

std::map<std::string, Json> claim_settings(const ResultPoint& point) {
  std::map<std::string, Json> settings;
  for (const ResultCoordinate& each : point.coordinates) {
    const Json value = Json::parse(each.value.dump());
    if (!each.pointer.empty())
      take_apart(each.pointer, value, settings);
    else
      for (const auto& [pointer, set] : value.items()) take_apart(pointer, set, settings);  // a named value
  }
  return settings;
}

ClaimVerdict judge_claim(const Claim& claim, const std::string& file, const frame::Frame& frame) {
  ClaimVerdict verdict;
  verdict.claim = claim;
  verdict.file = file;
  std::vector<InputError> errors;
  for (std::size_t i = 0; i < claim.comparisons.size(); ++i) {
    const ClaimComparison& comparison = claim.comparisons[i];
    std::vector<ClaimCell> cells = judged_cells(comparison, claim.for_all, frame);
    if (cells.empty())
      errors.push_back(
          {file, child("/claim/comparisons", i), "has no two runs that differ only in its sides",
           comparison.name,
           "Use values that the axes have, and list in \"free\" the axes that the sides need not share"});
    keep_only(cells, inputs_of(cells, claim));
    verdict.settings = i == 0 ? cells : joined(verdict.settings, cells);
    verdict.comparisons.push_back(summed_up(std::move(cells)));
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  verdict.inputs = inputs_of(verdict.settings, claim);
  for (const ClaimCell& cell : verdict.settings) ++verdict.counts[static_cast<std::size_t>(cell.state)];
  const auto most = std::ranges::max_element(verdict.counts);
  const auto settings = static_cast<double>(verdict.settings.size());
  if (static_cast<double>(*most) >= kMostSettings * settings - 1e-9)
    verdict.state = static_cast<ClaimState>(most - verdict.counts.begin());
  if (*most < verdict.settings.size()) verdict.dependence = find_dependence(verdict.settings, verdict.inputs);
  return verdict;
}

TestedClaim test_claim(const std::string& path, const Overrides& overrides, const SweepSettings& settings,
                       const std::function<void(const SweepProgress&)>& progress) {
  const Claim claim = load_claim(path, overrides);
  const Study study = load_study(path, overrides);
  TestedClaim tested;
  ResultStudy results{"", study.name, study.file, {}, {}};
  std::map<std::string, nlohmann::ordered_json> targets;  // of runs, by key
  const auto take = [&](const PointResult& result) {
    ResultPoint& point = results.points.emplace_back(result_point(study, result.point));
    point.status = result.status;
    point.error = result.error;
    if (result.status == RunStatus::ok) {
      const RunRow run = result.run();
      point.metrics = run.metrics;
      targets[result.point.key]["target"] =
          run.read().at("scenario").value("target", nlohmann::ordered_json());
    } else if (++tested.failed == 1) {
      tested.first_failure = result.point.point.label + ": " + result.error;
    }
  };
  run_sweep(study, settings, {{}, take, progress});
  tested.points = results.points.size();
  const frame::Frame frame(results, {[&](const std::string& key) { return targets[key]; }, {}, {}, {}});
  tested.verdict = judge_claim(claim, study.file, frame);
  return tested;
}

std::string verdict_text(const ClaimVerdict& verdict) {
  if (verdict.state) return state_name(*verdict.state);
  if (!verdict.dependence) return "depends on several inputs";
  return "depends on " + shown_inputs(verdict.claim, verdict.dependence->inputs);
}

std::string claims_text(const std::vector<ClaimVerdict>& verdicts) {
  std::string text;
  for (const ClaimVerdict& verdict : verdicts) {
    text += fmt::format("{}{}: {} ({})\n{}\n{}", text.empty() ? "" : "\n", verdict.claim.id,
                        verdict_text(verdict), counts_text(verdict.counts), verdict.claim.text,
                        text_rows(comparisons_of(verdict)));
    if (verdict.dependence) text += told_apart(verdict) + dependence_text(verdict);
  }
  return text;
}

std::string claims_markdown(const std::vector<ClaimVerdict>& verdicts, const std::string& command) {
  std::string page =
      "# Claims of the papers, tested\n\n"
      "Which claims of papers hold when everything that their authors do not tell is varied?\n\n"
      "A claim is judged in many settings, which vary what its authors do not tell. Each section says which values were taken, and why;\n"
      "they were chosen before a verdict was seen. A claim is reproduced in a setting where all its comparisons hold. An effect within\n"
      "its 95 % interval over seeds (Student, paired), or within the noise that the study gives, counts as none. A verdict is that of at\n"
      "least two thirds of the settings. Where there is none, the one or two inputs are named that tell the settings apart best.\n";
  page += markdown::heading({"claim", "", "verdict", "reproduced in"});
  for (const ClaimVerdict& each : verdicts)
    page += markdown::row_text({fmt::format("[{}](../scenarios/claims/{})", each.claim.id, file_name(each)),
                                each.claim.text, verdict_text(each), reproduced_text(each.counts)});
  for (const ClaimVerdict& each : verdicts) page += section_text(each);
  page += fmt::format("\n## The command that prints this page\n\n```\n{}\n```\n", command);
  return page;
}

OrderedJson claims_json(const std::vector<ClaimVerdict>& verdicts) {
  OrderedJson all = OrderedJson::array();
  const auto counts_json = [](const StateCounts& counts) {
    OrderedJson json;
    for (std::size_t state = 0; state < kClaimStates; ++state)
      json[state_name(static_cast<ClaimState>(state))] = counts[state];
    return json;
  };
  const auto finite = [](double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(); };
  for (const ClaimVerdict& verdict : verdicts) {
    OrderedJson json = {{"id", verdict.claim.id},
                        {"text", verdict.claim.text},
                        {"study", verdict.file},
                        {"verdict", verdict_text(verdict)},
                        {"settings", counts_json(verdict.counts)},
                        {"inputs", verdict.inputs}};
    for (std::size_t i = 0; i < verdict.comparisons.size(); ++i) {
      const ComparisonVerdict& each = verdict.comparisons[i];
      OrderedJson cells = OrderedJson::array();
      for (const ClaimCell& cell : each.cells)
        cells.push_back({{"inputs", cell.inputs},
                         {"state", state_name(cell.state)},
                         {"low", finite(cell.low)},
                         {"high", finite(cell.high)}});
      json["comparisons"].push_back({{"name", verdict.claim.comparisons[i].name},
                                     {"measured", verdict.claim.comparisons[i].measured},
                                     {"low", finite(each.low)},
                                     {"median", finite(each.median)},
                                     {"high", finite(each.high)},
                                     {"settings", counts_json(each.counts)},
                                     {"cells", std::move(cells)}});
    }
    if (verdict.dependence) {
      OrderedJson sides = OrderedJson::array();
      for (const Dependence::Side& side : verdict.dependence->sides)
        sides.push_back({{"values", side.values}, {"settings", counts_json(side.counts)}});
      json["depends_on"] = {{"inputs", verdict.dependence->inputs},
                            {"explained", verdict.dependence->explained},
                            {"sides", std::move(sides)}};
    }
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace simsgd
