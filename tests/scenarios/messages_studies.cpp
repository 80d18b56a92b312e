// What can be wrong with a study.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_studies {

namespace {

std::string errors_of(const std::vector<Json>& axes, const Json& seeds = nullptr,
                      const Overrides& overrides = {}) {
  const Folder folder;
  Json scenario = small_scenario();
  if (!axes.empty()) scenario["axes"] = axes;
  if (!seeds.is_null()) scenario["seeds"] = seeds;
  try {
    load_study(folder.write_json("s.json", scenario), overrides);
  } catch (const ConfigError& error) {
    return folder.without_folder(error.what());
  }
  return "";
}

Json axis(const std::string& pointer, const Json& values) {
  return {{"pointer", pointer}, {"values", values}};
}

}  // namespace

TEST_CASE("an axis needs a pointer and values") {
  CHECK(
      errors_of({{{"values", {1, 2}}}}) ==
      "s.json:/axes/0: lacks the key \"pointer\". Add \"pointer\": JSON pointer to what varies, such as \"/cluster/workers\".");
  CHECK(errors_of({axis("/seed", Json::array())}) ==
        "s.json:/axes/0/values: is too short. Found: []. Give at least 1 element.");
  CHECK(
      errors_of({axis("seed", {1})}) ==
      "s.json:/axes/0/pointer: is no JSON pointer. Found: \"seed\". Write one such as \"/cluster/workers\".");
  CHECK(
      errors_of({{{"pointer", "/seed"}, {"value", {1, 2}}}}) ==
      "s.json:/axes/0/value: is an unknown key. Found: [1,2]. Did you mean \"values\"? Valid keys here: name, pointer, values, when.\n"
      "s.json:/axes/0: lacks the key \"values\". Add \"values\": The values, one after another.");
}

TEST_CASE("ranges need bounds between which there is something") {
  CHECK(
      errors_of({{{"pointer", "/seed"}, {"log_range", {{"from", 0}, {"to", 8}, {"points", 3}}}}}) ==
      "s.json:/axes/0/log_range: has bounds between which there is nothing. Found: {\"from\":0,\"points\":3,\"to\":8}. Give two bounds above 0, in one unit.");
  CHECK(
      errors_of({{{"pointer", "/seed"}, {"range", {{"from", 0}, {"to", 8}, {"step", -1}}}}}) ==
      "s.json:/axes/0/range: has bounds between which there is nothing. Found: {\"from\":0,\"step\":-1,\"to\":8}. Give a step that leads from the first bound to the second, all in one unit.");
}

TEST_CASE("zipped axes have one length") {
  CHECK(
      errors_of({{{"zip", {axis("/seed", {1, 2}), axis("/stop/steps", {1, 2, 3})}}}}) ==
      "s.json:/axes/0/zip/1: has 3 values, and the first one has 2. Found: {\"pointer\":\"/stop/steps\",\"values\":[1,2,3]}. Give zipped axes the same number of values.");
}

TEST_CASE("a pointer varies once, and a study has an end") {
  CHECK(
      errors_of({axis("/seed", {1}), axis("/seed", {2})}) ==
      "s.json:/axes: varies /seed twice. Found: [{\"pointer\":\"/seed\",\"values\":[1]},{\"pointer\":\"/seed\",\"values\":[2]}]. Give each pointer one axis.");
  CHECK(errors_of({axis("/seed", {1})}, 3) ==
        "s.json:/seeds: varies /seed twice. Found: 3. Give each pointer one axis.");
  const Json long_range = {{"from", 1}, {"to", 2000}, {"step", 1}};
  CHECK(errors_of({{{"pointer", "/seed"}, {"range", long_range}},
                   {{"pointer", "/stop/steps"}, {"range", long_range}}})
            .starts_with("s.json:/axes: make more than 100000 points. "));
}

TEST_CASE("what an axis sets, the command line cannot set") {
  CHECK(
      errors_of({axis("/stop/steps", {1, 2})}, nullptr, {{{"/stop/steps", "5"}}, {}}) ==
      "--set:/stop/steps: is set by the study's axis /stop/steps in every point. Found: 5. Set the axis instead, such as --set /axes/0/values=[...] or --set /seeds=[...].");
  CHECK(
      errors_of({}, 2, {{}, 5}) ==
      "--seed: is set by the study's axis /seed in every point. Found: 5. Set the axis instead, such as --set /axes/0/values=[...] or --set /seeds=[...].");
}

TEST_CASE("errors of points name the value of the axis, each once") {
  CHECK(errors_of({axis("/cluster/workers", {2, 0, "x"}), axis("/stop/steps", {1, 2})}) ==
        "s.json:/axes/0/values/1: is out of range. Found: 0. Write a whole number of at least 1.\n"
        "s.json:/axes/0/values/2: has the wrong type. Found: \"x\". Write a whole number of at least 1.");
  CHECK(
      errors_of({axis("/cluster/device/use", {"none.json"})})
          .starts_with("s.json:/axes/0/values/0: names a file that does not exist. Found: \"none.json\". "));
}

TEST_CASE("circumstances name axes of the study") {
  const auto errors = [](const std::vector<Json>& axes, const Json& circumstances) {
    return errors_of(axes, nullptr, {{{"/circumstances", circumstances.dump()}}, {}});
  };
  const std::vector<Json> axes = {axis("/cluster/workers", {2, 4}), axis("/stop/steps", {1, 2})};
  CHECK(errors(axes, {"cluster/workers", "/stop/steps"}) == "");
  CHECK(errors(axes, Json::array()) == "");
  CHECK(
      errors(axes, {"/stop/step", "steps"}) ==
      "--set:/circumstances/0: is no axis of this study. Found: \"/stop/step\". Did you mean \"stop/steps\"? Name cluster/workers or stop/steps.\n"
      "--set:/circumstances/1: is no axis of this study. Found: \"steps\". Name cluster/workers or stop/steps.");
  CHECK(
      errors({}, {"/stop/steps"}) ==
      "--set:/circumstances: names no axis, since there are none. Found: [\"/stop/steps\"]. Leave it out, or give the study axes.");
}

}  // namespace simsgd::test::scenarios_messages_studies
