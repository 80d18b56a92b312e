#include "scenarios/language/scenario_loader.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/communication.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr const char* kClaim = "claim";
constexpr std::size_t kMostKept = 32;  // of each section: a workload of some hundred layers is 200 kB

bool is_study_key(const std::string& name) {
  return std::find(std::begin(kStudyKeys), std::end(kStudyKeys), name) != std::end(kStudyKeys);
}

const Json& root_properties() {
  static const Json& properties = resolved_schema()["properties"];
  return properties;
}

void reject_study_keys(const Sourced& sourced, ErrorList& errors) {
  if (refuse_keys_of_studies(sourced, errors)) return;
  for (const char* key : kStudyKeys)
    if (sourced.value.contains(key))
      errors.add(
          sourced.value, sourced.origins, std::string("/") + key, "makes this a study of several runs",
          "Run all of them with simsgd sweep run, or one with simsgd run --point N (0: without its axes)");
}

/// The sections as they are written, of which only some are looked at.
Sourced written(const Sections& sections, const std::string& file) {
  Sourced all;
  all.value = Json::object();
  all.origins.replace("", {file, ""});
  for (const auto& [name, section] : sections) {
    if (!section->present || (!is_study_key(name) && name != kClaim)) continue;
    all.value[name] = section->value;
    all.origins.replace(child("", name), section->origins);
  }
  return all;
}

bool holds(const Sections& sections, const Json& resolved, const std::string& pointer, const Json& wanted) {
  if (last_key(pointer) == "use")
    for (const auto& [name, section] : sections)
      if (const auto used = section->uses.find(parent(pointer)); used != section->uses.end())
        return wanted == used->second;
  const Json* found = value_at(resolved, pointer);
  return found != nullptr && *found == wanted;
}

/// Keeps the expectations that are about this scenario.
void select_expected(const Sections& sections, Json& resolved) {
  Json kept = Json::array();
  for (Json each : resolved["expected"]) {
    const Json when = each.value("when", Json::object());
    bool applies = true;
    for (const auto& condition : when.items())
      applies = applies && holds(sections, resolved, condition.key(), condition.value());
    each.erase("when");
    if (applies) kept.push_back(std::move(each));
  }
  resolved["expected"] = std::move(kept);
}

}  // namespace

bool refuse_keys_of_studies(const Sourced& sourced, ErrorList& errors) {
  const Json& file = sourced.value;
  if (file.contains("axes") || file.contains("seeds")) return false;
  bool any = false;
  for (const auto& [key, problem] : {std::pair("exclude", "excludes nothing, since there are no axes"),
                                     std::pair("circumstances", "names no axis, since there are none")})
    if (file.contains(key)) {
      errors.add(file, sourced.origins, std::string("/") + key, problem,
                 "Leave it out, or give the study axes");
      any = true;
    }
  return any;
}

bool ScenarioLoader::is_dropped(const std::string& name) const {
  return name == kClaim || (as_point_ && is_study_key(name));  // of a study, and no setting of a run
}

/// The top-level members of the file and of what it uses.
const std::set<std::string>& ScenarioLoader::members(const std::vector<Assignment>& of_use) {
  for (const Members& each : members_)
    if (each.assignments == of_use) return each.names;
  if (members_.size() == kMostKept) members_.pop_front();
  Members& made = members_.emplace_back();
  made.assignments = of_use;
  const Json& file = files_.read(path_);
  ErrorList found_again;
  const bool uses = !of_use.empty() || (file.is_object() && file.contains("use"));
  const Json all = uses ? resolve_uses(files_, path_, of_use, named_choices(), found_again).value : file;
  if (all.is_object())
    for (const auto& member : all.items())
      if (member.key() != "$schema") made.names.insert(member.key());
  for (const auto& property : root_properties().items())
    if (property.value().contains("default")) made.names.insert(property.key());
  made.names.insert("name");
  return made.names;
}

