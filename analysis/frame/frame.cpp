#include "analysis/frame/frame.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace simsgd::frame {

namespace {

constexpr const char* kDefault = "default";  // where a point sets nothing: the scenario's own value
constexpr std::size_t kMostNamed = 5;        // of runs that failed
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Everything below these is chosen, and these themselves.
const std::vector<std::string> kChosen = {"/algorithm",
                                          "/optimizer",
                                          "/cluster/workers",
                                          "/cluster/gpus_per_node",
                                          "/cluster/device",
                                          "/cluster/collectives",
                                          "/cluster/stack",
                                          "/workload/batch",
                                          "/learner/batch",
                                          "/workload/micro_batches",
                                          "/use"};

bool is_chosen(const std::string& pointer) {
  return pointer == "/cluster" || std::ranges::any_of(kChosen, [&](const std::string& each) {
           return pointer == each || pointer.starts_with(each + "/");
         });
}

std::vector<Axis> axes_of(const ResultStudy& study) {
  std::vector<Axis> axes;
  std::map<std::string, std::size_t> places;
  std::vector<std::map<std::string, std::size_t>> labels;
  for (std::size_t row = 0; row < study.points.size(); ++row)
    for (const ResultCoordinate& each : study.points[row].coordinates) {
      const auto [place, fresh] = places.try_emplace(each.pointer + "\n" + each.axis, axes.size());
      if (fresh) {
        axes.push_back({each.axis, each.pointer, {}, std::vector(study.points.size(), kNowhere), true});
        labels.emplace_back();
      }
      Axis& axis = axes[place->second];
      const auto [label, unseen] = labels[place->second].try_emplace(each.label, axis.values.size());
      if (unseen)
        axis.values.push_back(
            {each.label, each.value.is_number() ? std::optional(each.value.get<double>()) : std::nullopt});
      axis.at[row] = label->second;
      axis.circumstance = axis.circumstance && is_circumstance(each);
    }
  std::set<std::string> names;  // two axes may have one name; columns may not
  for (Axis& axis : axes) {
    if (std::ranges::find(axis.at, kNowhere) != axis.at.end()) {
      std::replace(axis.at.begin(), axis.at.end(), kNowhere, axis.values.size());
      axis.values.push_back({kDefault, {}});
    }
    while (!names.insert(axis.name).second) axis.name += "'";
  }
  return axes;
}

bool ends_with_piece(const std::string& axis, const std::string& name) {
  return axis.size() > name.size() && axis.ends_with(name) && axis[axis.size() - name.size() - 1] == '/';
}

/// "wagma" of "wagma (groups fixed)".
std::string first_name(const std::string& label) { return label.substr(0, label.find(" (")); }

bool all_different(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

const ResultStudy& study_asked(const StoredResults& results, const FrameQuestion& question) {
  std::vector<const ResultStudy*> found;
  std::vector<std::string> names, ids;
  for (const ResultStudy& each : results.studies()) {
    names.push_back(each.name);
    if (question.study.empty() || each.name == question.study || each.id == question.study) {
      found.push_back(&each);
      ids.push_back(fmt::format("{} ({}, {})", each.id, each.name, counted(each.points.size(), "point")));
    }
  }
  if (found.size() == 1) return *found.front();
  if (found.empty())
    throw ConfigError({"--study", "", "is not a study of " + question.file, question.study,
                       which_there_are(question.study, names)});
  if (question.study.empty())
    throw ConfigError({question.file, "", fmt::format("holds {} studies", found.size()), "",
                       "Name one with --study: " + one_of(all_different(names) ? names : ids)});
  throw ConfigError({"--study", "", fmt::format("names {} studies of {}", found.size(), question.file),
                     question.study, "Name it by its id: " + one_of(ids)});
}

}  // namespace

bool is_circumstance(const ResultCoordinate& coordinate) {
  if (coordinate.circumstance) return *coordinate.circumstance;
  if (!coordinate.pointer.empty() || !coordinate.value.is_object()) return !is_chosen(coordinate.pointer);
  // A named value: what happens, unless it sets anything that is chosen.
  for (const auto& each : coordinate.value.items())
    if (is_chosen(each.key())) return false;
  return true;
}

RunDetails details_of(const StoredResults& results) {
  return {[&](const std::string& key) { return results.scenario(key); },
          [&](const std::string& key, const std::string& name) { return results.curve(key, name); },
          [&](const std::string& key) { return results.busiest_links(key); }, [&] { return results.notes(); },
          [&](const std::string& key) { return results.intervals(key); }};
}

nlohmann::ordered_json record_of(const Value& value) {
  constexpr double kMostWhole = 1e15;
  if (!value.number) return value.label;
  if (*value.number == std::floor(*value.number) && std::fabs(*value.number) < kMostWhole)
    return static_cast<std::int64_t>(*value.number);
  return *value.number;
}

std::vector<std::string> Axis::labels() const {
  std::vector<std::string> all;
  for (const Value& each : values) all.push_back(each.label);
  return all;
}

bool Axis::is_numeric() const {
  return std::ranges::all_of(values, [](const Value& each) { return each.number.has_value(); });
}

std::vector<const ResultPoint*> Group::runs() const {
  std::vector<const ResultPoint*> runs;
  for (const ResultPoint* each : points)
    if (each->status == RunStatus::ok) runs.push_back(each);
  std::ranges::stable_sort(runs,
                           [](const ResultPoint* a, const ResultPoint* b) { return a->seed < b->seed; });
  return runs;
}

Frame::Frame(const ResultStudy& study, RunDetails details)
    : study_(&study), details_(std::move(details)), axes_(axes_of(study)) {
  for (const ResultPoint& point : study.points) rows_.push_back(&point);
}

Frame::Frame(const Frame& of, const std::vector<std::size_t>& rows)
    : study_(of.study_), details_(of.details_), axes_(of.axes_) {
  for (const std::size_t row : rows) rows_.push_back(of.rows_[row]);
  for (Axis& axis : axes_) {  // values that are left, in the order of the rows
    const Axis whole = axis;
    std::vector<std::size_t> place(whole.values.size(), kNowhere);
    axis.values.clear();
    axis.at.clear();
    for (const std::size_t row : rows) {
      std::size_t& at = place[whole.at[row]];
      if (at == kNowhere) {
        at = axis.values.size();
        axis.values.push_back(whole.values[whole.at[row]]);
      }
      axis.at.push_back(at);
    }
  }
}

std::optional<std::size_t> Frame::axis(const std::string& option, const std::string& name,
                                       std::vector<InputError>& errors) const {
  std::vector<std::string> names, fits;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return i;
    names.push_back(axes_[i].name);
    if (!ends_with_piece(axes_[i].name, name)) continue;
    fits.push_back(axes_[i].name);
    found = i;
  }
  if (fits.size() == 1) return found;
  if (fits.size() > 1)
    errors.push_back({option, "", "matches several axes", name, "Write " + one_of(fits)});
  else
    errors.push_back({option, "", "is not an axis of " + study_->name, name, which_there_are(name, names)});
  return std::nullopt;
}

