// osu: the text of the OSU micro-benchmarks, collectives and point to point. They do not tell how many
// processes took part, and count some collectives' sizes per process: whole arrays then need `workers` to be
// set.
//   https://mvapich.cse.ohio-state.edu/benchmarks

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

// Names of columns have blanks in them: two or more blanks part them.
std::vector<std::string_view> split_wide(std::string_view line) {
  std::vector<std::string_view> parts;
  for (line = trimmed(line); !line.empty();) {
    const std::size_t end = std::min({line.find("  "), line.find('\t'), line.size()});
    parts.push_back(line.substr(0, end));
    line = trimmed(line.substr(end));
  }
  return parts;
}

// "us" of "Avg Latency(us)".
std::string_view in_parentheses(std::string_view name) {
  const std::size_t begin = name.find('('), end = name.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return name.substr(begin + 1, end - begin - 1);
}

class OsuFile {
 public:
  OsuFile(Input& input, ImportedFile& file)
      : input_(input), file_(file), workers_(file.constants().workers) {}

  void read() {
    std::vector<std::string_view> words;
    for (std::string_view line; input_.line(line);) {
      line = without_process(line);
      split_words(line, words);
      if (words.empty()) continue;
      if (words[0].starts_with('#'))
        comment(trimmed(line.substr(line.find('#') + 1)));
      else if (is_digit(words[0][0]))
        row(words);
      else
        file_.ignore("lines outside of tables");
    }
  }

 private:
  void comment(std::string_view text) {
    if (text.starts_with("OSU ")) return title(text);
    if (text.starts_with("Datatype:")) {
      type_ = printable(std::string(word_after(text, "Datatype:")));
      return;
    }
    const std::vector<std::string_view> names = split_wide(text);
    if (!columns(names)) file_.understand("other comments");
  }

  // "OSU MPI Allreduce Latency Test v7.3", "OSU MPI-CUDA Bandwidth Test v5.6".
  void title(std::string_view text) {
    file_.understand("tables");
    std::vector<std::string_view> words;
    split_words(text, words);
    operation_.clear();
    type_.clear();
    blocking_ = true;
    for (std::string_view word : words) {
      std::string found = operation_from(word);
      // A non-blocking collective: "Iallreduce".
      if (found.empty() && word.size() > 1 && (word[0] == 'I' || word[0] == 'i'))
        if (found = operation_from(word.substr(1)); !found.empty()) blocking_ = false;
      if (found.empty() && word.ends_with('v')) found = operation_from(word.substr(0, word.size() - 1));
      for (const auto& [one_sided, name] : {std::pair{"MPI_Put", "put"}, {"MPI_Get", "get"}})
        if (word == one_sided) found = name;
      if (!found.empty()) operation_ = found;
    }
    point_to_point_ = operation_.empty() || operation_ == "put" || operation_ == "get";
    const bool both_ways = text.find("Bi-Directional") != std::string_view::npos;
    if (operation_.empty() && text.find("Bandwidth") != std::string_view::npos) {
      operation_ = both_ways ? "stream_both_ways" : "stream";
    } else if (operation_.empty() && text.find("Latency") != std::string_view::npos) {
      operation_ = "ping_pong";
    }
    size_ = value_ = iterations_ = -1;
  }

  bool columns(const std::vector<std::string_view>& names) {
    int size = -1, value = -1, iterations = -1;
    double scale = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names[i], unit = in_parentheses(name);
      const bool latency =
          name.starts_with("Avg Latency") || name.starts_with("Latency") || name.starts_with("Overall");
      const bool bandwidth = name.starts_with("Bandwidth");
      if (name == "Size") size = static_cast<int>(i);
      if (name == "Iterations") iterations = static_cast<int>(i);
      if (value >= 0 || !(latency || bandwidth)) continue;
      value = static_cast<int>(i);
      quantity_ = latency ? "time_s" : "bandwidth_Bps";
      if (!unit_scale(unit, latency ? Dimension::time_s : Dimension::rate_Bps, scale)) scale = 0;
    }
    if (value < 0) return false;
    size_ = size;
    value_ = value;
    iterations_ = iterations;
    scale_ = scale;
    count_ = names.size();
    return true;
  }

  void row(const std::vector<std::string_view>& words) {
    if (value_ < 0) return file_.ignore("lines outside of tables");
    if (words.size() != count_) return file_.ignore("rows that do not have the header's columns");
    if (scale_ == 0) return file_.ignore("rows of tables without units");
    Measurement row;
    double value = 0;
    if (!read_number(words[static_cast<std::size_t>(value_)], value))
      return file_.ignore("values that are not finite numbers");
    if (value == 0) return file_.ignore("values of 0");
    if (size_ >= 0 && !read_number(words[static_cast<std::size_t>(size_)], row.bytes))
      return file_.ignore("sizes that are not numbers");
    row.quantity = quantity_;
    row.value = in_si(value, scale_);
    row.operation = operation_;
    row.workers = point_to_point_ ? 2 : workers_;
    row.line = input_.line_number();
    int iterations = 1;
    if (iterations_ >= 0 && read_count(words[static_cast<std::size_t>(iterations_)], 1, iterations))
      row.samples = static_cast<std::uint64_t>(iterations);
    if (!whole_array(row)) return;
    if (!type_.empty()) row.labels["type"] = type_;
    if (!blocking_) row.labels["blocking"] = "no";
    file_.add(std::move(row));
  }

  // OSU counts what one process gives to each (all-gather, gather, scatter) or to each of all others
  // (all-to-all).
  bool whole_array(Measurement& row) {
    if (row.operation != "all_gather" && row.operation != "all_to_all" && row.operation != "gather" &&
        row.operation != "scatter")
      return true;
    if (row.workers > 0) {
      row.bytes *= row.workers;
      return true;
    }
    throw ConfigError(
        {file_.name(), "",
         "gives the sizes of " + row.operation + " per process, but not the number of processes", "",
         "Give it with --set workers=16"});
  }

  Input& input_;
  ImportedFile& file_;
  int workers_;
  std::string operation_, type_, quantity_;
  bool point_to_point_ = false, blocking_ = true;
  int size_ = -1, value_ = -1, iterations_ = -1;
  double scale_ = 0;
  std::size_t count_ = 0;
};

void read_osu(Input& input, ImportedFile& file) { OsuFile(input, file).read(); }

bool is_osu(std::string_view head) { return head.find("# OSU ") != std::string_view::npos; }

}  // namespace

std::vector<ImportFormat> osu() {
  return {{{.name = "osu",
            .summary = "text of the OSU micro-benchmarks",
            .citation = "https://mvapich.cse.ohio-state.edu/benchmarks"},
           is_osu,
           make_importer<FileImporter<read_osu>>}};
}

}  // namespace simsgd::importers
