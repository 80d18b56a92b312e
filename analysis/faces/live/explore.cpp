#include "analysis/faces/live/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/faces/live/controls.hpp"
#include "analysis/faces/live/front.hpp"
#include "analysis/faces/page.hpp"
#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/run_sink.hpp"
#include "analysis/runs/spool.hpp"
#include "analysis/runs/sweep.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/base/units.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd::live {

namespace {

constexpr const char* kJson = "application/json; charset=utf-8";
constexpr const char* kHtml = "text/html; charset=utf-8";
// Those that a visitor still looks at.
constexpr std::size_t kMostTickets = 1000;
// What commands under charts call a store that will be gone.
constexpr const char* kNoStore = "F.db";

/// Points that wait at most.
constexpr std::size_t kMostWaiting = 64;
constexpr char kRun = '=', kImpossible = '?';

/// In the child: the run as `sweep run` would make it, as text, or what makes the point impossible.
std::string simulate_point(const Study& study, const StudyPoint& point, int threads) {
  try {
    SimulationOptions options;
    options.threads = threads;
    RunOutcome outcome =
        run_with_intervals(load_point(study, point), options, {.draws = kUsualDraws, .jobs = 1});
    return kRun + to_text(ended_run("", std::move(outcome.document), false));
  } catch (const ConfigError& error) {
    return std::string(1, kImpossible) + error.what();
  }
}

Reply json_reply(int status, const OrderedJson& json) {
  // Names may hold bytes that are not UTF-8.
  return {status, kJson, json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n"};
}

Reply problem(int status, const std::string& why) { return json_reply(status, {{"error", why}}); }

OrderedJson labels_of(const StudyPoint& point, bool has_seeds) {
  OrderedJson labels = OrderedJson::object();
  for (std::size_t i = 0; i + (has_seeds ? 1 : 0) < point.shown.size(); ++i)
    labels[point.shown[i].first] = point.shown[i].second;
  return labels;
}

/// What the server knows and does: answers visitors, and says which points are to be simulated.
class Session {
 public:
  /// Opens the store for writing where points can be simulated; throws as ResultStore.
  Session(Source source, const ExploreSettings& settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Source& source() const { return source_; }

  /// Never throws for what a visitor sent. Throws RunError where the store cannot be written.
  Reply answer(Ask ask, const std::string& body);

  // For run_in_children; tasks are numbered as they come.
  NextTask next();
  std::string simulate(std::size_t task) const;  ///< in a child
  void ended(std::size_t task, const ChildEnd& end);
  void tick();

 private:
  /// A study that points can be added to.
  struct Open {
    OpenStudy of;
    Controls controls;
    PointLoader loader;
    ExploredPoints explored;
  };
  struct Task {
    Open* open = nullptr;
    StudyPoint point;
    std::string key;
  };
  /// Of a run that somebody asked for.
  struct Standing {
    std::string state, error;  ///< "waiting", "running", "done", "failed", "impossible", "dropped"
  };
  struct Ticket {
    std::string study;
    OrderedJson at;                                         ///< labels by the names of axes
    std::vector<std::pair<std::string, std::string>> runs;  ///< seed and key
  };

  const questions::Report& made_report(bool anew);
  std::string page();
  OrderedJson controls_json() const;
  OrderedJson state_json() const;
  OrderedJson ticket_json(std::uint64_t number) const;
  Reply ticket(const std::string& number) const;
  Reply ask_for(const std::string& body);
  Reply enter(Open& open, std::vector<StudyPoint> points);
  Reply drop();
  bool is_needed(const std::string& key) const;
  void set(const std::string& key, const std::string& state, const std::string& error = "");

  Source source_;
  const ExploreSettings& settings_;
  std::unique_ptr<ResultStore> store_;  // none where all can only be looked at
  std::unique_ptr<Turns> turns_;
  std::vector<std::unique_ptr<Open>> open_;
  std::deque<Task> tasks_;  // all that ever came
  std::deque<std::size_t> waiting_;
  std::size_t running_ = 0, simulated_ = 0, failed_ = 0;
  std::map<std::string, Standing> standings_;  // by key
  std::map<std::uint64_t, Ticket> tickets_;
  std::uint64_t tickets_given_ = 0, version_ = 1;
  std::optional<questions::Report> report_;
  std::uint64_t report_version_ = 0;  // of the report
};

Session::Session(Source source, const ExploreSettings& settings)
    : source_(std::move(source)), settings_(settings) {
  if (source_.studies.empty()) return;
  store_ = std::make_unique<ResultStore>(source_.store);
  turns_ = std::make_unique<Turns>(store_->database());
  merge_spool(source_.store, *store_);
  for (OpenStudy& each : source_.studies) {
    store_->put(each.row);
    const Study& study = *each.study;
    ExploredPoints explored(*store_, each.row);
    open_.push_back(std::make_unique<Open>(
        Open{std::move(each), Controls(study), PointLoader(study), std::move(explored)}));
  }
}

const faces::Report& Session::made_report(bool anew) {
  if (!anew && report_ && report_version_ == version_) return *report_;
  const StoredResults results(source_.store);
  std::vector<ResultStudy> studies = results.studies();
  for (const auto& open : open_) open->explored.join(studies);
  report_ = faces::make_report(studies, frame::details_of(results),
                               source_.is_kept ? source_.store.string() : kNoStore);
  report_version_ = version_;
  return *report_;
}

std::string Session::page() {
  const faces::Report& made = made_report(true);
  const std::string script = fmt::format("window.simsgdVersion = {};\n", version_) + faces::live_js();
  return faces::html_page(made, {settings_.libraries, true, faces::live_css(), script});
}

Reply Session::answer(Ask ask, const std::string& body) {
  try {
    switch (ask) {
      case Ask::page:
        return {200, kHtml, page()};
      case Ask::report:
        return json_reply(200, faces::page_data(made_report(false)));
      case Ask::controls:
        return json_reply(200, controls_json());
      case Ask::state:
        return json_reply(200, state_json());
      case Ask::point:
        return ticket(body);
      case Ask::simulate:
        return ask_for(body);
      case Ask::drop:
        return drop();
    }
  } catch (const ConfigError& error) {
    return problem(500, error.what());
  } catch (const RunError& error) {
    return problem(500, error.what());
  }
  return problem(404, "This page does not exist.");
}

OrderedJson Session::controls_json() const {
  OrderedJson studies = OrderedJson::array(), metrics = OrderedJson::array();
  for (const auto& open : open_) {
    OrderedJson made = {{"name", open->of.row.name}};
    made.update(open->controls.json());
    studies.push_back(std::move(made));
  }
  for (const Metric& each : simsgd::metrics())
    metrics.push_back({{"name", each.name}, {"unit", each.unit}, {"definition", each.definition}});
  return {{"studies", std::move(studies)},
          {"reasons", source_.reasons},
          {"store", source_.is_kept ? OrderedJson(source_.store.string()) : OrderedJson()},
          {"metrics", std::move(metrics)}};
}

OrderedJson Session::state_json() const {
  return {{"version", version_},
          {"running", running_},
          {"waiting", waiting_.size()},
          {"simulated", simulated_},
          {"failed", failed_},
          {"left", settings_.points - std::min(settings_.points, simulated_ + running_ + waiting_.size())}};
}

Reply Session::ticket(const std::string& number) const {
  const auto value = number_of_text<std::uint64_t>(number);
  if (!value || !tickets_.contains(*value))
    return problem(404, "This point was not requested, or too long ago.");
  return json_reply(200, ticket_json(*value));
}

OrderedJson Session::ticket_json(std::uint64_t number) const {
  const Ticket& ticket = tickets_.at(number);
  OrderedJson runs = OrderedJson::array();
  for (const auto& [seed, key] : ticket.runs) {
    const auto found = standings_.find(key);
    const Standing standing = found == standings_.end() ? Standing{"done", ""} : found->second;
    OrderedJson run = {{"seed", seed}, {"state", standing.state}, {"error", standing.error}};
    const bool done = standing.state == "done";
    run["metrics"] = done ? OrderedJson(store_->metrics(key)) : OrderedJson::object();
    run["intervals"] = done ? intervals_in(store_->document(key)) : OrderedJson::object();
    runs.push_back(std::move(run));
  }
  return {{"ticket", number}, {"study", ticket.study}, {"at", ticket.at}, {"runs", std::move(runs)}};
}

Reply Session::ask_for(const std::string& body) {
  const Json asked = Json::parse(body, nullptr, false);
  if (!asked.is_object()) return problem(400, "The body is not a JSON object.");
  const std::set<std::string> known = {"study", "at", "seeds"};
  for (const auto& each : asked.items())
    if (!known.contains(each.key()))
      return problem(400, "The body may only have the keys study, at and seeds.");
  const Json study = asked.value("study", Json(std::uint64_t{0}));
  if (!study.is_number_unsigned() || study.get<std::uint64_t>() >= open_.size())
    return problem(404, "No study with this number takes new points.");
  Open& open = *open_[study.get<std::size_t>()];
  try {
    return enter(open, open.controls.points(asked));
  } catch (const BadChoice& error) {
    return problem(422, error.what());
  } catch (const ConfigError& error) {
    return problem(422, error.what());
  }
}

bool Session::is_needed(const std::string& key) const {
  if (store_->status(key) == RunStatus::ok) return false;
  const auto found = standings_.find(key);
  return found == standings_.end() || (found->second.state != "waiting" && found->second.state != "running");
}

Reply Session::enter(Open& open, std::vector<StudyPoint> points) {
  const Study& study = *open.of.study;
  const bool has_seeds = !study.axes.empty() && points.front().coordinates.back().pointer == "/seed";
  Ticket ticket{open.of.row.name, labels_of(points.front(), has_seeds), {}};
  std::vector<Task> needed;
  for (StudyPoint& point : points) {
    (void)open.loader.load(point);  // throws what is wrong with it
    const std::string key = run_key_of_text(open.loader.text());
    ticket.runs.emplace_back(has_seeds ? point.shown.back().second : "", key);
    if (is_needed(key)) needed.push_back({&open, std::move(point), key});
  }
  if (waiting_.size() + needed.size() > kMostWaiting)
    return problem(429,
                   fmt::format("{} points are waiting, and at most {} can. Try again when some have run.",
                               waiting_.size(), kMostWaiting));
  if (simulated_ + running_ + waiting_.size() + needed.size() > settings_.points)
    return problem(
        429, fmt::format("This server simulates at most {} points (--points), and {} are done or waiting.",
                         settings_.points, simulated_ + running_ + waiting_.size()));
  for (Task& task : needed) {
    set(task.key, "waiting");
    waiting_.push_back(tasks_.size());
    tasks_.push_back(std::move(task));
  }
  for (const auto& [seed, key] : ticket.runs)
    if (store_->status(key) == RunStatus::ok) set(key, "done");
  const std::uint64_t number = ++tickets_given_;
  tickets_[number] = std::move(ticket);
  if (tickets_.size() > kMostTickets) tickets_.erase(tickets_.begin());
  return json_reply(202, ticket_json(number));
}

Reply Session::drop() {
  for (const std::size_t task : waiting_) set(tasks_[task].key, "dropped");
  waiting_.clear();
  return json_reply(200, state_json());
}

void Session::set(const std::string& key, const std::string& state, const std::string& error) {
  standings_[key] = {state, error};
}

NextTask Session::next() {
  for (std::size_t looks = waiting_.size(); looks > 0; --looks) {
    const std::size_t task = waiting_.front();
    const std::string& key = tasks_[task].key;
    waiting_.pop_front();
    switch (turns_->ask(key, false, false)) {
      case Turn::mine:
        set(key, "running");
        ++running_;
        return {NextTask::Kind::task, task};
      case Turn::busy:
        waiting_.push_back(task);
        break;
      case Turn::ended: {
        const std::optional<RunRow> run = store_->run(key);
        const bool ok = run && run->status == RunStatus::ok;
        set(key, ok ? "done" : "failed", run ? run->error : "");
        ++version_;
        break;
      }
    }
  }
  return {NextTask::Kind::later, 0};
}

std::string Session::simulate(std::size_t task) const {
  const Task& asked = tasks_[task];
  return simulate_point(*asked.open->of.study, asked.point, settings_.threads);
}

void Session::ended(std::size_t task, const ChildEnd& end) {
  const Task& asked = tasks_[task];
  const Study& study = *asked.open->of.study;
  const bool answered = end.kind == ChildEnd::Kind::answered;
  --running_;
  ++simulated_;
  ++version_;
  if (answered && end.text.front() == kImpossible) {
    ++failed_;
    return set(asked.key, "impossible", end.text.substr(1));
  }
  RunRow run =
      answered ? run_from_text(end.text.substr(1)) : failed_run(end, load_point(study, asked.point).resolved);
  run.key = asked.key;
  store_->put(run);
  const bool ok = run.status == RunStatus::ok;
  if (!ok) ++failed_;
  if (!asked.open->explored.has(asked.key))
    asked.open->explored.add(*store_, result_point(study, {0, asked.point, asked.key, "", "", 0}));
  set(asked.key, ok ? "done" : "failed", run.error);
}

void Session::tick() {
  if (turns_) turns_->beat();
}

}  // namespace

void explore(const ExploreSettings& settings) {
  Source source = [&settings] {
    const EndsAtInterrupts guard(
        settings.source.path);  // nothing is there yet that would have to be put away
    return open_source(settings.source);
  }();
  // Before the store is opened: the front has nothing of it.
  const Front front(settings.port);
  Session session(std::move(source), settings);
  if (settings.listening) settings.listening(front.port(), session.source());
  const auto stopped = [&] { return settings.interrupted && settings.interrupted(); };
  run_in_children(
      {.jobs = settings.jobs,
       .timeout_s = settings.timeout_s,
       .memory_bytes = settings.memory_bytes,
       .interrupted = stopped,
       .tick =
           [&] {
             front.answer([&](Ask ask, const std::string& body) { return session.answer(ask, body); });
             session.tick();
           }},
      {.next = [&] { return session.next(); },
       .work = [&](std::size_t task) { return session.simulate(task); },
       .ended =
           [&](std::size_t task, const ChildEnd& end) {
             // A signal to all processes of the terminal is not a failure of the point.
             if (!stopped()) session.ended(task, end);
           },
       .wakes = front.wakes()});
  throw Interrupted();  // a session has no last task
}

}  // namespace simsgd::live
