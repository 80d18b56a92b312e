#include "results/summary_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/field.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/record.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kLossSteps = 50;

OrderedJson member(const OrderedJson* document, const std::string& pointer) {
  const OrderedJson::json_pointer at(pointer);
  return document != nullptr && document->contains(at) ? document->at(at) : OrderedJson();
}

std::optional<double> number(const OrderedJson& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// The last element whose step is at most `step`; null where there is none.
const OrderedJson* last_until(const OrderedJson& series, std::uint64_t step) {
  const OrderedJson* last = nullptr;
  for (const OrderedJson& each : series)
    if (each.at("step").get<std::uint64_t>() <= step) last = &each;
  return last;
}

std::optional<double> mean_loss_until(const OrderedJson& series, std::uint64_t step) {
  std::vector<double> losses;
  for (const OrderedJson& each : series) {
    const auto loss = number(each, "train_loss");
    if (loss && each.at("step").get<std::uint64_t>() <= step) losses.push_back(*loss);
  }
  if (losses.empty()) return std::nullopt;
  const std::size_t count = std::min(kLossSteps, losses.size());
  double sum = 0;
  for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

}  // namespace

RunView::RunView(const OrderedJson* document)
    : document_(document),
      scenario_(member(document, "/scenario")),
      train_(member(document, "/series/train")),
      test_(member(document, "/series/test")) {}

std::optional<double> RunView::metric(const std::string& name) const {
  return failed() ? std::nullopt : number(document_->at("metrics"), name);
}

std::optional<std::pair<double, double>> RunView::interval(const std::string& name) const {
  constexpr double kShown = 0.9;
  if (failed() || !document_->contains("intervals") || !document_->at("intervals").contains(name))
    return std::nullopt;
  for (const OrderedJson& each : document_->at("intervals").at(name))
    if (each.at("level").get<double>() == kShown)
      return std::pair(each.at("low").get<double>(), each.at("high").get<double>());
  return std::nullopt;
}

std::string RunView::text(const std::string& pointer) const {
  const OrderedJson value = member(&scenario_, pointer);
  return value.is_null() ? "" : printable(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string RunView::clock() const { return failed() ? "" : document_->value("clock", ""); }

std::string RunView::steps() const {
  std::vector<double> steps;
  for (const OrderedJson& each : member(document_, "/worker_spreads/steps")) steps.push_back(each);  // brief
  for (const OrderedJson& worker : member(document_, "/workers")) steps.push_back(worker.at("steps"));
  if (steps.empty()) return "";
  const auto [least, most] = std::ranges::minmax(steps);
  return (least < most ? human_number(least) + " to " : "") + human_number(most);
}

std::array<std::optional<LearningMark>, 4> RunView::marks() const {
  std::array<std::optional<LearningMark>, 4> marks;
  if (failed() || train_.empty() || member(&scenario_, "/learner").is_null()) return marks;
  const auto total = train_.back().at("step").get<std::uint64_t>();
  std::uint64_t before = 0;
  for (std::size_t quarter = 0; quarter < marks.size(); ++quarter) {
    const std::uint64_t until = total * (quarter + 1) / 4;
    const OrderedJson* point = last_until(test_.empty() ? train_ : test_, until);
    if (point == nullptr || point->at("step") == before) continue;
    before = point->at("step").get<std::uint64_t>();
    marks[quarter] = {before, point->at("time_s").get<double>(), mean_loss_until(train_, before),
                      number(*point, "test_accuracy")};
  }
  return marks;
}

std::string RunView::method() const {
  const std::string name = text("/algorithm/name");
  if (name != "python") return name;
  const std::string function = text("/algorithm/function");
  return (function.empty() ? std::filesystem::path(text("/algorithm/file")).stem().string() : function) +
         " (Python)";
}

std::optional<double> RunView::best_accuracy() const {
  std::optional<double> best;
  for (const OrderedJson& point : test_)
    if (const auto accuracy = number(point, "test_accuracy")) best = std::max(best.value_or(0), *accuracy);
  return best;
}

std::optional<double> RunView::time_to_accuracy_s(double accuracy) const {
  for (const OrderedJson& point : test_)
    if (number(point, "test_accuracy").value_or(-1) >= accuracy) return number(point, "time_s");
  return std::nullopt;
}

std::vector<std::string> RunView::approximations() const {
  std::vector<std::string> found;
  for (const OrderedJson& each : member(document_, "/fidelity"))
    if (!each.at("exact").get<bool>())
      found.push_back(fmt::format("{} by {} ({})", each.at("operation").get<std::string>(),
                                  each.at("fidelity").get<std::string>(),
                                  each.at("reason").get<std::string>()));
  return found;
}

std::vector<std::string> RunView::notes() const {
  std::vector<std::string> texts;
  for (const OrderedJson& note : member(document_, "/notes")) texts.push_back(note.get<std::string>());
  return texts;
}

std::vector<RunView> run_views(const std::vector<SummaryColumn>& runs) {
  std::vector<RunView> views;
  for (const SummaryColumn& run : runs) views.emplace_back(run.document);
  return views;
}

std::string target_label(const std::vector<RunView>& runs) {
  if (std::ranges::none_of(runs, [](const RunView& run) { return !run.text("/target").empty(); })) return "";
  const std::string metric = common_text(runs, [](const RunView& run) { return run.text("/target/metric"); });
  const std::string value = common_text(runs, [](const RunView& run) { return run.text("/target/value"); });
  if (metric.empty() || value.empty()) return "Time to the target";
  if (metric == "test_accuracy") return fmt::format("Time to {:.4g} % test accuracy", 100 * std::stod(value));
  return fmt::format("Time to a {} loss of {}", metric == "train_loss" ? "training" : "test", value);
}

std::string summary_heading(const std::vector<RunView>& runs) {
  const auto common = [&runs](const std::string& pointer) {
    return common_text(runs, [&pointer](const RunView& run) { return run.text(pointer); });
  };
  std::vector<std::string> parts;
  const std::string workers = common("/cluster/workers"), device = common("/cluster/device/name");
  const std::string cluster = common("/cluster/name"), workload = common("/workload/name");
  // A real run is on another cluster than its scenario's.
  const bool real = common_text(runs, [](const RunView& run) { return run.clock(); }) == "wall";
  if (real && !workers.empty()) parts.push_back(workers + " ranks, measured");
  if (!real && !workers.empty())
    parts.push_back(device.empty() ? workers + " workers" : workers + " x " + device);
  if (!real && !cluster.empty()) parts.push_back(cluster);
  const auto batch = [](const std::string& size) { return size.empty() ? "" : " (batch " + size + ")"; };
  const std::string model = common("/learner/model/name"), data = common("/learner/data/name");
  if (!workload.empty() && !(real && !model.empty()))
    parts.push_back("timing of " + workload + batch(common("/workload/batch")));
  if (!model.empty() && !data.empty())
    parts.push_back(model + " on " + data + batch(common("/learner/batch")));
  const std::string method = common_text(runs, [](const RunView& run) { return run.method(); });
  if (!method.empty()) parts.push_back(method);
  const std::string name = common("/name");
  std::string heading;
  for (const std::string& part : parts) heading += (heading.empty() ? "" : ", ") + part;
  return name.empty() || heading.empty() ? name + heading : name + ": " + heading;
}

namespace {

/// A worker that is slower than the median of the others by less than this is as fast.
constexpr double kSlower = 0.01;

std::vector<std::string> row_of(const std::string& label, const std::vector<RunView>& runs,
                                const std::function<std::string(const RunView&)>& get) {
  std::vector<std::string> row = {label, ""};
  bool any = false;
  for (const RunView& run : runs) {
    const std::string text = get(run);
    any = any || !text.empty();
    row.push_back(text.empty() ? "-" : text);
  }
  return any ? row : std::vector<std::string>();
}

}  // namespace

std::string RunView::network_fidelity() const {
  if (clock() == "wall" || failed() || !document_->contains("fidelity") || text("/cluster/workers") == "1")
    return "";
  std::set<std::string> names;
  bool exact = true;
  for (const nlohmann::ordered_json& each : document_->at("fidelity")) {
    names.insert(each.at("fidelity").get<std::string>());
    exact = exact && each.at("exact").get<bool>();
  }
  // Messages between two workers are always simulated one by one.
  if (names.empty() && metric("bytes_sent_per_worker_per_step").value_or(0) > 0 && clock() == "simulated")
    names.insert("messages");
  return names.empty() ? "" : fmt::format("{}, {}", fmt::join(names, " + "), exact ? "exact" : "approximate");
}

std::string slowest_worker_text(const nlohmann::ordered_json& all) {
  std::vector<BusyWorker> workers;
  for (const nlohmann::ordered_json& worker : all) {
    const double steps = worker.at("steps").get<double>();
    if (steps == 0 || !worker.contains("time_by_activity")) continue;
    const nlohmann::ordered_json& time = worker["time_by_activity"];
    double busy_s = 0;
    for (const Activity part : {Activity::compute, Activity::straggle})
      busy_s += time.value(activity_metric(part), 0.0);
    workers.push_back({busy_s / steps, worker.at("rank").get<int>()});
  }
  return slowest_of(std::move(workers));
}

std::string slowest_of(std::vector<BusyWorker> workers) {
  if (workers.size() < 2) return "";
  const auto at = std::ranges::max_element(
      workers, [](const BusyWorker& a, const BusyWorker& b) { return a.step_s < b.step_s; });
  const BusyWorker slowest = *at;
  workers.erase(at);
  std::vector<double> others;
  for (const BusyWorker& each : workers) others.push_back(each.step_s);
  const double usual = median(std::move(others));
  if (!(slowest.step_s > usual * (1 + kSlower))) return "";
  return fmt::format("rank {}, +{:.0f} %", slowest.rank, 100 * (slowest.step_s / usual - 1));
}

std::string RunView::slowest_worker() const {
  if (failed()) return "";
  if (!document_->contains("workers")) return document_->value("slowest_worker", "");
  return slowest_worker_text(document_->at("workers"));
}

std::string RunView::busiest_link() const {
  if (failed() || !document_->contains("links") || document_->at("links").empty()) return "";
  const nlohmann::ordered_json& link = document_->at("links").front();
  return fmt::format("{}, {:.0f} %", link.at("name").get<std::string>(),
                     100 * link.at("utilisation").get<double>());
}

std::vector<std::pair<std::string, double>> RunView::memory() const {
  std::vector<std::pair<std::string, double>> parts;
  if (failed() || !document_->contains("memory")) return parts;
  for (const nlohmann::ordered_json& each : document_->at("memory"))
    parts.emplace_back(each.at("part").get<std::string>(), each.at("bytes").get<double>());
  return parts;
}

std::vector<std::vector<std::string>> fact_rows(const std::vector<RunView>& runs) {
  std::vector<std::vector<std::string>> rows = {
      row_of("Slowest worker", runs, [](const RunView& run) { return run.slowest_worker(); }),
      row_of("Busiest link", runs, [](const RunView& run) { return run.busiest_link(); }),
      row_of("Network fidelity", runs, [](const RunView& run) { return run.network_fidelity(); })};
  std::erase_if(rows, [](const std::vector<std::string>& row) { return row.empty(); });
  return rows;
}

std::vector<std::optional<double>> ratios(const std::vector<std::optional<double>>& values) {
  std::vector<std::optional<double>> all;
  const auto known = std::ranges::count_if(values, [](const auto& value) { return value.has_value(); });
  if (known < 2 || !values[0] || !(*values[0] > 0)) return all;
  for (const std::optional<double>& value : values)
    all.push_back(value ? std::optional(*value / *values[0]) : std::nullopt);
  return all;
}

std::string approximation_lines(const std::vector<RunView>& runs) {
  std::set<std::string> lines;
  for (const RunView& run : runs)
    for (const std::string& each : run.approximations()) lines.insert(each);
  std::string text;
  for (const std::string& line : lines) text += "\nApproximate: " + line;
  return text.empty() ? "" : text + "\n";
}

}  // namespace simsgd
