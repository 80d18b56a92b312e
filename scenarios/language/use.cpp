#include "scenarios/language/use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

/// The element of a list that a token names, null where it names none.
Json* element(Json& list, const std::string& token, std::string& problem) {
  if (token == "-") {
    list.push_back(nullptr);
    return &list.back();
  }
  if (const auto index = list_index(token); index && *index < list.size()) return &list[*index];
  problem = fmt::format("names element \"{}\" of a list of {}", token, list.size());
  return nullptr;
}

}  // namespace

std::pair<std::string, std::string> parse_set(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (argument.empty() || argument[0] != '/' || equals == std::string::npos)
    throw ConfigError({"--set", "", "is not of the form /pointer=value", Json(argument).dump(),
                       "Write for example /cluster/workers=8"});
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::string changed_section(const Assignment& assignment) {
  const std::size_t end = assignment.pointer.find('/', 1);
  return last_key(assignment.pointer.substr(0, end));
}

std::vector<Assignment> assignments(const Overrides& overrides) {
  std::vector<Assignment> all;
  for (const auto& [pointer, text] : overrides.set) {
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    all.push_back({pointer, std::move(value), {"--set", pointer}});
  }
  if (overrides.seed) all.push_back({"/seed", *overrides.seed, {"--seed", ""}});
  return all;
}

std::string assign(Json& document, const Assignment& assignment) {
  Json* node = &document;
  std::string problem;
  for (const std::string& token : tokens(assignment.pointer)) {
    if (node->is_null()) *node = token == "-" ? Json::array() : Json::object();
    if (node->is_array())
      node = element(*node, token, problem);
    else if (node->is_object())
      node = &(*node)[token];
    else
      return fmt::format("names the member \"{}\" of something that is neither an object nor a list", token);
    if (node == nullptr) return problem;
  }
  *node = assignment.value;
  return "";
}

namespace {

constexpr const char* kEditorKey = "$schema";  // tells editors where the schema is; nobody else reads it

bool contains_use(const Json& value) {
  if (value.is_object() && value.contains("use")) return true;
  return value.is_structured() && std::any_of(value.begin(), value.end(), contains_use);
}

bool has_other_name(const Json& a, const Json& b) {
  const auto name = a.find("name");
  return name != a.end() && b.contains("name") && *name != b["name"];
}

/// An object that says what it is by itself, and does not only change what a file says.
bool is_description(const Json& object) { return object.contains("name") && !object.contains("use"); }

bool sets_use(const Assignment& assignment) { return last_key(assignment.pointer) == "use"; }

class UseResolver {
 public:
  UseResolver(JsonFiles& files, std::string file, const std::vector<Assignment>& all,
              const std::set<std::string>& choices, ErrorList& errors)
      : files_(files), file_(std::move(file)), all_(all), choices_(choices), errors_(errors) {}

  /// All of the file, or of its top-level members that one alone.
  Sourced run(const std::string* section = nullptr) {
    section_ = section;
    const Json& file = files_.read(file_);
    if (section != nullptr && file.is_object()) {
      document_.value = Json::object();
      for (const std::string& key : {std::string("use"), *section})
        if (const auto member = file.find(key); member != file.end()) document_.value[key] = *member;
    } else {
      document_.value = file;
    }
    document_.origins.replace("", {shown_name(file_), ""});
    if (!document_.value.is_object()) {
      errors_.add("", {shown_name(file_), "", "is not a scenario", shown_value(document_.value),
                       "Write an object: { \"cluster\": ..., \"workload\": ..., ... }"});
      document_.value = Json::object();
      document_.incomplete.insert("");
    }
    document_.value.erase(kEditorKey);
    expand("", {});
    for (const Assignment& assignment : all_)
      if (!sets_use(assignment)) make(assignment);
    return std::move(document_);
  }

 private:
  using Active = std::set<std::string>;

  Json& node(const std::string& pointer) { return document_.value[Json::json_pointer(pointer)]; }

  /// Resolves what lies at `pointer`, top down. `active`: the files whose objects are being filled in above
  /// it.
  void expand(const std::string& pointer, Active active) {
    set_use(pointer);
    while (node(pointer).is_object() && node(pointer).contains("use")) use_file(pointer, active);
    make_room(pointer);
    Json& value = node(pointer);
    std::vector<std::string> below;
    if (value.is_object())
      for (const auto& member : value.items()) below.push_back(child(pointer, member.key()));
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) below.push_back(child(pointer, i));
    for (const std::string& next : below)
      if (next != "/axes" && (contains_use(node(next)) || is_assigned_below(next))) expand(next, active);
  }

  /// Replaces the `use` of the object at `pointer` where an assignment says so.
  void set_use(const std::string& pointer) {
    for (const Assignment& assignment : all_) {
      if (assignment.pointer != child(pointer, "use")) continue;
      if (!node(pointer).is_object() || is_description(node(pointer))) node(pointer) = Json::object();
      node(pointer)["use"] = assignment.value;
      document_.origins.replace(assignment.pointer, assignment.origin);
    }
  }

  /// Makes the missing members through which the pointers of `use` assignments lead.
  void make_room(const std::string& pointer) {
    for (const Assignment& assignment : all_) {
      if (!sets_use(assignment) || !within(assignment.pointer, pointer)) continue;
      const std::vector<std::string> path = tokens(assignment.pointer);
      const std::size_t depth = tokens(pointer).size();
      if (depth + 1 < path.size() && node(pointer).is_object() && !node(pointer).contains(path[depth]))
        node(pointer)[path[depth]] = Json::object();
    }
  }

  bool is_assigned_below(const std::string& pointer) const {
    return std::ranges::any_of(all_, [&pointer](const Assignment& assignment) {
      return sets_use(assignment) && within(assignment.pointer, pointer);
    });
  }

  /// Puts the file named by `use` under the object at `pointer`, if it can.
  void use_file(const std::string& pointer, Active& active) {
    const std::string at = child(pointer, "use");
    const Json name = node(at);
    const Origin origin = document_.origins.at(at);
    node(pointer).erase("use");
    const auto fail = [&](const std::string& problem, const std::string& remedy) {
      errors_.add(pointer, {origin.file, origin.pointer, problem, shown_value(name), remedy});
      document_.incomplete.insert(pointer);
    };
    if (!name.is_string())
      return fail("is not the name of a file", "Write a path such as \"clusters/ethernet-1g.json\"");
    const bool from_command_line = origin.file == "--set";
    const FoundFile found =
        find_file(name.get<std::string>(), from_command_line ? shown_name(file_) : origin.file);
    if (found.path.empty()) return fail("names a file that does not exist", found.remedy);
    if (!active.insert(found.path).second)
      return fail("uses a file that is being used already", "Remove the circle");
    document_.uses.emplace(pointer, name.get<std::string>());
    const Json* base = read(found.path, pointer);
    if (base == nullptr) return;
    if (!base->is_object())
      return fail("names a file that holds no object", "Use a file that holds one object");
    // Measured times are not those of a device file, which has come under this object already.
    if (found.path.ends_with(".csv") && document_.origins.at(child(pointer, "times")).file != origin.file)
      node(pointer).erase("times");
    merge_under(pointer, *base, {found.path, ""});
  }

  /// Null where the file cannot be read, which is reported for the object at `pointer`.
  const Json* read(const std::string& path, const std::string& pointer) {
    try {
      if (!path.ends_with(".csv")) return &files_.read(path);
      if (last_key(pointer) == "gemm") return &files_.read(path, gemm_of_csv);
      throw ConfigError({path, "", "is a table, which only a device's \"gemm\" reads", "",
                         "Use a JSON file that holds one object"});
    } catch (const ConfigError& error) {
      for (const InputError& each : error.errors()) errors_.add(pointer, each);
      document_.incomplete.insert(pointer);
      return nullptr;
    }
  }

  /// Fills in what the object at `pointer` does not say itself.
  void merge_under(const std::string& pointer, const Json& base, const Origin& origin) {
    for (const auto& member : base.items()) {
      if (member.key() == kEditorKey) continue;
      if (section_ != nullptr && pointer.empty() && member.key() != *section_ && member.key() != "use")
        continue;
      const std::string at = child(pointer, member.key());
      const Origin from{origin.file, child(origin.pointer, member.key())};
      Json& mine = node(pointer);
      if (!mine.contains(member.key())) {
        mine[member.key()] = member.value();
        document_.origins.replace(at, from);
      } else if (mine[member.key()].is_object() && member.value().is_object()) {
        const Json& over = mine[member.key()];
        const bool whole = (over.contains("use") && is_description(member.value())) ||
                           (choices_.contains(at) && has_other_name(over, member.value()));
        if (!whole) merge_under(at, member.value(), from);
      }
    }
  }

  void make(const Assignment& assignment) {
    const std::string made = first_missing(assignment.pointer);
    const std::string problem = assign(document_.value, assignment);
    if (!problem.empty()) {
      errors_.add("", {assignment.origin.file, assignment.origin.pointer, problem,
                       shown_value(assignment.value), "Give a pointer into the scenario"});
      return;
    }
    const std::string pointer = placed(assignment.pointer);
    const bool named_by_pointer = assignment.origin.pointer == assignment.pointer;
    document_.origins.replace(made,
                              {assignment.origin.file, named_by_pointer ? made : assignment.origin.pointer});
    document_.origins.replace(pointer, assignment.origin);
    if (contains_use(assignment.value) && !within(pointer, "/axes")) expand(pointer, {});
  }

  /// The shortest part of a pointer at which there is nothing yet; all of it where there is something.
  std::string first_missing(const std::string& pointer) const {
    std::string at;
    for (const std::string& token : tokens(pointer)) {
      at = child(at, token);
      if (value_at(document_.value, at) == nullptr) return at;
    }
    return pointer;
  }

  /// The pointer with "-" as the index that it got.
  std::string placed(const std::string& pointer) {
    std::string at;
    for (const std::string& token : tokens(pointer)) {
      const Json& value = node(at);
      const bool appended = value.is_array() && token == "-";
      at = appended ? child(at, value.size() - 1) : child(at, token);
    }
    return at;
  }

  JsonFiles& files_;
  std::string file_;
  const std::vector<Assignment>& all_;
  const std::set<std::string>& choices_;
  ErrorList& errors_;
  const std::string* section_ = nullptr;
  Sourced document_;
};

}  // namespace

Sourced resolve_uses(JsonFiles& files, const std::string& file, const std::vector<Assignment>& assignments,
                     const std::set<std::string>& choices, ErrorList& errors) {
  return UseResolver(files, file, assignments, choices, errors).run();
}

Sourced resolve_uses_in(const std::string& section, JsonFiles& files, const std::string& file,
                        const std::vector<Assignment>& assignments, const std::set<std::string>& choices,
                        ErrorList& errors) {
  return UseResolver(files, file, assignments, choices, errors).run(&section);
}

}  // namespace simsgd
