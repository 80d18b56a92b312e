// A table of numbers with a column that says the class (`label`) or the value to predict (`target`) of each
// row; all other columns are features. Class labels are any text; classes are numbered in the order of their
// labels, as numbers if all are, else alphabetically. The test set is another file, or a share of the rows
// drawn by the seed.
#include "sim/learn/data/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/sampler.hpp"

namespace simsgd::data_sources {

namespace {

struct CsvOptions {
  std::string path;
  std::optional<std::string> label, target, test_path;
  std::optional<double> test_fraction;
  bool standardise = true, header = true;
  std::string delimiter = ",";

  void fields(Fields& f) {
    f.text("path", path, "The table, plain or .gz").required().least_characters(1);
    f.text("label", label,
           "Column with the class of each row; without a header, columns are called \"1\", \"2\", ...")
        .least_characters(1);
    f.text("target", target, "Column with the number to predict, in place of label").least_characters(1);
    f.text("test_path", test_path, "Another table with the same columns as test set").least_characters(1);
    f.number("test_fraction", test_fraction,
             "Share of the rows, drawn at random, that is the test set; not beside test_path")
        .at_least(0)
        .at_most(1)
        .by_rule("0.2, or none beside test_path");
    f.flag("standardise", standardise,
           "Whether every feature is scaled to mean 0 and standard deviation 1 on the training rows");
    f.flag("header", header, "Whether the first line names the columns");
    f.text("delimiter", delimiter, "Fields are separated by this character")
        .least_characters(1)
        .most_characters(1);
  }
  void complete(const DataContext&) {
    if (!test_path && !test_fraction) test_fraction = 0.2;
  }
};

FileSource csv_source(const DataContext& context, const std::string& path, const std::string& key) {
  return {context.resolve(path), key, "Correct the file, or name a text table of numbers"};
}

CsvFormat format_of(const CsvOptions& options) {
  return {.delimiter = options.delimiter.front(), .header = options.header};
}

std::string columns_of(const CsvTable& table) {
  constexpr std::size_t kReadable = 20;
  const std::vector<std::string>& names = table.columns;
  if (names.size() <= kReadable) return "The columns are " + one_of(names);
  return fmt::format("The {} columns are {}, {}, ..., {}", names.size(), names[0], names[1], names.back());
}

std::size_t chosen_column(const CsvOptions& options, const CsvTable& table) {
  if (options.label.has_value() == options.target.has_value())
    reject("label", "excludes \"target\", and one of the two is needed",
           "Give \"label\" to learn classes, or \"target\" to learn numbers");
  const std::string key = options.label ? "label" : "target";
  const std::string name = options.label ? *options.label : *options.target;
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end()) {
    const std::string guess = nearest(name, table.columns);
    reject(key, "names the column \"" + name + "\", which the table does not have",
           guess.empty() ? columns_of(table) : "Did you mean \"" + guess + "\"?");
  }
  if (table.columns.size() < 2)
    reject("path", "names a table with a single column, so there are no features", "Add columns of features");
  return static_cast<std::size_t>(found - table.columns.begin());
}

// Distinct labels in the order of their classes.
std::vector<std::string> classes_of(const FileSource& source, const CsvTable& table, std::size_t column) {
  std::set<std::string> distinct;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& label = table.field(row, column);
    if (label.empty()) reject_file(source, fmt::format("has no label in line {}", table.lines[row]));
    distinct.insert(label);
  }
  std::vector<std::pair<double, std::string>> numbered;
  for (const std::string& text : distinct) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) numbered.emplace_back(value, text);
  }
  if (numbered.size() < distinct.size()) return {distinct.begin(), distinct.end()};
  std::sort(numbered.begin(), numbered.end());
  std::vector<std::string> labels;
  for (const auto& entry : numbered) labels.push_back(entry.second);
  return labels;
}

struct Task {
  std::size_t column = 0;            // what to learn
  std::vector<std::string> classes;  // empty for a regression
};

// The rows named by `rows`, in that order.
DataSet select(const FileSource& source, const CsvTable& table, const Task& task,
               const std::vector<std::int32_t>& rows) {
  DataSet data;
  data.name = "csv";
  data.count = static_cast<std::int64_t>(rows.size());
  data.features = static_cast<std::int64_t>(table.columns.size()) - 1;
  data.classes = static_cast<int>(task.classes.size());
  data.target_size = task.classes.empty() ? 1 : 0;
  for (const std::int32_t index : rows) {
    const auto row = static_cast<std::size_t>(index);
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (c != task.column) data.floats.push_back(csv_number(source, table, row, c));
    if (task.classes.empty()) {
      data.targets.push_back(csv_number(source, table, row, task.column));
      continue;
    }
    const std::string& label = table.field(row, task.column);
    const auto found = std::find(task.classes.begin(), task.classes.end(), label);
    if (found == task.classes.end())
      reject_file(source, fmt::format("has the label \"{}\" in line {}, which no training row has", label,
                                      table.lines[row]));
    data.labels.push_back(static_cast<std::int32_t>(found - task.classes.begin()));
  }
  return data;
}

