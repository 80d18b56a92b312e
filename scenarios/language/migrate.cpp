#include "scenarios/language/migrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/json_text.hpp"
#include "scenarios/language/parts.hpp"
#include "scenarios/language/renames.hpp"

namespace simsgd {

namespace {

/// A value of the file: where it stands there, and where it goes in a scenario. The two differ in files that
/// are a part of one, and in the values of axes.
struct Location {
  std::string in_file, in_scenario;

  Location below(const std::string& key) const { return {child(in_file, key), child(in_scenario, key)}; }
  Location below(std::size_t index) const { return {child(in_file, index), child(in_scenario, index)}; }
};

class Migration {
 public:
  Migration(const std::string& text, std::string file) : text_(text), file_(std::move(file)) {}

  Migrated run(const std::string& root) {
    walk(read_text(text_), {"", root});
    if (!errors_.empty()) throw ConfigError(errors_);
    return {edited(text_, edits_), changes_};
  }

 private:
  void walk(const TextNode& node, const Location& place) {
    switch (node.kind) {
      case TextNode::Kind::object:
        walk_object(node, place);
        break;
      case TextNode::Kind::list:
        for (std::size_t i = 0; i < node.below.size(); ++i) {
          if (place.in_scenario == "/axes")
            axis(node.below[i], place.below(i));
          else
            walk(node.below[i], place.below(i));
        }
        break;
      case TextNode::Kind::text:
        name(node, place);
        break;
      case TextNode::Kind::other:
        break;
    }
  }

  void walk_object(const TextNode& node, const Location& place) {
    if (is_when(place)) return conditions(node, place);
    if (!moved_out_of(place.in_scenario).empty())
      return fail(place, "cannot be moved: its keys are in other objects now", node,
                  "Write them there by hand");
    std::vector<std::string> done = move_members(node, place);
    if (give_shape(node, place)) done.insert(done.end(), {"a_dim", "g_dim"});
    for (const TextNode& member : node.below) {
      if (std::find(done.begin(), done.end(), member.key) != done.end()) continue;
      rename(member, node, place);
      walk(member, place.below(member.key));
    }
  }

  /// A key that has another name in the same object.
  void rename(const TextNode& member, const TextNode& object, const Location& place) {
    const Location here = place.below(member.key);
    const Rename* entry = rename_of(here.in_scenario);
    if (entry == nullptr || parent(entry->old_pointer) != parent(entry->new_pointer) || entry->shape) return;
    const std::string now = last_key(entry->new_pointer);
    if (object.member(now) != nullptr) return fail_twice(here, now, member);
    edits_.push_back({member.key_begin, member.key_end, Json(now).dump()});
    changes_.push_back(fmt::format("{}: now \"{}\"", here.in_file, now));
  }

  /// Keys of members of this object that belong into other members of it. The names of the former.
  std::vector<std::string> move_members(const TextNode& node, const Location& place) {
    std::vector<std::string> moved;
    for (std::size_t i = 0; i < node.below.size(); ++i) {
      const TextNode& from = node.below[i];
      const auto entries = moved_out_of(child(place.in_scenario, from.key));
      if (entries.empty() || from.kind != TextNode::Kind::object) continue;
      moved.push_back(from.key);
      move_out_of(node, i, place);
    }
    return moved;
  }

  void move_out_of(const TextNode& object, std::size_t index, const Location& place) {
    const TextNode& from = object.below[index];
    const Location here = place.below(from.key);
    std::vector<std::size_t> gone;
    std::map<std::string, std::vector<std::string>> added;  // by the member of `object` that receives them
    for (std::size_t i = 0; i < from.below.size(); ++i) {
      const TextNode& member = from.below[i];
      const Rename* entry = rename_of(child(here.in_scenario, member.key));
      if (entry == nullptr) continue;
      const std::string target = last_key(parent(entry->new_pointer)), key = last_key(entry->new_pointer);
      const TextNode* there = object.member(target);
      if (there != nullptr && there->kind != TextNode::Kind::object) {
        fail(here.below(member.key), fmt::format("cannot be moved: \"{}\" is no object", target), member,
             "Move it by hand");
        continue;
      }
      if (there != nullptr && there->member(key) != nullptr) {
        fail_twice(here.below(member.key), fmt::format("{}/{}", target, key), member);
        continue;
      }
      gone.push_back(i);
      added[target].push_back(Json(key).dump() + ": " +
                              text_.substr(member.begin, member.end - member.begin));
      changes_.push_back(fmt::format("{}: now {}", child(here.in_file, member.key),
                                     child(child(place.in_file, target), key)));
    }
    if (from.below.empty()) changes_.push_back(here.in_file + ": taken out, since it is empty");
    take_out(object, index, gone, put_in(object, added));
  }

