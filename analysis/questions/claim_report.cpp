#include "analysis/questions/claim_report.hpp"
#include "analysis/faces/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "analysis/markdown.hpp"
#include "scenarios/language/axis_values.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

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

std::string counts_text(const StateCounts& counts) {
  std::string text;
  for (std::size_t state = 0; state < kClaimStates; ++state)
    if (counts[state] > 0)
      text += fmt::format("{}{} {} of {}", text.empty() ? "" : "; ",
                          state_name(static_cast<ClaimState>(state)), counts[state], total(counts));
  return text;
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
  std::string page = fmt::format(
      "# Claims of the papers, tested\n\n"
      "Which claims of papers hold when everything that their authors do not tell is varied? This page is printed by\n\n"
      "```\n{}\n```\n\n"
      "A claim is judged in many settings, which vary what its authors do not tell. Each section says which values were taken, and why;\n"
      "they were chosen before a verdict was seen. A claim is reproduced in a setting where all its comparisons hold. An effect within\n"
      "its 95 % interval over seeds (Student, paired), or within the noise that the study gives, counts as none. A verdict is that of at\n"
      "least two thirds of the settings. Where there is none, the one or two inputs are named that tell the settings apart best.\n",
      command);
  page += markdown::heading({"claim", "", "verdict", "reproduced in"});
  for (const ClaimVerdict& each : verdicts)
    page += markdown::row_text({fmt::format("[{}](../scenarios/claims/{})", each.claim.id, file_name(each)),
                                each.claim.text, verdict_text(each), reproduced_text(each.counts)});
  for (const ClaimVerdict& each : verdicts) page += section_text(each);
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
