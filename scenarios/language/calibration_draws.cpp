#include "scenarios/language/calibration_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd {

namespace {

constexpr const char* kCluster = "/cluster";
constexpr const char* kAt = "/cluster/calibration";

/// What a value may be at one place, of all plug-ins: a schema for each form.
using Forms = std::vector<const Json*>;

void add_forms(const Json& schema, Forms& forms) {
  if (!schema.contains("oneOf") && !schema.contains("anyOf")) return forms.push_back(&schema);
  for (const char* keyword : {"oneOf", "anyOf"})
    if (schema.contains(keyword))
      for (const Json& form : schema[keyword]) add_forms(form, forms);
}

/// Empty where no form has such a member.
Forms forms_at(const std::string& pointer) {
  Forms here{&resolved_schema()};
  for (const std::string& token : tokens(pointer)) {
    Forms below;
    for (const Json* form : here) {
      const auto properties = form->find("properties"), items = form->find("items");
      if (properties != form->end() && properties->contains(token)) add_forms((*properties)[token], below);
      if (items != form->end() && items->is_object() && list_index(token)) add_forms(*items, below);
    }
    here = std::move(below);
  }
  return here;
}

bool is_of_numbers(const Json& form) {
  const Json type = form.value("type", Json());
  return form.contains("x-quantity") || type == "number" || type == "integer";
}

std::optional<Json> as_taken(const Forms& forms, const Json& value) {
  for (const Json* form : forms)
    if (Json filled = value; complete(*form, filled).empty()) return in_si(*form, value);
  return std::nullopt;
}

bool begins_as_pointer(const std::string& text) { return text.starts_with('/'); }

/// Names beside the first one of the pointer that is of nothing.
std::string guess_of_pointer(const std::string& pointer) {
  std::string at;
  for (const std::string& token : tokens(pointer)) {
    if (!forms_at(child(at, token)).empty()) {
      at = child(at, token);
      continue;
    }
    std::vector<std::string> names;
    for (const Json* form : forms_at(at))
      if (form->contains("properties"))
        for (const auto& property : (*form)["properties"].items()) names.push_back(property.key());
    return suggestion(token, names);
  }
  return "";
}

/// The values that decide whether all are taken: each once, and of numbers the ends and one that is
/// not whole.
std::vector<const Json*> decisive(const std::vector<const Json*>& values) {
  std::vector<const Json*> all;
  const Json *least = nullptr, *most = nullptr, *broken = nullptr;
  for (const Json* each : values) {
    if (!each->is_number()) {
      const bool known = std::ranges::any_of(all, [&](const Json* other) { return *other == *each; });
      if (!known) all.push_back(each);
      continue;
    }
    const double number = each->get<double>();
    if (least == nullptr || number < least->get<double>()) least = each;
    if (most == nullptr || number > most->get<double>()) most = each;
    if (std::trunc(number) != number) broken = each;
  }
  for (const Json* each : {least, most, broken})
    if (each != nullptr && std::ranges::find(all, each) == all.end()) all.push_back(each);
  return all;
}

class CalibrationCheck {
 public:
  CalibrationCheck(const Reader& reader, const CalibrationSection& section)
      : reader_(reader), section_(section) {}

  bool run() {
    for (std::size_t i = 0; i < section_.parameters.size(); ++i) {
      const std::string& pointer = section_.parameters[i].pointer;
      known(child(child(kAt, "parameters"), i) + "/pointer", kCluster, pointer);
    }
    check_draws();
    for (std::size_t i = 0; i < section_.settings.size(); ++i)
      check_setting(section_.settings[i], child(child(kAt, "settings"), i));
    return right_;
  }

 private:
  void wrong(const std::string& at, const std::string& problem, const std::string& remedy) {
    reader_.error(at, problem, remedy);
    right_ = false;
  }

  /// The forms at the pointer below `base`; reports where there are none.
  const Forms* known(const std::string& at, const std::string& base, const std::string& pointer) {
    const auto [found, fresh] = forms_.try_emplace(base + pointer);
    if (fresh && begins_as_pointer(pointer)) found->second = forms_at(base + pointer);
    if (!found->second.empty()) return &found->second;
    const std::string of = base.empty() ? "a scenario" : "a cluster";
    wrong(at, fmt::format("draws {}, which no setting of {} is", shown_value(pointer), of),
          (begins_as_pointer(pointer) ? guess_of_pointer(base + pointer) : "") +
              fmt::format("Write a JSON pointer {}, such as {}", base.empty() ? "into it" : "below it",
                          base.empty() ? "/algorithm/coupling" : "/nic/bandwidth"));
    return nullptr;
  }

