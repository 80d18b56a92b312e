#include "scenarios/language/renames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"

namespace simsgd {

namespace {

/// Whether `pattern` is `pointer`, with "*" for any index.
bool matches(const std::string& pattern, const std::string& pointer) {
  const std::vector<std::string> wanted = tokens(pattern), found = tokens(pointer);
  return wanted.size() == found.size() &&
         std::equal(wanted.begin(), wanted.end(), found.begin(),
                    [](const std::string& a, const std::string& b) { return a == "*" || a == b; });
}

/// `pattern` with the indices of `pointer` in the place of "*".
std::string with_indices(const std::string& pattern, const std::string& pointer) {
  const std::vector<std::string> indices = tokens(pointer);
  std::string made;
  std::size_t depth = 0;
  for (const std::string& token : tokens(pattern)) {
    made = child(made, token == "*" ? indices[depth] : token);
    ++depth;
  }
  return made;
}

std::string remedy(const Origin& origin, const std::string& key) {
  if (origin.file == "--set") return key.empty() ? "Set it there" : fmt::format("Set {}", key);
  if (origin.file == "<stdin>") return "Write it to a file, and run simsgd migrate on that";
  return "Run: simsgd migrate " + origin.file;
}

/// "copy" at /cluster/host/copy, ...
std::string places(const std::vector<const Rename*>& moved) {
  std::vector<std::string> all;
  for (const Rename* each : moved)
    all.push_back(fmt::format("\"{}\" is {}", last_key(each->old_pointer), each->new_pointer));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// An axis: the pointer of the value or bounds that it gives to the key, as the text of the axis's pointer.
std::optional<std::string> axis_pointer(const Origin& origin, const std::string& key) {
  const std::vector<std::string> path = tokens(origin.pointer);
  if (path.size() < 3 || path[0] != "axes" || path.back() == key) return std::nullopt;
  std::string at;
  for (const std::string& token : path) {
    if (token == "values" || token == "range" || token == "log_range") return child(at, "pointer");
    at = child(at, token);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<Rename>& key_renames() {
  static const std::vector<Rename> all = {
      {"/algorithm/mini_batches", "/algorithm/micro_batches"},
      {"/cluster/device/kfac/gemm_efficiency", "/cluster/device/gemm/efficiency"},
      {"/cluster/device/kfac/factor_overhead", "/cluster/device/gemm/gather"},
      {"/cluster/device/kfac/inverse", "/cluster/device/inverse/times"},
      {"/cluster/device/kfac/inverse_overhead", "/cluster/device/inverse/overhead"},
      {"/cluster/sparsification/accumulate", "/cluster/device/accumulate"},
      {"/cluster/sparsification/copy", "/cluster/host/copy"},
      {"/cluster/sparsification/merge", "/cluster/host/merge"},
      {"/cluster/sparsification/add", "/cluster/host/scatter_add"},
      {"/workload/layers/*/a_dim", "/workload/layers/*/tensors", true},
      {"/workload/layers/*/g_dim", "/workload/layers/*/tensors", true},
  };
  return all;
}

const std::vector<ValueRename>& value_renames() {
  static const std::vector<ValueRename> all = [] {
    std::vector<ValueRename> renames = {{"/stragglers/*/per", "mini_batch", "micro_batch"}};
    for (const char* traffic : {"gradient", "model", "factor", "inverse", "control"})
      renames.push_back({"/expected/*/metric", std::string(traffic) + "_communication_not_hidden_s",
                         std::string(traffic) + "_communication_overhead_s"});
    return renames;
  }();
  return all;
}

const ValueRename* value_rename_of(const std::string& pointer, const Json& found) {
  for (const ValueRename& each : value_renames())
    if (found == each.old_value && matches(each.pointer, pointer)) return &each;
  return nullptr;
}

const Rename* rename_of(const std::string& pointer) {
  for (const Rename& each : key_renames())
    if (matches(each.old_pointer, pointer)) return &each;
  return nullptr;
}

std::vector<const Rename*> moved_out_of(const std::string& pointer) {
  std::vector<const Rename*> moved;
  for (const Rename& each : key_renames()) {
    const std::string from = parent(each.old_pointer);
    if (from != parent(each.new_pointer) && matches(from, pointer)) moved.push_back(&each);
  }
  return moved;
}

std::string renamed_pointer(const std::string& pointer) {
  std::string above = pointer;
  while (!above.empty()) {
    if (const Rename* entry = rename_of(above))
      return entry->shape ? "" : with_indices(entry->new_pointer, above) + pointer.substr(above.size());
    above = parent(above);
  }
  return "";
}

std::optional<InputError> old_name(const std::string& pointer, const Json& found, const Origin& origin) {
  const Rename* entry = rename_of(pointer);
  if (entry != nullptr && !entry->shape) {
    const std::string now = renamed_pointer(pointer);
    if (const auto axis = axis_pointer(origin, last_key(pointer)))
      return old_pointer(pointer, {origin.file, *axis});
    const bool same_object = parent(now) == parent(pointer);
    return InputError{
        origin.file, origin.pointer,
        same_object ? fmt::format("is called \"{}\" now", last_key(now)) : fmt::format("is {} now", now),
        shown_value(found), remedy(origin, now)};
  }
  if (entry != nullptr)
    return InputError{origin.file, origin.pointer, "is part of the shape in \"tensors\" now",
                      shown_value(found), remedy(origin, with_indices(entry->new_pointer, pointer))};
  if (const auto moved = moved_out_of(pointer); !moved.empty())
    return InputError{origin.file, origin.pointer, "is written elsewhere now: " + places(moved),
                      shown_value(found), remedy(origin, "")};
  if (const ValueRename* value = value_rename_of(pointer, found))
    return InputError{origin.file, origin.pointer, fmt::format("is called \"{}\" now", value->new_value),
                      shown_value(found), remedy(origin, value->new_value)};
  return std::nullopt;
}

std::optional<InputError> old_pointer(const std::string& pointer, const Origin& origin) {
  const std::string now = renamed_pointer(pointer);
  if (now.empty()) return std::nullopt;
  return InputError{origin.file, origin.pointer, fmt::format("is called \"{}\" now", now),
                    shown_value(pointer), remedy(origin, now)};
}

}  // namespace simsgd
