// A replay as pictures: workers and steps as a map of colours, operations as a timeline for Perfetto.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analysis/replay/report.hpp"
#include "sim/base/printable.hpp"

namespace simsgd::replay {

namespace {

constexpr std::size_t kMostEvents = 200000;  // of one timeline: whole steps until then
constexpr double kClipped_s = 50e-6;         // slices of one track that overlap by so much are cut

std::string quoted_text(const std::string& value) { return nlohmann::json(printable(value)).dump(); }

// White at 1, red above, blue below.
std::string colour(double slowdown, double most) {
  const double share = most > 0 ? std::clamp(std::fabs(slowdown - 1) / most, 0.0, 1.0) : 0;
  const int pale = static_cast<int>(std::lround(255 * (1 - share)));
  return slowdown >= 1 ? fmt::format("#ff{0:02x}{0:02x}", pale) : fmt::format("#{0:02x}{0:02x}ff", pale);
}

class TimelineText {
 public:
  explicit TimelineText(const Graph& graph) : graph_(graph) {}

  // `processes`: the first number of this variant's processes.
  void add(const std::string& name, int processes, const Played& played, const Times& times,
           const std::vector<double>& offset_s, std::size_t steps) {
    const int sublanes = static_cast<int>(graph_.lanes.size());
    for (std::size_t w = 0; w < graph_.workers.size(); ++w)
      line(fmt::format(
          "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}",
          processes + static_cast<int>(w), quoted_text(name + ": worker " + worker_text(graph_, w))));
    std::vector<std::size_t> order(graph_.group_begin[graph_.steps[steps - 1].end_group]);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t first = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t end = graph_.group_begin[graph_.steps[s].end_group];
      const auto from = order.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = order.begin() + static_cast<std::ptrdiff_t>(end);
      std::sort(from, to, [&played](std::size_t a, std::size_t b) {
        return std::pair(played.launch_s[a], -played.end_s[a]) <
               std::pair(played.launch_s[b], -played.end_s[b]);
      });
      for (auto o = from; o != to; ++o)
        if (graph_.operations[*o].line > 0) slice(processes, *o, played, times, offset_s[s], sublanes);
      first = end;
    }
    for (const auto& [track, open] : tracks_)
      line(fmt::format(
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}",
          track.first, track.second,
          quoted_text(graph_.lanes[static_cast<std::size_t>(track.second % sublanes)])));
    tracks_.clear();
  }

  std::string text() && { return "{\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[" + text_ + "\n]}\n"; }

 private:
  // Slices of a track nest, or do not touch: a lane has as many tracks as that takes.
  void slice(int processes, std::size_t o, const Played& played, const Times& times, double offset_s,
             int sublanes) {
    const Operation& each = graph_.operations[o];
    double start_s = offset_s + played.launch_s[o];
    const double end_s = offset_s + std::max(played.end_s[o], played.launch_s[o]);
    const int process = processes + each.worker;
    int track = each.lane;
    for (;; track += sublanes) {
      std::vector<double>& open = tracks_[{process, track}];
      while (!open.empty() && open.back() <= start_s + kClipped_s && open.back() < end_s) {
        start_s = std::max(start_s, open.back());
        open.pop_back();
      }
      if (open.empty() || end_s <= open.back()) {
        open.push_back(end_s);
        break;
      }
    }
    const double waited_s = std::max(played.end_s[o] - times.duration_s[o] - played.launch_s[o], 0.0);
    line(fmt::format(
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"micro-batch\":{},\"waited_us\":{:.3f}}}}}",
        quoted_text(graph_.kinds[static_cast<std::size_t>(each.kind)]),
        graph_.role_of(each).communication ? "communication" : "computing", process, track, start_s * 1e6,
        (end_s - start_s) * 1e6, each.micro_batch, waited_s * 1e6));
  }

  void line(const std::string& text) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += text;
  }

  const Graph& graph_;
  std::map<std::pair<int, int>, std::vector<double>> tracks_;  // ends of what is open on each
  std::string text_;
};

}  // namespace

std::string heat_map_svg(const ReplayReport& report) {
  constexpr int kCell = 14, kLeft = 170, kTop = 40;
  const std::size_t steps = report.graph.steps.size(), workers = report.worker_slowdown.size();
  double most = 0;
  for (const std::vector<double>& row : report.worker_slowdown)
    for (const double each : row) most = std::max(most, std::fabs(each - 1));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"Slow-down by worker and step, at most {:.4f}\">\n"
      "<text x=\"4\" y=\"16\">Slow-down by one worker alone: white 1, red up to {:.4f}, blue below 1</text>\n",
      kLeft + kCell * static_cast<int>(steps) + 10, kTop + kCell * static_cast<int>(workers) + 10, 1 + most,
      1 + most);
  for (std::size_t w = 0; w < workers; ++w) {
    const int y = kTop + kCell * static_cast<int>(w);
    text += fmt::format("<text x=\"4\" y=\"{}\">{}</text>\n", y + kCell - 3, worker_text(report.graph, w));
    for (std::size_t s = 0; s < steps; ++s)
      text += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>worker {}, step {}: {:.4f}</title></rect>\n",
          kLeft + kCell * static_cast<int>(s), y, kCell, kCell, colour(report.worker_slowdown[w][s], most), w,
          report.graph.steps[s].number, report.worker_slowdown[w][s]);
  }
  return text + "</svg>\n";
}

std::string replay_timeline(const ReplayReport& report, const ReplayOptions& options) {
  const Graph& graph = report.opening;
  const Times recorded = recorded_times(graph, true);
  const Times beside = report.what_if ? changed_times(graph, options, true, report.equal_s)
                                      : ideal(graph, recorded_times(graph, false), report.equal_s);
  const Played first = play(graph, recorded), second = play(graph, beside);
  std::vector<double> offset_s;  // steps of both begin together
  double next_s = 0;
  std::size_t steps = 0;
  for (; steps < graph.steps.size(); ++steps) {
    if (steps > 0 && 2 * graph.group_begin[graph.steps[steps].end_group] > kMostEvents) break;
    offset_s.push_back(next_s);
    next_s += std::max(first.step_s[steps], second.step_s[steps]);
  }
  TimelineText text(graph);
  text.add("replay", 0, first, recorded, offset_s, steps);
  text.add(report.what_if ? report.what_if->name : "ideal", static_cast<int>(graph.workers.size()), second,
           beside, offset_s, steps);
  return std::move(text).text();
}

}  // namespace simsgd::replay