// Gives every feature mean 0 and standard deviation 1 on the training set; a constant feature becomes 0.
void standardise(DataSet& train, DataSet* test) {
  const auto view = [](DataSet& data) {
    return Eigen::Map<Matrix<float>>(data.floats.data(), data.features, data.count);
  };
  for (Eigen::Index i = 0; i < train.features; ++i) {
    const Eigen::ArrayXd row = view(train).row(i).cast<double>().transpose().array();
    const double mean = row.mean();
    const double deviation = std::sqrt((row - mean).square().mean());
    const double scale = deviation > 0 ? 1 / deviation : 0;
    for (DataSet* data : {&train, test})
      if (data != nullptr)
        for (float& x : view(*data).row(i)) x = static_cast<float>((static_cast<double>(x) - mean) * scale);
  }
}

struct Split {
  std::vector<std::int32_t> train, test;
};

Split split(std::size_t rows, double test_fraction, std::uint64_t seed) {
  Split parts;
  parts.train = permutation(rows, Stream({seed, Purpose::data_set, 0, 0}));
  const auto tests = static_cast<std::ptrdiff_t>(std::llround(test_fraction * static_cast<double>(rows)));
  parts.test.assign(parts.train.end() - tests, parts.train.end());
  parts.train.resize(rows - static_cast<std::size_t>(tests));
  return parts;
}

DataSets load_csv(const CsvOptions& options, const DataContext& context) {
  const FileSource source = csv_source(context, options.path, "path");
  const CsvTable table = read_csv(source, format_of(options));
  Task task{chosen_column(options, table), {}};
  if (options.label) task.classes = classes_of(source, table, task.column);

  if (options.test_path && options.test_fraction)
    reject("test_fraction", "has no effect with test_path", "Leave one of the two out");
  const Split rows = split(table.rows(), options.test_fraction.value_or(0), context.seed);
  if (rows.train.empty())
    reject("test_fraction", fmt::format("leaves none of {} rows for training", table.rows()),
           "Use a smaller fraction");
  auto train = std::make_shared<DataSet>(select(source, table, task, rows.train));
  std::shared_ptr<DataSet> test;
  if (options.test_path) {
    const FileSource test_source = csv_source(context, *options.test_path, "test_path");
    const CsvTable tests = read_csv(test_source, format_of(options));
    if (tests.columns != table.columns) reject_file(test_source, "has other columns than the training file");
    test = std::make_shared<DataSet>(
        select(test_source, tests, task, split(tests.rows(), 0, context.seed).train));
  } else if (!rows.test.empty()) {
    test = std::make_shared<DataSet>(select(source, table, task, rows.test));
  }
  if (options.standardise) standardise(*train, test.get());
  return {std::move(train), std::move(test)};
}

}  // namespace

std::vector<DataPlugin> csv() {
  return {
      {{.name = "csv", .summary = "A text table of numbers with a label or target column", .citation = ""},
       load_csv}};
}

}  // namespace simsgd::data_sources

namespace simsgd {

namespace {

std::string read_all(DataFile& file) {
  constexpr std::size_t kBlock = 1u << 20;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    const std::size_t got = file.read({reinterpret_cast<std::uint8_t*>(text.data()) + before, kBlock});
    text.resize(before + got);
    if (got < kBlock) return text;
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes the text up to `separator` (or all of it) from the front of `text`.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

std::size_t append_fields(std::string_view line, char delimiter, std::vector<std::string>& fields) {
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    more = line.find(delimiter) != std::string_view::npos;
    fields.emplace_back(trimmed(take(line, delimiter)));
  }
  return count;
}

}  // namespace

CsvTable read_csv(const FileSource& source, const CsvFormat& format) {
  DataFile file(source);
  const std::string text = read_all(file);
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // byte-order mark
  CsvTable table;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take(rest, '\n');
    if (trimmed(line).empty()) continue;
    if (table.columns.empty() && format.header) {
      append_fields(line, format.delimiter, table.columns);
      continue;
    }
    const std::size_t count = append_fields(line, format.delimiter, table.fields);
    for (std::size_t c = 1; table.columns.size() < count && table.lines.empty() && !format.header; ++c)
      table.columns.push_back(std::to_string(c));
    if (count != table.columns.size())
      file.fail(fmt::format("has {} fields in line {}, where the first line has {}", count, number,
                            table.columns.size()));
    table.lines.push_back(number);
  }
  if (table.rows() == 0) file.fail("holds no rows");
  return table;
}

float csv_number(const FileSource& source, const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string& text = table.field(row, column);
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    reject_file(source, fmt::format("has \"{}\" in line {}, column \"{}\", which is not a finite number",
                                    text, table.lines[row], table.columns[column]));
  return value;
}

}  // namespace simsgd
