#include "scenarios/language/parts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/language/communication.hpp"
#include "scenarios/language/loading.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

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

}  // namespace simsgd