  /// The members that the object does not have yet, made of what is added to them; what goes into others is
  /// put there.
  std::vector<std::string> put_in(const TextNode& object,
                                  const std::map<std::string, std::vector<std::string>>& added) {
    std::vector<std::string> made;
    for (const auto& [target, members] : added) {
      if (const TextNode* there = object.member(target); there != nullptr)
        edits_.push_back(with_members(text_, *there, members));
      else
        made.push_back(fmt::format("{}: {{{}}}", Json(target).dump(), fmt::join(members, ", ")));
    }
    return made;
  }

  /// Takes the members `gone` out of a member of `object`, and that itself where it has no others. What is
  /// `made` comes in its place.
  void take_out(const TextNode& object, std::size_t index, const std::vector<std::size_t>& gone,
                std::vector<std::string> made) {
    const TextNode& from = object.below[index];
    if (gone.size() < from.below.size()) {
      for (TextEdit& edit : without_members(text_, from, gone)) edits_.push_back(std::move(edit));
      if (!made.empty()) edits_.push_back(with_members(text_, object, made));
      return;
    }
    if (made.empty()) {
      for (TextEdit& edit : without_members(text_, object, {index})) edits_.push_back(std::move(edit));
      return;
    }
    const std::string separator = separator_like(text_, from);
    std::string kept;
    for (const std::string& comment : comments_in(text_, from.key_begin, from.end))
      kept.append(comment).append("\n").append(separator, 2);
    edits_.push_back({from.key_begin, from.end, kept + fmt::format("{}", fmt::join(made, separator))});
  }

  /// The dimensions of a layer's Kronecker factors: the shape of its first tensor. Whether there were any.
  bool give_shape(const TextNode& layer, const Location& place) {
    const Rename* entry = rename_of(child(place.in_scenario, "a_dim"));
    if (entry == nullptr || !entry->shape) return false;
    std::vector<std::size_t> gone;
    for (std::size_t i = 0; i < layer.below.size(); ++i)
      if (layer.below[i].key == "a_dim" || layer.below[i].key == "g_dim") gone.push_back(i);
    if (gone.empty()) return false;
    const std::int64_t a = whole(layer.member("a_dim")), g = whole(layer.member("g_dim"));
    const TextNode* tensors = layer.member("tensors");
    const bool has_factors = a != 0 || g != 0;
    if (has_factors && (tensors == nullptr || tensors->below.empty())) {
      fail(place, "has \"a_dim\" and \"g_dim\", and no tensor that could have their shape", layer,
           "Give its tensors as shapes, [outputs, inputs], by hand");
      return true;
    }
    if (has_factors && tensors->below[0].kind != TextNode::Kind::list) {
      const std::int64_t n = whole(&tensors->below[0]);
      const std::int64_t rest = g > 0 ? n / g : 0;
      const bool bias = tensors->below.size() > 1;  // one more row of A
      if (rest == 0 || rest * g != n || (a != rest && !(bias && a == rest + 1))) {
        fail(place,
             fmt::format(
                 "has {} parameters in its first tensor, which is not \"g_dim\" = {} times \"a_dim\" = {}", n,
                 g, a),
             layer, "Give the tensor as a shape, [outputs, inputs], by hand");
        return true;
      }
      edits_.push_back({tensors->below[0].begin, tensors->below[0].end, fmt::format("[{}, {}]", g, rest)});
      changes_.push_back(
          fmt::format("{}/tensors/0: now [{}, {}], without \"a_dim\" and \"g_dim\"", place.in_file, g, rest));
    } else {
      changes_.push_back(fmt::format("{}: without \"a_dim\" and \"g_dim\"", place.in_file));
    }
    for (TextEdit& edit : without_members(text_, layer, gone)) edits_.push_back(std::move(edit));
    return true;
  }

