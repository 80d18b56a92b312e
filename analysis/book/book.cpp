#include "analysis/book/book.hpp"

#include <set>

#include "scenarios/language/explain.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/use.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"

namespace simsgd::book {

namespace {

struct SetSection {
  SetSpec set;

  void fields(Fields& f) {
    f.text("name", set.name, "What is predicted").required();
    f.text("measured_on", set.measured_on, "The machine; sets of one stand together").required();
    f.text("spec", set.spec, "A calibration").required();
    f.text("left_out", set.left_out, "Column of its parts that are left out in turn, and judged");
    f.text("test", set.test, "Name of one of its tests, in place of left_out");
    f.choice(
         "seen", set.seen, std::vector<std::string>{"left out", "blind", "explored"},
         "left out: not fitted, and the model was made with the cells in sight; blind: nobody had looked at them; explored: the model was chosen by these cells")
        .required();
    f.text("cause", set.cause, "Why its worst cells are off");
  }
};

struct BookSection {
  std::string name;
  std::vector<SetSection> sets;

  void fields(Fields& f) {
    f.text("name", name, "What pages call it").required();
    f.objects("sets", sets, "Cells that are judged together", "A line of the table")
        .required()
        .least_items(1);
  }
};

}  // namespace

Book load_book(const std::string& path) {
  JsonFiles files;
  ErrorList errors;
  const std::string file = scenario_path(path);
  const Sourced sourced = resolve_uses(files, file, {}, {}, errors);
  BookSection described;
  validate(schema::of(described, "A book of judgements"), sourced.value, sourced.origins, sourced.incomplete,
           errors);
  errors.throw_if_any();
  const auto section = options_of<BookSection>(sourced.value);
  Book book{shown_name(file), section.name, {}};
  std::set<std::string> names;
  for (std::size_t i = 0; i < section.sets.size(); ++i) {
    const SetSpec& set = section.sets[i].set;
    const std::string at = child("/sets", i);
    if (set.left_out.empty() == set.test.empty())
      errors.add(sourced.value, sourced.origins, at, "names both parts that are left out and a test, or none",
                 "Give \"left_out\" or \"test\"");
    if (!names.insert(set.measured_on + "\n" + set.name).second)
      errors.add(sourced.value, sourced.origins, at + "/name", "is the name of another set of this machine",
                 "Give each a name of its own");
    book.sets.push_back(set);
  }
  errors.throw_if_any();
  return book;
}

}  // namespace simsgd::book