std::optional<std::size_t> Frame::value(const std::string& option, std::size_t axis, const std::string& text,
                                        std::vector<InputError>& errors) const {
  const std::vector<Value>& values = axes_[axis].values;
  std::vector<std::string> namesakes;
  std::optional<std::size_t> named;
  const std::optional<double> number = number_of_text<double>(text);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].label == text || (number && values[i].number == number)) return i;
    if (first_name(values[i].label) != text) continue;
    namesakes.push_back(values[i].label);
    named = i;
  }
  if (namesakes.size() == 1) return named;
  if (namesakes.size() > 1)
    errors.push_back(
        {option, "", "matches several values of " + axes_[axis].name, text, "Write " + one_of(namesakes)});
  else
    errors.push_back({option, "", "is not a value of " + axes_[axis].name, text,
                      which_there_are(text, axes_[axis].labels())});
  return std::nullopt;
}

Frame Frame::where(const std::vector<std::string>& filters, std::vector<InputError>& errors) const {
  std::map<std::size_t, std::set<std::size_t>> wanted;
  const std::size_t before = errors.size();
  for (const std::string& filter : filters) {
    const std::size_t equals = filter.find('=');
    if (equals == std::string::npos || equals == 0) {
      errors.push_back({"--where", "", "is not a filter", filter, "Write axis=value, such as workers=64"});
      continue;
    }
    if (const auto found = axis("--where", filter.substr(0, equals), errors))
      if (const auto kept = value("--where", *found, filter.substr(equals + 1), errors))
        wanted[*found].insert(*kept);
  }
  if (errors.size() > before) return *this;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < rows_.size(); ++row)
    if (std::ranges::all_of(
            wanted, [&](const auto& each) { return each.second.contains(axes_[each.first].at[row]); }))
      rows.push_back(row);
  if (rows.empty() && !filters.empty())
    errors.push_back(
        {"--where", "", "matches no point of " + study_->name, "", "Give values that occur together"});
  return {*this, rows};
}

