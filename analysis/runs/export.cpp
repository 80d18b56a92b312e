#include "analysis/runs/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <tuple>

#include "analysis/runs/results.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

using OrderedJson = nlohmann::ordered_json;

namespace {

OrderedJson curves_of(const StoredResults& results, const std::string& key) {
  OrderedJson curves = OrderedJson::object();
  for (const char* name : kCurveNames) {
    OrderedJson points = OrderedJson::array();
    for (const CurvePoint& each : results.curve(key, name))
      points.push_back({each.step, each.time_s, each.value});
    if (!points.empty()) curves[name] = std::move(points);
  }
  return curves;
}

OrderedJson links_of(const StoredResults& results, const std::string& key) {
  OrderedJson links = OrderedJson::array();
  for (const ResultLink& each : results.busiest_links(key))
    links.push_back({{"name", each.name}, {"utilisation", each.utilisation}, {"bytes", each.bytes}});
  return links;
}

/// Short names, in the study's order, without the seed.
std::vector<std::string> axis_names_of(const ResultStudy& study) {
  std::vector<std::string> axes;
  if (!study.points.empty())
    for (const ResultCoordinate& each : study.points.front().coordinates) axes.push_back(each.axis);
  return axes;
}

OrderedJson line_of(const StoredResults& results, const ResultStudy& study, const ResultPoint& point) {
  OrderedJson coordinates = OrderedJson::array();
  for (const ResultCoordinate& each : point.coordinates)
    coordinates.push_back(
        {{"axis", each.axis}, {"pointer", each.pointer}, {"label", each.label}, {"value", each.value}});
  OrderedJson line = {{"study", study.name},
                      {"point", point.position},
                      {"label", point.label},
                      {"coordinates", std::move(coordinates)},
                      {"seed", point.seed ? OrderedJson(*point.seed) : OrderedJson()},
                      {"key", point.key},
                      {"status", point.status ? OrderedJson(status_name(*point.status)) : OrderedJson()},
                      {"error", point.error}};
  line["metrics"] = OrderedJson::object();
  for (const auto& [name, value] : point.metrics) line["metrics"][name] = value;
  OrderedJson intervals = results.intervals(point.key);
  line["intervals"] = intervals.empty() ? OrderedJson() : std::move(intervals);
  line["curves"] = curves_of(results, point.key);
  line["workers"] = results.workers(point.key);
  line["links"] = links_of(results, point.key);
  return line;
}

}  // namespace

std::size_t export_results(const std::filesystem::path& store, std::ostream& out) {
  const StoredResults results(store);
  std::size_t without = 0;
  std::vector<const ResultStudy*> studies;
  for (const ResultStudy& each : results.studies()) studies.push_back(&each);
  std::sort(studies.begin(), studies.end(), [](const ResultStudy* a, const ResultStudy* b) {
    return std::tie(a->name, a->id) < std::tie(b->name, b->id);
  });
  for (const ResultStudy* study : studies) {
    out << OrderedJson{{"study", study->name},
                       {"id", study->id},
                       {"axes", axis_names_of(*study)},
                       {"points", study->points.size()}}
               .dump()
        << '\n';
    for (const ResultPoint& point : study->points) {
      const OrderedJson line = line_of(results, *study, point);
      if (point.status == RunStatus::ok && line["intervals"].is_null()) ++without;
      out << line.dump() << '\n';
    }
  }
  if (!out.flush()) throw RunError("The export could not be written: is the disk full?");
  return without;
}

}  // namespace simsgd
