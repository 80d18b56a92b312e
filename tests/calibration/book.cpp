// The book: lines by an independent sum, what is kept of sets without measurements, and what it prints.
#include <doctest/doctest.h>

#include <algorithm>

#include "analysis/book/book.hpp"
#include "support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::calibration_book {

namespace {

Json book_of(const Json& sets) { return {{"name", "b"}, {"sets", sets}}; }

Json set_of(const std::string& name, const std::string& spec) {
  return {{"name", name}, {"measured_on", "m"}, {"spec", spec}, {"test", "8 workers"}, {"seen", "blind"}};
}

/// A book of one spec with measurements and one without.
struct Shelf {
  Folder folder;
  std::vector<MeasuredRow> rows = ring_rows(TrueRing{}, 0.01, 5);

  Shelf() {
    folder.write_json("spec.json", ring_spec());
    Json elsewhere = ring_spec();
    elsewhere["data"][0]["files"] = {"nowhere.csv"};
    folder.write_json("elsewhere.json", elsewhere);
    folder.write("m.csv", csv_of(rows));
    folder.write_json("book.json", book_of({set_of("here", folder.path("spec.json")),
                                            set_of("there", folder.path("elsewhere.json"))}));
  }
  book::JudgedBook judged(book::Lines last = {}) const {
    book::BookSettings settings;
    settings.calibration.data = std::filesystem::path(folder.path("m.csv")).parent_path().string();
    settings.date = "2026-01-31";
    return judge_book(book::load_book(folder.path("book.json")), settings, std::move(last));
  }
};

}  // namespace

TEST_CASE("a line is what its cells say") {
  const std::vector<book::Cell> cells{{"a", 10, 11, {{0.5, 9, 10.5}, {0.9, 8, 12}}},
                                      {"b", 10, 8, {{0.5, 7, 8.5}, {0.9, 6, 9}}},
                                      {"c", 10, 10.2, {}}};
  const book::Line line = book::line_of(cells, {}, 0.01, "d");
  CHECK(line.cells == 3);
  CHECK(line.mean == doctest::Approx((0.1 + 0.2 + 0.02) / 3));
  CHECK(line.median == doctest::Approx(0.1));
  CHECK(line.worst == doctest::Approx(0.2));
  CHECK(line.bias == doctest::Approx((0.1 - 0.2 + 0.02) / 3));
  REQUIRE(line.at(0.9) != nullptr);
  CHECK(line.at(0.9)->inside == 1);
  CHECK(line.at(0.9)->told == 2);
  CHECK(line.at(0.9)->width == doctest::Approx((0.5 + 0.5) / 2));
  CHECK(line.worst_cells.front().name == "b");
  CHECK(line.at(0.9)->share == doctest::Approx(0.5));
  // Means are weighted as a test weighs its cells, and so is what intervals hold.
  const book::Line weighted = book::line_of(cells, {3, 1, 1}, {}, "d");
  CHECK(weighted.mean == doctest::Approx((3 * 0.1 + 0.2 + 0.02) / 5));
  CHECK(weighted.at(0.9)->inside == 1);
  CHECK(weighted.at(0.9)->share == doctest::Approx(0.75));
}

TEST_CASE("lines are read as they were written") {
  const book::Line line = book::line_of({{"a", 10, 11, {{0.9, 8, 12}}}}, {}, 0.01, "2026-01-31");
  const Folder folder;
  folder.write("judged.json", book::lines_json({{"m: n", line}}).dump());
  const book::Lines read = book::read_lines(folder.path("judged.json"));
  REQUIRE(read.size() == 1);
  CHECK(book::lines_json(read) == book::lines_json({{"m: n", line}}));
  folder.write("judged.json", "[1");
  CHECK_THROWS_AS(book::read_lines(folder.path("judged.json")), ConfigError);
}

TEST_CASE("a set is judged as validate judges it; one without measurements keeps its last line") {
  const Shelf shelf;
  const book::Line last = book::line_of({{"a", 10, 13, {}}}, {}, {}, "2025-12-24");
  const book::JudgedBook judged = shelf.judged({{"m: there", last}});
  REQUIRE(judged.sets.size() == 2);
  CHECK(judged.sets[1].skipped == "nowhere.csv was not found");
  CHECK(judged.lines.at("m: there").date == "2025-12-24");
  const book::Line& here = judged.lines.at("m: here");
  CHECK(here.date == "2026-01-31");

  CalibrationSettings settings;
  settings.data = std::filesystem::path(shelf.folder.path("m.csv")).parent_path().string();
  const auto calibration = calibrate(load_spec(shelf.folder.path("spec.json")), settings);
  const Judgement& test = calibration->tests.front().front();
  CHECK(here.cells == test.points.size());
  CHECK(here.mean == doctest::Approx(test.all.mean));
  CHECK(here.bias == doctest::Approx(test.all.bias));
  std::size_t inside = 0;
  for (const JudgedPoint& each : test.points) {
    const Interval& widest = each.intervals.back();
    inside += each.measured >= widest.low && each.measured <= widest.high ? 1 : 0;
  }
  CHECK(here.at(0.9)->inside == inside);

  const std::string page = book::book_markdown(judged, "simsgd book");
  CHECK(page.find("| the same | there | 1 | 30 % |") != std::string::npos);
  CHECK(page.find("2025-12-24") != std::string::npos);
  const questions::Report report = book::book_report(judged, "simsgd book");
  REQUIRE(report.studies.front().charts.size() == 1);
  CHECK(report.studies.front().charts.front().rows.size() == here.cells);
  CHECK(report.studies.front().left_out.front().why == "nowhere.csv was not found");
}

TEST_CASE("a book that names nothing to judge, or twice the same, is refused with all errors at once") {
  const Folder folder;
  Json both = set_of("a", "s.json");
  both["left_out"] = "workers";
  folder.write_json("book.json", book_of({both, set_of("a", "s.json")}));
  const std::string errors = refusal_of<ConfigError>([&] { book::load_book(folder.path("book.json")); });
  CAPTURE(errors);
  CHECK(errors.find("/sets/0: needs either") != std::string::npos);
  CHECK(errors.find("/sets/1/name: is already the name of another set") != std::string::npos);
}

TEST_CASE("the committed book names parts that its specs have") {
  const book::Book book = book::load_book(SIMSGD_SOURCE_DIR "/scenarios/book/book.json");
  for (const book::SetSpec& set : book.sets) {
    CAPTURE(set.name);
    const Spec spec = load_spec(SIMSGD_SOURCE_DIR "/scenarios/" + set.spec);
    const auto& columns = spec.fit.leave_out;
    if (set.test.empty())
      CHECK(std::find(columns.begin(), columns.end(), set.left_out) != columns.end());
    else
      CHECK(std::any_of(spec.tests.begin(), spec.tests.end(),
                        [&](const TestSpec& test) { return test.name == set.test; }));
  }
}

}  // namespace simsgd::test::calibration_book