  /// The whole number that is written there; 0 where there is none.
  std::int64_t whole(const TextNode* node) const {
    if (node == nullptr) return 0;
    const Json value = value_of(*node);
    return value.is_number() && std::abs(value.get<double>()) < 1e15 ? std::llround(value.get<double>()) : 0;
  }

  void name(const TextNode& node, const Location& place) {
    const ValueRename* entry = value_rename_of(place.in_scenario, value_of(node));
    if (entry == nullptr) return;
    edits_.push_back({node.begin, node.end, Json(entry->new_value).dump()});
    changes_.push_back(fmt::format("{}: now \"{}\"", place.in_file, entry->new_value));
  }

  static bool is_when(const Location& place) {
    const std::vector<std::string> path = tokens(place.in_scenario);
    return path.size() == 3 && path[0] == "expected" && path[2] == "when";
  }

  /// The keys of `when` are pointers.
  void conditions(const TextNode& when, const Location& place) {
    for (const TextNode& member : when.below)
      pointer(member.key, {member.key_begin, member.key_end, ""}, place.below(member.key), member);
  }

  void axis(const TextNode& node, const Location& place) {
    if (const TextNode* zip = node.member("zip"); zip != nullptr)
      for (std::size_t i = 0; i < zip->below.size(); ++i) axis(zip->below[i], place.below("zip").below(i));
    const TextNode* target = node.member("pointer");
    if (target == nullptr || target->kind != TextNode::Kind::text) return;
    const auto varied = value_of(*target).get<std::string>();
    if (varied.empty() || varied[0] != '/') return;
    pointer(varied, {target->begin, target->end, ""}, place.below("pointer"), *target);
    const TextNode* values = node.member("values");
    if (values == nullptr || values->kind != TextNode::Kind::list) return;
    for (std::size_t i = 0; i < values->below.size(); ++i)
      walk(values->below[i], {child(child(place.in_file, "values"), i), varied});
  }

  /// A pointer that is written in the file, where `edit` replaces it.
  void pointer(const std::string& old, TextEdit edit, const Location& place, const TextNode& node) {
    const std::string now = renamed_pointer(old);
    if (!now.empty()) {
      edit.replacement = Json(now).dump();
      edits_.push_back(std::move(edit));
      changes_.push_back(fmt::format("{}: now \"{}\"", place.in_file, now));
    } else if (rename_of(old) != nullptr) {
      fail(place, "names what is part of the shape in \"tensors\" now", node, "Write it by hand");
    }
  }

  Json value_of(const TextNode& node) const {
    return Json::parse(text_.substr(node.begin, node.end - node.begin), nullptr, true, true);
  }

  void fail(const Location& place, const std::string& problem, const TextNode& node,
            const std::string& remedy) {
    errors_.push_back({file_, place.in_file, problem, shown_value(value_of(node)), remedy});
  }

  void fail_twice(const Location& place, const std::string& now, const TextNode& node) {
    fail(place, fmt::format("is called \"{}\" now, which is there, too", now), node, "Keep one of the two");
  }

  const std::string& text_;
  std::string file_;
  std::vector<TextEdit> edits_;
  std::vector<std::string> changes_;
  std::vector<InputError> errors_;
};

}  // namespace

Migrated migrate(const std::string& text, const std::string& file) {
  const Json document = parse_json(text, file);
  if (!document.is_object())
    throw ConfigError({file, "", "is not a scenario, study, cluster, device or workload",
                       shown_value(document), "Name a file that holds an object"});
  return Migration(text, file).run(part_pointer(document));
}

}  // namespace simsgd
