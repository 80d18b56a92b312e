// What had another name: the one table from which `simsgd migrate` rewrites files (migrate.hpp), and from
// which the loader says the new name where it meets an old one. An entry is written when a key or a metric
// changes its name, and stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/provenance.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

struct Rename {
  std::string old_pointer;  ///< in a scenario; "*" for any element of a list
  std::string new_pointer;  ///< the key's name, or its object's sibling, may differ
  /// The key has become a part of a tensor's shape, which is at `new_pointer`.
  bool shape = false;
};
const std::vector<Rename>& key_renames();

/// A value that is a name, of a metric or a choice.
struct ValueRename {
  std::string pointer;  ///< in a scenario; "*" for any element of a list
  std::string old_value, new_value;
};
const std::vector<ValueRename>& value_renames();
/// The entry of the value `found` at `pointer`, or null.
const ValueRename* value_rename_of(const std::string& pointer, const Json& found);

/// The entry of the key at `pointer`, or null.
const Rename* rename_of(const std::string& pointer);

/// The entries of keys of the object at `pointer`, which are elsewhere now.
std::vector<const Rename*> moved_out_of(const std::string& pointer);

/// Where what was at `pointer`, or at a key above it, is now; empty where it has no old name, or no one
/// place.
std::string renamed_pointer(const std::string& pointer);

/// What the loader says of an unknown key, or an unknown metric, which `pointer` (of the resolved scenario)
/// is and `found` is its value: nothing where it has no old name.
std::optional<InputError> old_name(const std::string& pointer, const Json& found, const Origin& origin);

/// What it says of a pointer with an old name that is written as the text at `origin`.
std::optional<InputError> old_pointer(const std::string& pointer, const Origin& origin);

}  // namespace simsgd
