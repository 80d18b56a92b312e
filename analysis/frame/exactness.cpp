#include "analysis/frame/exactness.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/data_sheet.hpp"

namespace simsgd::frame {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kRounding = 1e-12;  // relative

bool is_same(const std::map<std::string, double>& one, const std::map<std::string, double>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
    const double size = std::max(std::fabs(a.second), std::fabs(b.second));
    return a.first == b.first && std::fabs(a.second - b.second) <= kRounding * size;
  });
}

/// Whether any object below has such a key, and not 0 or null there.
bool has_key(const OrderedJson& json, const std::string& key) {
  if (!json.is_structured()) return false;
  return std::any_of(json.begin(), json.end(), [&](const OrderedJson& each) { return has_key(each, key); }) ||
         (json.is_object() && json.contains(key) && json[key] != 0 && !json[key].is_null());
}

/// Of a resolved scenario.
bool draws_nothing(const OrderedJson& scenario) {
  if (!scenario.is_object() || !scenario.contains("algorithm")) return false;
  const auto at = [&](const char* pointer) {
    return scenario.value(OrderedJson::json_pointer(pointer), OrderedJson());
  };
  const OrderedJson stragglers = at("/stragglers"), factor = at("/workload/compute_factor"),
                    placement = at("/cluster/placement");
  return at("/learner").is_null() && stragglers.empty() && (factor.is_null() || factor.is_number()) &&
         at("/workload/compute_time").is_null() && (!placement.is_object() || placement.contains("seed")) &&
         !has_key(scenario, "jitter") && !has_key(at("/failures"), "mean_time_between") &&
         at("/algorithm/graph").is_null();
}

}  // namespace

bool is_deterministic(const ScenarioOf& scenario_of, const std::vector<const ResultPoint*>& runs) {
  if (runs.empty()) return false;
  const std::map<std::string, double>& first = runs.front()->metrics;
  if (runs.size() == 1) {
    const auto straggle = first.find("straggle_s");  // tells most of them without reading their scenarios
    const bool drawn =
        first.contains("train_loss_final") || (straggle != first.end() && straggle->second > 0);
    return !drawn && draws_nothing(scenario_of(runs.front()->key));
  }
  return std::all_of(runs.begin(), runs.end(),
                     [&](const ResultPoint* each) { return is_same(each->metrics, first); });
}

std::optional<double> off_by(const ScenarioOf& scenario_of, const std::string& metric,
                             const std::vector<const ResultPoint*>& one,
                             const std::vector<const ResultPoint*>& other) {
  if (!is_deterministic(scenario_of, one) || !is_deterministic(scenario_of, other)) return std::nullopt;
  const std::map<std::string, double>&a = one.front()->metrics, &b = other.front()->metrics;
  const auto first = a.find(metric), second = b.find(metric);
  if (first == a.end() || second == b.end() || !goes_with_time(metric)) return 0;
  const OrderedJson scenario = scenario_of(one.front()->key);
  const OrderedJson left_out =
      scenario.is_object()
          ? scenario.value(OrderedJson::json_pointer("/cluster/calibration/left_out/half"), OrderedJson())
          : OrderedJson();
  if (left_out.is_number())
    return std::expm1(left_out.get<double>()) * std::max(std::fabs(first->second), std::fabs(second->second));
  return sheet_error_of_difference(a, b) * std::fabs(first->second - second->second);
}

}  // namespace simsgd::frame