LoadedSection ScenarioLoader::load_section(const std::string& name,
                                           const std::vector<Assignment>& assignments) const {
  LoadedSection made;
  Sourced sourced = resolve_uses_in(name, files_, path_, assignments, named_choices(), made.of_uses);
  Json& whole = sourced.value;
  const auto property = root_properties().find(name);
  if (!whole.contains(name) && name == "name") whole[name] = name_of_file(shown_name(path_));
  if (!whole.contains(name) && property != root_properties().end() && property->contains("default"))
    whole[name] = (*property)["default"];
  made.present = whole.contains(name);
  if (made.present && !is_dropped(name) && property != root_properties().end()) {
    const std::string at = child("", name);
    const std::vector<Explanation> found = complete(*property, whole[name]);
    made.of_schema.add(found, at, whole, sourced.origins, sourced.incomplete);
    if (!made.of_uses.touches(at) && !made.of_schema.touches(at)) {
      if (name == "cluster") complete_cluster(whole[name]);
      if (name == "workload") complete_workload(whole[name]);
    }
  }
  if (made.present) made.value = std::move(whole[name]);
  made.origins = std::move(sourced.origins);
  made.uses = std::move(sourced.uses);
  made.incomplete = std::move(sourced.incomplete);
  return made;
}

std::shared_ptr<const LoadedSection> ScenarioLoader::section(const std::string& name,
                                                             const std::vector<Assignment>& assignments) {
  std::deque<Kept>& kept = kept_[name];
  for (const Kept& each : kept)
    if (each.assignments == assignments) return each.section;
  if (kept.size() == kMostKept) kept.pop_front();
  kept.push_back({assignments, std::make_shared<const LoadedSection>(load_section(name, assignments))});
  return kept.back().section;
}

const Loading& ScenarioLoader::load(const std::vector<Assignment>& assignments) {
  std::map<std::string, std::vector<Assignment>> changes;
  std::vector<Assignment> of_use;
  for (const Assignment& each : assignments)
    each.pointer == "/use" ? of_use.push_back(each) : changes[changed_section(each)].push_back(each);
  for (const std::string& name : members(of_use)) changes.try_emplace(name);
  Sections now;
  for (auto& [name, of_section] : changes) {
    of_section.insert(of_section.begin(), of_use.begin(), of_use.end());
    now.emplace(name, section(name, of_section));
  }
  put_together(now);
  sections_ = std::move(now);
  return loading_;
}

void ScenarioLoader::put_together(const Sections& now) {
  Scenario& scenario = loading_.scenario;
  if (scenario.file.empty()) {
    scenario.file = shown_name(path_);
    scenario.resolved = Json::object();
    scenario.origins.replace("", {scenario.file, ""});
  }
  for (const auto& [name, section] : sections_)
    if (!now.contains(name)) scenario.resolved.erase(name);
  for (const auto& [name, section] : now) {
    if (is_dropped(name)) continue;
    const auto before = sections_.find(name);
    const bool same = before != sections_.end() && before->second == section;
    if (!section->present)
      scenario.resolved.erase(name);
    else if (!same || name == "optimizer" || name == "expected")  // which others change
      scenario.resolved[name] = section->value;
    if (!same) scenario.origins.replace(child("", name), section->origins);
  }
  find_errors(now);
  const auto right = [&](const char* section) {
    return scenario.resolved.contains(section) && !loading_.errors.touches(std::string("/") + section);
  };
  if (right("optimizer"))
    complete_optimizer(scenario.resolved["optimizer"], right("stop") ? scenario.resolved["stop"] : Json());
  if (right("expected") && !scenario.resolved["expected"].empty()) select_expected(now, scenario.resolved);
}

void ScenarioLoader::find_errors(const Sections& now) {
  ErrorList& errors = loading_.errors;
  errors = {};
  std::set<std::string> incomplete;
  for (const auto& [name, section] : now) {
    errors.add(section->of_uses);
    incomplete.insert(section->incomplete.begin(), section->incomplete.end());
  }
  const Sourced of_studies = written(now, loading_.scenario.file);
  check_claim(of_studies, errors);
  if (!as_point_) reject_study_keys(of_studies, errors);
  for (const auto& [name, section] : now) errors.add(section->of_schema);
  const Scenario& scenario = loading_.scenario;
  errors.add(explain_itself(resolved_schema(), scenario.resolved), "", scenario.resolved, scenario.origins,
             incomplete);
}

Loading load(JsonFiles& files, const std::string& path, const std::vector<Assignment>& assignments,
             bool as_point) {
  return ScenarioLoader(files, path, as_point).load(assignments);
}

