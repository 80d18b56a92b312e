// A plug-in of any kind: what it says about itself, its options (a struct with fields, sim/base/fields.hpp),
// and the function that makes it of them. One file each, listed in its folder's CMakeLists.txt, from which
// the table of its kind is written (simsgd_plugins); from that alone it appears in validation, `list`,
// `schema`, the reference and completion.
//
//   struct Options {
//     std::uint64_t period = 1;
//     void fields(Fields& f) { f.whole("period", period, "Steps between two averagings").at_least(1); }
//   };
//
//   std::vector<AlgorithmPlugin> local_sgd() {
//     return {{{"local_sgd", "workers train alone and average their models", "Stich, ICLR 2019"},
//              +[](const Options& options, const AlgorithmContext&) { ... }}};
//   }
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

struct PluginInfo {
  std::string name;      ///< as scenario files write it
  std::string summary;   ///< one line, without full stop
  std::string citation;  ///< authors, venue, DOI or arXiv id; may be empty for a topology or a data set
};

/// Of a plug-in without options.
struct NoOptions {
  void fields(Fields&) {}
};

/// The schema of an object that chooses the plug-in: its fields and its name.
void write_form(const PluginInfo& info, const Fields& fields, Json& form);

/// The options that the object of a file gives, checked.
template <class Options>
Options options_of(const Json& object, DrawUnit amounts = DrawUnit::seconds) {
  Options options;
  Fields fields(amounts);
  options.fields(fields);
  fields.read(object);
  return options;
}

/// Reads the keys that are those of `options`, and removes them from `object`: what all plug-ins of a kind
/// have, beside the options of each.
template <class Options>
void take_options(Options& options, Json& object) {
  Fields fields;
  options.fields(fields);
  fields.take(object);
}

/// `Made`: what its function makes. `Context`: what that may look at beyond the options. Options with a
/// member `complete(context...)` fill what a rule gives there (Field::by_rule).
template <class Made, class... Context>
class Plugin {
 public:
  using Result = Made;

  template <class Options>
  Plugin(PluginInfo about, Made (*maker)(const Options&, Context...))
      : info(std::move(about)),
        fields_([](DrawUnit amounts, const std::function<void(const Fields&)>& use) {
          Options options;
          Fields fields(amounts);
          options.fields(fields);
          use(fields);
        }),
        make_([maker](const Json& object, Context... context) {
          return maker(completed_options<Options>(object, context...), context...);
        }),
        complete_([](Json& object, Context... context) {
          Options options = completed_options<Options>(object, context...);
          Fields fields(unit_of(context...));
          options.fields(fields);
          fields.write_missing(object);
        }) {}

  Plugin(PluginInfo about, Made (*maker)(Context...))
      : info(std::move(about)),
        fields_([](DrawUnit, const std::function<void(const Fields&)>& use) { use(Fields()); }),
        make_([maker](const Json& object, Context... context) {
          Fields().read(object);
          return maker(context...);
        }),
        complete_([](Json&, Context...) {}) {}

  using FieldsOf = std::function<void(DrawUnit, const std::function<void(const Fields&)>&)>;

  /// One whose options are another plug-in's (`own_fields`).
  Plugin(PluginInfo about, FieldsOf fields, std::function<Made(const Json&, Context...)> maker)
      : info(std::move(about)),
        fields_(std::move(fields)),
        make_(std::move(maker)),
        complete_([](Json&, Context...) {}) {}

  PluginInfo info;

  const FieldsOf& own_fields() const { return fields_; }

  /// The schema of the object that chooses it.
  void form(Json& form, DrawUnit amounts = DrawUnit::seconds) const {
    fields_(amounts, [&](const Fields& fields) { write_form(info, fields, form); });
  }
  /// Throws ParameterError where the object's options are wrong, or nothing can be made of them here.
  Made make(const Json& object, Context... context) const { return make_(object, context...); }
  /// Adds the options that the object lacks, with what the context gives by rule.
  void complete(Json& object, Context... context) const { complete_(object, context...); }

 private:
  static DrawUnit unit_of() { return DrawUnit::seconds; }
  template <class First, class... Rest>
  static DrawUnit unit_of(const First& first, const Rest&...) {
    if constexpr (std::is_same_v<First, DrawUnit>)
      return first;
    else
      return DrawUnit::seconds;
  }

  template <class Options>
  static Options completed_options(const Json& object, Context... context) {
    Options options = options_of<Options>(object, unit_of(context...));
    if constexpr (requires { options.complete(context...); }) options.complete(context...);
    return options;
  }

  FieldsOf fields_;
  std::function<Made(const Json&, Context...)> make_;
  std::function<void(Json&, Context...)> complete_;
};

/// Rejects a name that none of `names` is, with the nearest that is.
[[noreturn]] void reject_name(const std::string& name, const std::string& kind,
                              const std::vector<std::string>& names);

/// The one of that name; else its "name" is rejected. `kind`: what it is none of, such as "topology".
template <class P>
const P& find_plugin(const std::vector<P>& plugins, const std::string& name, const std::string& kind) {
  std::vector<std::string> names;
  for (const P& plugin : plugins) {
    if (plugin.info.name == name) return plugin;
    names.push_back(plugin.info.name);
  }
  reject_name(name, kind, names);
}

/// The tables that files of plug-ins give, as one.
template <class P>
std::vector<P> joined(std::initializer_list<std::vector<P>> tables) {
  std::vector<P> all;
  for (const std::vector<P>& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace simsgd