  void check_draws() {
    if (!section_.draws.present()) return;
    struct Place {
      std::vector<const Json*> values;
      std::map<const Json*, std::string> at;
    };
    std::map<std::string, Place> places;
    const Json& draws = section_.draws.json();
    for (std::size_t i = 0; i < draws.size(); ++i)
      for (const auto& [pointer, value] : draws[i].items()) {
        Place& place = places[pointer];
        place.values.push_back(&value);
        place.at[&value] = child(child(child(kAt, "draws"), i), pointer);
      }
    for (const auto& [pointer, place] : places) {
      const Forms* forms = known(place.at.at(place.values.front()), kCluster, pointer);
      if (forms == nullptr) continue;
      for (const Json* value : decisive(place.values)) check_value(place.at.at(value), *forms, *value);
    }
  }

  void check_value(const std::string& at, const Forms& forms, const Json& value) {
    if (as_taken(forms, value)) return;
    wrong(at, "is not a value that the setting can have", "Draw values that a scenario could have there");
  }

  void check_setting(const DrawnSetting& setting, const std::string& at) {
    if (within(setting.pointer, kCluster))
      return wrong(at + "/pointer", "is a setting of the cluster itself", "Draw it in \"draws\"");
    const Forms* forms = known(at + "/pointer", "", setting.pointer);
    const Json& draws = setting.draws.json();
    const std::size_t count = section_.draws.present() ? section_.draws.json().size() : draws.size();
    if (draws.size() != count)
      wrong(at + "/draws", fmt::format("has {} values, but the cluster has {} draws", draws.size(), count),
            "Give one value for each draw");
    if (setting.low.has_value() != setting.high.has_value())
      wrong(at, "has only one end of an interval", "Give \"low\" and \"high\", or neither");
    check_where(setting.where, at + "/where");
    if (forms == nullptr) return;
    check_value(at + "/value", *forms, setting.value.json());
    std::vector<const Json*> values;
    for (const Json& each : draws) values.push_back(&each);
    for (const Json* each : decisive(values))
      check_value(
          child(at + "/draws", static_cast<std::size_t>(std::ranges::find(values, each) - values.begin())),
          *forms, *each);
  }

  void check_where(const RawValue& where, const std::string& at) {
    if (!where.present()) return;
    for (const auto& [pointer, wanted] : where.json().items()) {
      const std::string place = child(at, pointer);
      if (known(place, "", pointer) == nullptr || !wanted.is_object()) continue;
      for (const auto& [key, bound] : wanted.items())
        if ((key != "at_least" && key != "at_most") || !bound.is_number())
          wrong(child(place, key), "is not a comparison", "Write \"at_least\" or \"at_most\", and a number");
    }
  }

  const Reader& reader_;
  const CalibrationSection& section_;
  std::map<std::string, Forms> forms_;
  bool right_ = true;
};

bool equal_text(const Json& found, const Json& wanted) {
  const auto text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  return found == wanted || text(found) == text(wanted);
}

bool wanted_holds(const Json& found, const Json& wanted) {
  if (wanted.is_array())
    return std::ranges::any_of(wanted, [&](const Json& each) { return equal_text(found, each); });
  if (!wanted.is_object()) return equal_text(found, wanted);
  if (!found.is_number()) return false;
  const double number = found.get<double>();
  return number >= wanted.value("at_least", number) && number <= wanted.value("at_most", number);
}

}  // namespace

double within_setting(const std::string& pointer, double number) {
  for (const Json* form : forms_at(pointer))
    if (is_of_numbers(*form))
      return std::clamp(number, form->value("minimum", -HUGE_VAL), form->value("maximum", HUGE_VAL));
  return number;
}

std::optional<Json> setting_value(const std::string& pointer, const Json& value) {
  return as_taken(forms_at(pointer), value);
}

bool is_continuous(const std::string& pointer) {
  const Forms forms = forms_at(pointer);
  return std::ranges::any_of(forms, [](const Json* form) {
    return form->contains("x-quantity") || form->value("type", Json()) == "number";
  });
}

bool has_setting(const Json& resolved, const std::string& pointer) {
  if (value_at(resolved, pointer) != nullptr) return true;
  // Its parent must be there, or there is nothing to set it in.
  const Json* above = value_at(resolved, parent(pointer));
  return above != nullptr && above->is_object() &&
         schema_at(resolved_schema(), resolved, tokens(pointer)) != nullptr;
}

bool where_holds(const Json& where, const Json& resolved) {
  for (const auto& condition : where.items()) {
    const Json* found = value_at(resolved, condition.key());
    if (found == nullptr || !wanted_holds(*found, condition.value())) return false;
  }
  return true;
}

bool check_calibration(const Reader& reader, const CalibrationSection& section) {
  return CalibrationCheck(reader, section).run();
}

}  // namespace simsgd
