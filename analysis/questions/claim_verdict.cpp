#include "analysis/questions/claim_verdict.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/questions/claim_cells.hpp"
#include "analysis/statistics/intervals.hpp"
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
    verdict.low = *std::min_element(values.begin(), values.end());
    verdict.high = *std::max_element(values.begin(), values.end());
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
      const bool agree = std::all_of(one.inputs.begin(), one.inputs.end(), [&](const auto& each) {
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
    right += *std::max_element(counts.begin(), counts.end());
    dependence.sides.push_back({values, counts});
  }
  std::stable_sort(dependence.sides.begin(), dependence.sides.end(),
                   [](const auto& a, const auto& b) { return before(a.values, b.values); });
  dependence.inputs = std::move(inputs);
  dependence.explained = cells.empty() ? 0 : static_cast<double>(right) / static_cast<double>(cells.size());
  return dependence;
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

std::string state_name(ClaimState state) {
  const std::array<const char*, kClaimStates> names = {"reproduced", "reproduced in sign, outside the range",
                                                       "within noise", "reversed", "no value"};
  return names[static_cast<std::size_t>(state)];
}

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

ClaimVerdict judge_claim(const Claim& claim, const std::string& file, const frame::Frame& frame) {
  ClaimVerdict verdict;
  verdict.claim = claim;
  verdict.file = file;
  std::vector<InputError> errors;
  for (std::size_t i = 0; i < claim.comparisons.size(); ++i) {
    const ClaimComparison& comparison = claim.comparisons[i];
    std::vector<ClaimCell> cells = judged_cells(comparison, claim.for_all, frame);
    if (cells.empty())
      errors.push_back({file, child("/claim/comparisons", i), "finds no runs that differ in its sides alone",
                        comparison.name,
                        "Name values that the axes have, and what the sides need not share in \"free\""});
    keep_only(cells, inputs_of(cells, claim));
    verdict.settings = i == 0 ? cells : joined(verdict.settings, cells);
    verdict.comparisons.push_back(summed_up(std::move(cells)));
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  verdict.inputs = inputs_of(verdict.settings, claim);
  for (const ClaimCell& cell : verdict.settings) ++verdict.counts[static_cast<std::size_t>(cell.state)];
  const auto most = std::max_element(verdict.counts.begin(), verdict.counts.end());
  const auto settings = static_cast<double>(verdict.settings.size());
  if (static_cast<double>(*most) >= kMostSettings * settings - 1e-9)
    verdict.state = static_cast<ClaimState>(most - verdict.counts.begin());
  if (*most < verdict.settings.size()) verdict.dependence = find_dependence(verdict.settings, verdict.inputs);
  return verdict;
}

}  // namespace simsgd
