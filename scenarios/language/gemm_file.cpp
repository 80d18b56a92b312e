// Products of matrices that a user measured, as a CSV file that "use" of a device's "gemm" names:
//   "device": {"use": "devices/h100.json", "gemm": {"use": "my.csv"}}
// The first line names the columns, in any order and case:
//   column                           | meaning
//   m, n, k                          | rows and columns of the product; numbers that are multiplied and
//                                    | added for each of its entries
//   seconds, time, ms or us          | the time of the kernel alone
//   else tflops, gflops or flops     | its rate: 2 m n k over that time
// A cell may bring a unit of its own ("12.5 us", "610 TFLOPS"). Rows stand in any order; other columns, empty
// lines and lines that begin with # are not read. Test: tests/scenarios/step_cost.cpp.
#include "scenarios/language/use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

/// A column that tells how long a product takes; of several the first counts.
struct DurationColumn {
  const char* name;
  Dimension dimension;
  double unit;
};
constexpr std::array<DurationColumn, 7> kDurationColumns = {{{"seconds", Dimension::time_s, 1},
                                                             {"time", Dimension::time_s, 1},
                                                             {"ms", Dimension::time_s, 1e-3},
                                                             {"us", Dimension::time_s, 1e-6},
                                                             {"tflops", Dimension::rate_flops, 1e12},
                                                             {"gflops", Dimension::rate_flops, 1e9},
                                                             {"flops", Dimension::rate_flops, 1}}};
constexpr std::array<const char*, 3> kSizeColumns = {"m", "n", "k"};

std::vector<std::string> cells_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\"";
  std::vector<std::string> cells;
  while (true) {
    const std::string_view cell = line.substr(0, line.find(','));
    const std::size_t begin = cell.find_first_not_of(kBlanks);
    cells.emplace_back(begin == std::string_view::npos
                           ? std::string_view()
                           : cell.substr(begin, cell.find_last_not_of(kBlanks) + 1 - begin));
    if (cell.size() == line.size()) return cells;
    line.remove_prefix(cell.size() + 1);
  }
}

class GemmFile {
 public:
  explicit GemmFile(std::string file) : file_(std::move(file)) {}

  Json read(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (number_ = 1; !text.empty(); ++number_) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (line.starts_with('#') || line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (width_ > 0)
        add_row(cells_of(line));
      else
        read_names(cells_of(line));
    }
    if (width_ == 0) fail("is empty", "", "Begin it with the names of its columns: m,n,k,seconds");
    if (errors_.empty() && rows_.empty())
      fail("has no line below its columns", "", "Give one line for each product that was measured");
    if (!errors_.empty()) throw ConfigError(errors_);
    return times();
  }

 private:
  struct Row {
    std::array<int, 3> size{};  // m, n, k
    double seconds = 0;
    double flop() const { return 2.0 * std::max(size[0], size[1]) * std::min(size[0], size[1]) * size[2]; }
  };

  void fail(const std::string& problem, const std::string& found, const std::string& remedy) {
    errors_.push_back({file_, "", problem, found, remedy});
  }
  void fail_here(const std::string& problem, const std::string& found, const std::string& remedy) {
    fail(fmt::format("line {}: {}", number_, problem), found, remedy);
  }

  void read_names(const std::vector<std::string>& names) {
    width_ = names.size();
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!places.emplace(lower_case(names[i]), i).second)
        fail_here("names a column twice", Json(names[i]).dump(), "Leave one of the two out");
    const std::string found = fmt::format("{}", fmt::join(names, ","));
    for (std::size_t i = 0; i < kSizeColumns.size(); ++i) {
      const auto place = places.find(kSizeColumns[i]);
      if (place == places.end())
        fail_here(fmt::format("names no column \"{}\"", kSizeColumns[i]), found,
                  "Name m, n and k, of products m x k times k x n, and a column of times");
      else
        sizes_[i] = place->second;
    }
    for (const DurationColumn& each : kDurationColumns)
      if (const auto place = places.find(each.name); place != places.end()) {
        duration_ = &each;
        duration_at_ = place->second;
        named_ = errors_.empty();
        return;
      }
    fail_here("names no column of times", found,
              "Name one seconds, time, ms or us, or give rates as tflops, gflops or flops");
  }

  void add_row(const std::vector<std::string>& cells) {
    if (cells.size() != width_)
      return fail_here(
          fmt::format("has {} fields, where the first line names {} columns", cells.size(), width_), "",
          "Give each column a field");
    if (!named_) return;  // which field is which is not known
    const std::size_t before = errors_.size();
    Row row;
    for (std::size_t i = 0; i < kSizeColumns.size(); ++i)
      row.size[i] = size_in(cells[sizes_[i]], kSizeColumns[i]);
    const double value = duration_in(cells[duration_at_]);
    if (errors_.size() > before) return;
    row.seconds = duration_->dimension == Dimension::time_s ? value : row.flop() / value;
    const auto [known, is_new] =
        lines_.emplace(std::array<int, 3>{std::max(row.size[0], row.size[1]),
                                          std::min(row.size[0], row.size[1]), row.size[2]},
                       number_);
    if (!is_new)
      return fail_here(fmt::format("has the size of line {}", known->second),
                       fmt::format("{} x {} x {}", row.size[0], row.size[1], row.size[2]),
                       "Keep one of the two, or their median; a product takes as long as its transpose");
    rows_.push_back(row);
  }

  int size_in(const std::string& cell, const char* name) {
    const auto value = number_of_text<std::int64_t>(cell);
    if (value && *value >= 1 && *value <= std::numeric_limits<int>::max()) return static_cast<int>(*value);
    fail_here(fmt::format("\"{}\" is not a whole number of at least 1", name), Json(cell).dump(),
              fmt::format("Write for example 4096{}", value && *value > 1 ? ", and at most 2147483647" : ""));
    return 1;
  }

  /// In SI.
  double duration_in(const std::string& cell) {
    const auto bare = number_of_text<double>(cell);
    const ParsedQuantity with_unit = parse_quantity(cell, duration_->dimension);
    const double value = bare ? *bare * duration_->unit : with_unit.ok ? with_unit.value : 0;
    if (std::isfinite(value) && value > 0) return value;
    const bool rate = duration_->dimension == Dimension::rate_flops;
    fail_here(
        fmt::format("\"{}\" is not a {} above 0", duration_->name, rate ? "rate" : "time"), Json(cell).dump(),
        fmt::format("Write a number, or one with its unit such as {}", rate ? "610 TFLOPS" : "12.5 us"));
    return 1;
  }

  Json times() {
    std::ranges::stable_sort(rows_, [](const Row& a, const Row& b) { return a.flop() < b.flop(); });
    Json all = Json::array();
    for (const Row& row : rows_)
      all.push_back({{"m", row.size[0]}, {"n", row.size[1]}, {"k", row.size[2]}, {"time", row.seconds}});
    return {{"times", std::move(all)}};
  }

  std::string file_;
  std::size_t number_ = 1, width_ = 0, duration_at_ = 0;
  std::array<std::size_t, 3> sizes_{};
  const DurationColumn* duration_ = nullptr;
  bool named_ = false;
  std::vector<Row> rows_;
  std::map<std::array<int, 3>, std::size_t> lines_;  // of each size: m >= n, k
  std::vector<InputError> errors_;
};

}  // namespace

Json gemm_of_csv(const std::string& text, const std::string& file) { return GemmFile(file).read(text); }

}  // namespace simsgd
