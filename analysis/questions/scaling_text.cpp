// The answer in words, as a picture, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "analysis/faces/table.hpp"
#include "analysis/questions/scaling.hpp"
#include "results/text_table.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"
#include "sim/record.hpp"

namespace simsgd {

namespace {

constexpr int kBar = 48;  // characters of the longest step

/// What is kept of perfect speed-up: "51 %", and "0.15 %" rather than 0.
std::string kept(double share) {
  return share < 0.00995 ? fmt::format("{:.2g} %", 100 * share) : shown_share(share);
}

/// "9.4 Gb/s": as networks are sold.
std::string rate(double Bps) {
  const double bits = 8 * Bps;
  for (const auto& [unit, size] : {std::pair{"Tb/s", 1e12}, {"Gb/s", 1e9}, {"Mb/s", 1e6}})
    if (bits >= size) return fmt::format("{:.3g} {}", bits / size, unit);
  return fmt::format("{:.3g} kb/s", bits / 1e3);
}

std::string gpus(int count) { return count == 1 ? "1 GPU" : fmt::format("{} GPUs", count); }

const ScalingCase* of_size(const ScalingAnswer& answer, int size) {
  for (const ScalingCase& each : answer.sizes)
    if (each.gpus == size) return &each;
  return nullptr;
}

double speed_up(const ScalingCase& each) { return each.efficiency * each.gpus; }

/// Of a step, by how much a remedy shortens it.
double saved(const ScalingAnswer& answer, const ScalingCase& each) {
  return 1 - each.step_s / answer.asked.step_s;
}

double exposed_s(const ScalingAnswer& answer) {
  for (const TimeShare& each : answer.parts)
    if (each.metric == activity_metric(Activity::communication)) return each.seconds;
  return 0;
}

std::string on_nodes(const ScalingAnswer& answer) {
  return answer.asked.nodes == 1 ? "in one node" : fmt::format("on {} nodes", answer.asked.nodes);
}

std::string why_two_nodes(const ScalingAnswer& answer) {
  const ScalingCase *one = of_size(answer, answer.gpus_per_node),
                    *two = of_size(answer, 2 * answer.gpus_per_node);
  if (one == nullptr || two == nullptr || !one->impossible.empty() || !two->impossible.empty()) return "";
  const double gain = speed_up(*two) / speed_up(*one);
  return fmt::format(" Two nodes {} one ({:.2f} times as fast): between nodes {} {} {}.",
                     gain < 1 ? "are slower than" : "gain on", gain, gpus(answer.gpus_per_node),
                     answer.gpus_per_node == 1 ? "has" : "share", rate(answer.nic_Bps));
}

std::string what_bandwidth(const ScalingAnswer& answer) {
  if (!answer.wanted_Bps) return "";
  const std::string from =
      fmt::format("{} is kept from {} a node on{} ({} now).", kept(answer.wanted), rate(*answer.wanted_Bps),
                  answer.wanted_is_least ? ", and perhaps from less" : "", rate(answer.nic_Bps));
  if (answer.limit >= kWantedEfficiency) return " " + from;
  return fmt::format(" An endless network would keep {}, the rest is lost inside nodes and on hosts; {}",
                     kept(answer.limit), from);
}

std::string what_helps(const ScalingAnswer& answer) {
  constexpr double kWorthIt = 0.02;  // less than a model of a step can tell
  const auto best = answer.remedies.begin();
  if (best == answer.remedies.end() || !best->impossible.empty() || saved(answer, *best) < kWorthIt)
    return " Nothing that was tried makes it 2 % faster.";
  return fmt::format(" Most is saved by {}: {} of the step ({}).", best->label,
                     shown_share(saved(answer, *best)), best->caveat);
}

/// One letter for each kind of time.
char letter(const std::string& metric) {
  if (metric == activity_metric(Activity::communication)) return '-';
  if (metric == activity_metric(Activity::compute)) return '#';
  return metric == activity_metric(Activity::wait) ? '.' : 'h';
}

std::string bar(const std::vector<std::pair<char, double>>& parts, double whole_s) {
  std::string text;
  double until_s = 0;
  for (const auto& [sign, seconds] : parts) {
    until_s += seconds;
    const auto end = static_cast<std::size_t>(std::lround(kBar * until_s / whole_s));
    if (end > text.size()) text.append(end - text.size(), sign);
  }
  return text;
}

std::string picture(const ScalingAnswer& answer) {
  Table table;
  table.align = "ll";
  const double longest_s = std::max(answer.asked.step_s, answer.question.step_s);
  table.rows.push_back(
      {"one GPU", bar({{'#', answer.question.step_s}}, longest_s), human_time(answer.question.step_s)});
  std::vector<std::pair<char, double>> parts;
  for (const TimeShare& each : answer.parts) parts.emplace_back(letter(each.metric), each.seconds);
  std::ranges::stable_sort(parts,
                           [](const auto& a, const auto& b) { return (a.first == '#') > (b.first == '#'); });
  table.rows.push_back({gpus(answer.question.gpus), bar(parts, longest_s), human_time(answer.asked.step_s)});
  // Hidden communication ends where computing does.
  const double end_s = std::min(answer.question.step_s, answer.asked.step_s);
  if (answer.hidden_s > 0)
    table.rows.push_back(
        {"  beside it",
         bar({{' ', std::max(0.0, end_s - answer.hidden_s)}, {'~', std::min(end_s, answer.hidden_s)}},
             longest_s),
         human_time(answer.hidden_s)});
  return text_rows(table) +
         "  # computing  - communication that is waited for  ~ communication behind computing  . waiting  h hosts, kernels\n";
}

/// Below the table: why the largest size without times has none.
std::string sizes_table(const ScalingAnswer& answer) {
  Table table;
  std::string why;
  for (const ScalingCase& each : answer.sizes)
    if (!each.impossible.empty()) why = fmt::format("{}: {}\n", gpus(each.gpus), printable(each.impossible));
  table.header = {"GPUs", "nodes", "step", "kept", "speed-up"};
  for (const ScalingCase& each : answer.sizes)
    table.rows.push_back(
        each.impossible.empty()
            ? std::vector<std::string>{std::to_string(each.gpus), std::to_string(each.nodes),
                                       human_time(each.step_s), kept(each.efficiency),
                                       fmt::format("{:.1f}", speed_up(each))}
            : std::vector<std::string>{std::to_string(each.gpus), std::to_string(each.nodes), "-", "-", "-"});
  return text_rows(table) + why;
}

/// Where the table is wider than `width`, what a remedy costs stands below it.
std::string remedies_table(const ScalingAnswer& answer, std::size_t width) {
  Table table;
  table.align = "ll";
  table.header = {"what might help", "its price", "step", "kept", "saved"};
  for (const ScalingCase& each : answer.remedies)
    table.rows.push_back(
        each.impossible.empty()
            ? std::vector<std::string>{each.label, each.caveat, human_time(each.step_s),
                                       kept(each.efficiency), shown_share(saved(answer, each))}
            : std::vector<std::string>{each.label, printable(each.impossible), "-", "-", "-"});
  std::string text = text_rows(table);
  if (width == 0 || text.find('\n') == std::string::npos) return text;
  const std::size_t rule = text.find('\n') + 1;
  if (shown_width(text.substr(rule, text.find('\n', rule) - rule)) <= width) return text;
  std::vector<std::string> prices;
  table.align = "l";
  table.header.erase(table.header.begin() + 1);
  for (std::vector<std::string>& row : table.rows) {
    prices.push_back(row[1]);
    row.erase(row.begin() + 1);
  }
  std::istringstream lines(text_rows(table));
  text.clear();
  std::size_t at = 0;
  for (std::string line; std::getline(lines, line); ++at)
    text += line + "\n" + (at < 2 ? "" : "    " + prices[at - 2] + "\n");  // behind the header and its rule
  return text;
}

OrderedJson case_json(const ScalingCase& each) {
  OrderedJson json = {{"gpus", each.gpus}, {"nodes", each.nodes}};
  if (each.impossible.empty())
    json.update({{"step_s", each.step_s}, {"efficiency", each.efficiency}, {"speed_up", speed_up(each)}});
  else
    json["impossible"] = each.impossible;
  return json;
}

}  // namespace

std::string sentences(const ScalingAnswer& answer) {
  std::string text = fmt::format("{} {} {} {} of perfect speed-up: a step takes {} instead of {}.",
                                 gpus(answer.question.gpus), on_nodes(answer),
                                 answer.question.gpus == 1 ? "keeps" : "keep", kept(answer.asked.efficiency),
                                 human_time(answer.asked.step_s), human_time(answer.question.step_s));
  if (answer.question.gpus > 1)
    text += fmt::format(
        " Each GPU sends {} a step; {} of communication hides behind computing, {} is waited for.",
        human_bytes(answer.sent_bytes), human_time(answer.hidden_s), human_time(exposed_s(answer)));
  return text + why_two_nodes(answer) + what_bandwidth(answer) + what_helps(answer);
}

std::string scaling_text(const ScalingAnswer& answer, std::size_t width) {
  std::string text = sentences(answer) + "\n\n" + picture(answer);
  for (const TimeShare& each : answer.parts)
    text += fmt::format("  {:<28}{:>10}{:>7}\n", each.label, human_time(each.seconds),
                        shown_share(each.seconds / answer.asked.step_s));
  for (const Interval& each : answer.step_intervals)
    text += fmt::format("  {} of steps lie in {} to {}\n", shown_share(each.level), human_time(each.low),
                        human_time(each.high));
  text += "\n" + sizes_table(answer) + "\n" + remedies_table(answer, width);
  for (const std::string& note : answer.notes) text += "\nnote: " + printable(note) + "\n";
  return text;
}

OrderedJson scaling_json(const ScalingAnswer& answer) {
  OrderedJson parts = OrderedJson::object(), intervals = OrderedJson::array(), sizes = OrderedJson::array(),
              remedies = OrderedJson::array();
  for (const TimeShare& each : answer.parts) parts[each.metric] = each.seconds;
  for (const Interval& each : answer.step_intervals)
    intervals.push_back({{"level", each.level}, {"low", each.low}, {"high", each.high}});
  for (const ScalingCase& each : answer.sizes) sizes.push_back(case_json(each));
  for (const ScalingCase& each : answer.remedies) {
    OrderedJson json = {{"name", each.name}, {"label", each.label}, {"price", each.caveat}};
    json.update(case_json(each));
    if (each.impossible.empty()) json["saved"] = saved(answer, each);
    remedies.push_back(std::move(json));
  }
  OrderedJson wanted = {{"efficiency", answer.wanted}, {"nic_Bps", nullptr}, {"limit", answer.limit}};
  if (answer.wanted_Bps) wanted["nic_Bps"] = *answer.wanted_Bps;
  return {{"question",
           {{"parameters", answer.question.parameters},
            {"step_s", answer.question.step_s},
            {"gpus", answer.question.gpus},
            {"gpus_per_node", answer.gpus_per_node},
            {"network", answer.question.network},
            {"nic_Bps", answer.nic_Bps},
            {"framework", answer.question.framework}}},
          {"answer", sentences(answer)},
          {"step",
           {{"step_s", answer.asked.step_s},
            {"efficiency", answer.asked.efficiency},
            {"parts", std::move(parts)},
            {"hidden_communication_s", answer.hidden_s},
            {"bytes_sent_per_worker", answer.sent_bytes},
            {"intervals", std::move(intervals)}}},
          {"sizes", std::move(sizes)},
          {"bandwidth", std::move(wanted)},
          {"remedies", std::move(remedies)},
          {"notes", answer.notes},
          {"scenario", answer.scenario}};
}

}  // namespace simsgd