namespace {

constexpr const char* kFrame = "<part>";  // the document around the part

struct Part {
  const char* what;
  std::string pointer;
  Json keys;  // properties of its schema
};

Json section(const std::string& name) { return resolved_schema()["properties"][name]; }

std::vector<Part> parts() {
  const Json cluster = section("cluster")["properties"];
  return {{"a cluster", "/cluster", cluster},
          {"a device", "/cluster/device", cluster["device"]["properties"]},
          {"a workload", "/workload", section("workload")["oneOf"][1]["properties"]}};
}

std::ptrdiff_t likeness_to_form(const Json& keys, const Json& object) {
  std::ptrdiff_t known = 0;
  for (const auto& member : object.items())
    known += keys.contains(member.key()) && member.key() != "name" && member.key() != "source" ? 1 : 0;
  return known;
}

/// The part that has most of the object's keys.
std::optional<Part> part_of(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  Json scenario = resolved_schema()["properties"];
  scenario.erase("description");
  if (likeness_to_form(scenario, object) > 0) return std::nullopt;
  std::optional<Part> best;
  for (Part& part : parts()) {
    const std::ptrdiff_t known = likeness_to_form(part.keys, object);
    if (known > 0 && (!best || known > likeness_to_form(best->keys, object))) best = std::move(part);
  }
  return best;
}

std::int64_t whole(const Json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

/// What a part needs around it.
Json frame_of(const Part& part, const Json& object) {
  if (part.pointer == "/workload") return Json::object();
  if (part.pointer == "/cluster")
    return {{"cluster",
             {{"workers",
               std::max<std::int64_t>(1, whole(object, "nodes", 1) * whole(object, "gpus_per_node", 1))}}}};
  return {{"cluster", {{"workers", 1}, {"nic", {{"bandwidth", 1e9}}}, {"topology", {{"name", "star"}}}}}};
}

/// As errors of the part's own file.
[[noreturn]] void reject(const std::vector<InputError>& found, const Part& part, const std::string& file) {
  std::vector<InputError> errors = found;
  for (InputError& error : errors) {
    if (error.file != kFrame) continue;
    error.file = file;
    if (within(error.pointer, part.pointer)) error.pointer.erase(0, part.pointer.size());
  }
  throw ConfigError(std::move(errors));
}

/// The part in its frame.
void check_loaded(Loading loading, const Part& part, const std::string& file) {
  const Reader reader(loading.scenario, loading.errors);
  std::vector<Note> notes;  // of no interest
  std::optional<Machines> machines;
  if (part.pointer == "/workload")
    build_workload(reader, {}, notes);
  else
    machines = build_cluster(reader);
  if (part.pointer == "/cluster") build_policies(reader, machines ? machines->stack : std::nullopt);
  try {
    loading.errors.throw_if_any(part.pointer);
  } catch (const ConfigError& error) {
    reject(error.errors(), part, file);
  }
}

}  // namespace

std::string check_part(const std::string& path, const Overrides& overrides) {
  if (path == "-") return "";
  const std::string file = scenario_path(path);
  JsonFiles files;
  const Json& object = files.read(file);
  const std::optional<Part> part = part_of(object);
  if (!part) return "";
  files.put(kFrame, frame_of(*part, object));
  std::vector<Assignment> all = {{part->pointer + "/use", file, {kFrame, ""}}};
  for (Assignment& each : assignments({overrides.set, {}})) {
    each.pointer = part->pointer + each.pointer;
    all.push_back(std::move(each));
  }
  check_loaded(load(files, kFrame, all, false), *part, file);
  return part->what;
}

void check_cluster(const Json& cluster, const std::string& name) {
  const Part part = parts().front();
  Json frame = frame_of(part, cluster);
  frame["cluster"].update(cluster);
  JsonFiles files;
  files.put(kFrame, std::move(frame));
  check_loaded(load(files, kFrame, {}, false), part, name);
}

std::string name_of_file(const std::string& file) {
  std::error_code ignored;
  const bool is_file = file != shown_name("-") && std::filesystem::is_regular_file(file, ignored);
  return is_file ? std::filesystem::path(file).stem().string() : "scenario";
}

Scenario finished(Loading loading) {
  if (!loading.errors.empty()) build_job(loading.scenario, loading.errors);
  loading.errors.throw_if_any();
  return std::move(loading.scenario);
}

Scenario load_scenario(const std::string& path, const Overrides& overrides) {
  JsonFiles files;
  return finished(load(files, scenario_path(path), assignments(overrides), false));
}

std::string scenario_path(const std::string& path) {
  if (path == "-") return path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw ConfigError({path, "", "is a directory", "", "Name a JSON file in it"});
  const FoundFile found = find_file(path, "");
  if (found.path.empty()) throw ConfigError({path, "", "does not exist", "", found.remedy});
  return found.path;
}

}  // namespace simsgd