std::vector<std::size_t> Frame::varying() const {
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].values.size() > 1) varying.push_back(i);
  return varying;
}

bool Frame::determines(std::size_t cause, std::size_t effect) const {
  std::vector<std::size_t> told(axes_[cause].values.size(), kNowhere);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::size_t& value = told[axes_[cause].at[row]];
    if (value == kNowhere) value = axes_[effect].at[row];
    if (value != axes_[effect].at[row]) return false;
  }
  return true;
}

std::vector<Group> Frame::groups(const std::vector<std::size_t>& axes) const {
  std::map<std::vector<std::size_t>, std::vector<const ResultPoint*>> found;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::vector<std::size_t> at;
    for (const std::size_t axis : axes) at.push_back(axes_[axis].at[row]);
    found[at].push_back(rows_[row]);
  }
  std::vector<Group> groups;
  for (auto& [at, points] : found) groups.push_back({at, std::move(points)});
  return groups;
}

std::vector<std::size_t> Frame::mixed(const std::vector<std::size_t>& axes) const {
  const std::size_t count = groups(axes).size();
  std::vector<std::size_t> mixed;
  for (const std::size_t axis : varying()) {
    std::vector<std::size_t> finer = axes;
    finer.push_back(axis);
    if (groups(finer).size() > count) mixed.push_back(axis);
  }
  return mixed;
}

Frame frame_of(const StoredResults& results, const FrameQuestion& question, std::vector<InputError>& errors) {
  const Frame whole(study_asked(results, question), details_of(results));
  return question.where.empty() ? whole : whole.where(question.where, errors);
}

std::vector<std::string> notes_on_missing(const std::vector<const ResultPoint*>& points) {
  std::vector<std::string> notes, failed;
  std::size_t not_run = 0;
  for (const ResultPoint* point : points) {
    not_run += point->status ? 0U : 1U;
    if (!point->status || *point->status == RunStatus::ok) continue;
    failed.push_back((point->label.empty() ? "the run" : point->label) + ": " + point->error);
    if (failed.back().ends_with('.')) failed.back().pop_back();
  }
  if (!failed.empty()) {
    std::string note =
        fmt::format("{} of {} runs failed and are not counted: ", failed.size(), points.size());
    for (std::size_t i = 0; i < std::min(failed.size(), kMostNamed); ++i)
      note += (i > 0 ? "; " : "") + failed[i];
    if (failed.size() > kMostNamed) note += fmt::format("; and {} more", failed.size() - kMostNamed);
    notes.push_back(std::move(note));
  }
  if (not_run > 0) notes.push_back(fmt::format("{} of {} points have not been run", not_run, points.size()));
  return notes;
}

void expect_results(const Frame& frame) {
  const auto& points = frame.rows();
  if (std::ranges::any_of(points, [](const ResultPoint* point) { return point->status == RunStatus::ok; }))
    return;
  std::string problem = fmt::format("No point of {} has a result.", frame.study().name);
  for (const std::string& note : notes_on_missing(points)) problem += " " + note + ".";
  throw RunError(problem);
}

}  // namespace simsgd::frame
