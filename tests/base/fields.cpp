// A table of fields says everything about a setting once: its schema, how it is read, what is wrong with it.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "sim/base/fields.hpp"
#include "sim/plugin.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::base_fields {

namespace {

enum class Colour : std::uint8_t { red, green };

struct Inner {
  double width_s = 0.5;
  void fields(Fields& f) { f.time("width", width_s, "Width"); }
};

struct Bare {
  int id = 0;
  void fields(Fields& f) { f.whole("id", id, "Number").required().at_least(1); }
};

struct Example {
  double share = 0.25;
  double end_s = std::numeric_limits<double>::infinity();
  std::optional<double> limit_bytes;
  Cost price;
  int count = 3;
  std::uint64_t large = 1;
  bool on = true;
  std::string word = "so";
  Colour colour = Colour::green;
  std::optional<Colour> other;
  std::vector<double> numbers = {1, 2.5};
  Inner inner;
  std::optional<Inner> maybe;
  std::vector<Bare> bare;

  void fields(Fields& f) {
    f.number("share", share, "A share").above(0).at_most(1);
    f.time("end", end_s, "When").above(0).by_rule("never");
    f.bytes("limit", limit_bytes, "Most bytes");
    f.number("price", price, "Price").at_least(0);
    f.whole("count", count, "How many").at_least(1);
    f.whole("large", large, "Many");
    f.flag("on", on, "Whether");
    f.text("word", word, "A word");
    f.choice("colour", colour, {{"red", Colour::red}, {"green", Colour::green}}, "Colour");
    f.choice("other", other, {{"red", Colour::red}, {"green", Colour::green}}, "Or this");
    f.list("numbers", numbers, "Numbers", "One").items_at_least(0).least_items(1);
    f.object("inner", inner, "Inside");
    f.object("maybe", maybe, "Perhaps");
    f.objects("bare", bare, "List", "One of it");
  }
};

Json schema_of_example() {
  Example example;
  Fields fields;
  example.fields(fields);
  return fields.schema("Example");
}

std::string wrong(const Json& object) {
  return refusal_of<ParameterError>([&] { options_of<Example>(object); });
}

}  // namespace

TEST_CASE("the defaults of a schema are the values of the struct, and what it has none of has no default") {
  const Json properties = schema_of_example()["properties"];
  const Json defaults = {
      {"share", 0.25},        {"count", 3},        {"large", 1},          {"on", true},
      {"word", "so"},         {"colour", "green"}, {"numbers", {1, 2.5}}, {"inner", Json::object()},
      {"bare", Json::array()}};
  for (const auto& property : properties.items()) {
    CAPTURE(property.key());
    CHECK(property.value().contains("default") == defaults.contains(property.key()));
    if (defaults.contains(property.key())) CHECK(property.value()["default"] == defaults[property.key()]);
    CHECK(!property.value()["description"].get<std::string>().empty());
  }
  CHECK(properties["inner"]["properties"]["width"]["default"] == 0.5);
  CHECK(properties["end"]["x-default"] == "never");
  CHECK(properties["share"]["exclusiveMinimum"] == 0);
  CHECK(properties["share"]["maximum"] == 1);
  CHECK(properties["end"]["x-quantity"] == "time");
  CHECK(properties["bare"]["items"]["required"] == Json::array({"id"}));
}

TEST_CASE("what an object has is read, with units, and all else stays") {
  const auto read =
      options_of<Example>(Json::parse(R"({"share": 1, "end": "2 ms", "limit": "1 KiB", "price": 0,
      "colour": "red", "other": "green", "numbers": [4], "inner": {"width": 2}, "maybe": {}, "bare": [{"id": 7}]})"));
  CHECK(read.share == 1);
  CHECK(read.end_s == 0.002);
  CHECK(read.limit_bytes == 1024.0);
  CHECK(read.price.known());
  CHECK(read.count == 3);
  CHECK(read.colour == Colour::red);
  CHECK(read.other == Colour::green);
  CHECK(read.numbers == std::vector<double>{4});
  CHECK(read.inner.width_s == 2);
  CHECK(read.maybe->width_s == 0.5);
  CHECK(read.bare.at(0).id == 7);
  const auto empty = options_of<Example>(Json::object());
  CHECK(!empty.price.known());
  CHECK(!empty.maybe);
  CHECK(empty.end_s == std::numeric_limits<double>::infinity());
}

TEST_CASE("what is missing is written as the struct has it, and reading that gives the same again") {
  Example example = options_of<Example>(Json{{"inner", {{"width", 3}}}});
  example.limit_bytes = 2e6;  // as a rule would
  Json json = {{"inner", {{"width", 3}}}};
  Fields fields;
  example.fields(fields);
  fields.write_missing(json);
  CHECK(json["limit"] == 2000000);
  CHECK(json["inner"]["width"] == 3);
  CHECK(json["colour"] == "green");
  CHECK(!json.contains("price"));
  CHECK(!json.contains("end"));
  Json again = json;
  options_of<Example>(again);
  fields.write_missing(again);
  CHECK(again == json);
}

TEST_CASE("what is wrong is named with its way, and what would be right") {
  CHECK(wrong({{"share", 0}}) == "/share: is out of range. Write a number above 0 and of at most 1");
  CHECK(wrong({{"share", "much"}}) == "/share: has the wrong type. Write a number above 0 and of at most 1");
  CHECK(wrong({{"count", 1.5}}) == "/count: has the wrong type. Write a whole number of at least 1");
  CHECK(wrong({{"count", 0}}) == "/count: is out of range. Write a whole number of at least 1");
  CHECK(wrong({{"end", "5 parsecs"}}) ==
        "/end: has the unit \"parsecs\", which is not a unit of time. Write \"20 ms\" or 0.02 (seconds)");
  CHECK(wrong({{"end", true}}) == "/end: has the wrong type. Write \"20 ms\" or 0.02 (seconds)");
  CHECK(wrong({{"on", 1}}) == "/on: has the wrong type. Write true or false");
  CHECK(wrong({{"word", 1}}) == "/word: has the wrong type. Write text");
  CHECK(wrong({{"colour", "blue"}}) == "/colour: is not valid here. Choose red or green");
  CHECK(wrong({{"numbers", {1, -1}}}) == "/numbers/1: is out of range. Write a number of at least 0");
  CHECK(wrong({{"numbers", Json::array()}}) == "/numbers: is too short. Give at least 1 element");
  CHECK(wrong({{"numbers", 1}}) == "/numbers: has the wrong type. Write a list");
  CHECK(wrong({{"inner", {{"width", -1}}}}) ==
        "/inner/width: is out of range. Write a number of at least 0, such as \"20 ms\" or 0.02 (seconds)");
  CHECK(wrong({{"maybe", 1}}) == "/maybe: has the wrong type. Write an object");
  CHECK(wrong({{"bare", {{{"id", 1}}, Json::object()}}}) ==
        "/bare/1: lacks the key \"id\". Add \"id\": Number");
  CHECK(wrong({{"cuont", 1}})
            .starts_with("/cuont: is an unknown key. Did you mean \"count\"? Valid keys here: bare, "));
  CHECK(wrong(1) == "has the wrong type. Write an object");
}

}  // namespace simsgd::test::base_fields
