// nccl_tests: the tables of NVIDIA's nccl-tests, old (`error`, no `root`) and new, also behind mpirun's or
// srun's prefix, several in one file; and of `simsgd bench`. Columns are told by the names in the header. A
// row has a time out of place and one in place, each the mean of `iters` operations; bandwidths are computed
// from it again.
//   https://github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

void words_after_hash(std::string_view line, std::vector<std::string_view>& words) {
  split_words(line, words);
  if (!words.empty() && words[0] == "#") words.erase(words.begin());
}

/// Where the columns of a table are, by the names in its header. -1: there is none.
struct NcclColumns {
  struct Half {
    int time = -1, algbw = -1, busbw = -1, wrong = -1, cv = -1;
    double time_s = 0, bandwidth_Bps = 0;  ///< one unit of each; 0 where the header has not told
  };
  int size = -1, type = -1, redop = -1, root = -1;
  double size_bytes = 0;
  Half halves[2];  ///< out of place, in place
  std::size_t count = 0;

  /// Whether `line` is a header: the names, and the units where they stand behind them in parentheses.
  bool read_names(std::string_view line) {
    std::vector<std::string_view> words;
    words_after_hash(line, words);
    NcclColumns found;
    int half = -1;
    for (const std::string_view word : words) {
      const std::string_view name = word.substr(0, word.find('('));
      const int column = static_cast<int>(found.count++);
      found.ends_.push_back(static_cast<std::size_t>(word.data() + word.size() - line.data()));
      if (name == "time") ++half;
      if (half > 1) return false;
      const auto note = [&](std::initializer_list<std::pair<std::string_view, int*>> known) {
        for (const auto& [called, place] : known)
          if (name == called) *place = column;
      };
      note({{"size", &found.size}, {"type", &found.type}, {"redop", &found.redop}, {"root", &found.root}});
      if (half >= 0) {
        Half& own = found.halves[half];
        note({{"time", &own.time},
              {"algbw", &own.algbw},
              {"busbw", &own.busbw},
              {"#wrong", &own.wrong},
              {"i_cv%", &own.cv}});
      }
      if (word.size() > name.size() + 1 && word.ends_with(')'))
        found.set_unit(found.count - 1, word.substr(name.size() + 1, word.size() - name.size() - 2));
    }
    if (found.size < 0 || half < 0) return false;
    *this = std::move(found);
    return true;
  }

  /// The line below the names, `#  (B)  (elements)  (us)`: a unit belongs to the name that ends above its
  /// end.
  bool read_units(std::string_view line) {
    std::vector<std::string_view> words;
    words_after_hash(line, words);
    if (count == 0 || words.empty() || !std::ranges::all_of(words, [](std::string_view word) {
          return word.starts_with('(') && word.ends_with(')');
        }))
      return false;
    for (const std::string_view word : words) {
      const auto end = static_cast<std::size_t>(word.data() + word.size() - line.data());
      const auto nearest_end = std::ranges::min_element(
          ends_, [end](std::size_t a, std::size_t b) { return distance(a, end) < distance(b, end); });
      set_unit(static_cast<std::size_t>(nearest_end - ends_.begin()), word.substr(1, word.size() - 2));
    }
    return true;
  }

  /// Whether rows can be read: there are sizes and times, with units.
  bool usable() const { return size >= 0 && size_bytes > 0 && halves[0].time_s > 0; }

 private:
  void set_unit(std::size_t column, std::string_view unit) {
    const int at = static_cast<int>(column);
    double scale = 0;
    if (at == size && unit_scale(unit, Dimension::bytes, scale)) size_bytes = scale;
    for (Half& half : halves) {
      if (at == half.time && unit_scale(unit, Dimension::time_s, scale)) half.time_s = scale;
      if (at == half.algbw && unit_scale(unit, Dimension::rate_Bps, scale)) half.bandwidth_Bps = scale;
    }
  }

  std::vector<std::size_t> ends_;  // of each name in its line
};

/// "# Rank 8 Pid .. on HOST device 0 ..": who took part.
class NcclDevices {
 public:
  void clear() {
    hosts_.clear();
    groups_.clear();
  }

  bool read(std::string_view line) {
    double group = 0;
    int rank = 0;
    if (!read_count(word_after(line, " Rank "), 0, rank) || line.find(" device ") == std::string_view::npos)
      return false;
    hosts_[rank] = word_after(line, " on ");
    if (number_after(line, " Group ", group) && group >= 0 && group < 1e9)
      groups_.insert(static_cast<int>(group));
    return true;
  }

  /// 0 where there is no list; of one group where they are split into equal ones.
  int workers() const {
    const std::size_t groups = std::max<std::size_t>(1, groups_.size());
    return static_cast<int>(hosts_.size() % groups == 0 ? hosts_.size() / groups : hosts_.size());
  }

  int nodes() const {
    std::set<std::string> names;
    for (const auto& [rank, host] : hosts_) names.insert(host);
    return static_cast<int>(names.size());
  }

 private:
  std::map<int, std::string> hosts_;  // of a rank
  std::set<int> groups_;
};

constexpr const char* kPlacements[] = {"out_of_place", "in_place"};

class NcclTestsFile {
 public:
  NcclTestsFile(Input& input, ImportedFile& file) : input_(input), file_(file) {
    for (int half = 0; half < 2; ++half) {
      rows_[half].quantity = "time_s";
      rows_[half].source = file.name();
      rows_[half].labels["placement"] = kPlacements[half];
    }
  }

  void read() {
    for (std::string_view line; input_.line(line);) {
      line = without_process(line);
      const std::size_t first = line.find_first_not_of(" \t");
      if (first == std::string_view::npos) continue;
      if (is_digit(line[first]) && columns_.count > 0)
        row(line);
      else
        remark(line, line[first] == '#');
    }
    end_table();
  }

 private:
  void remark(std::string_view line, bool comment) {
    operation_in(line);
    if (comment && columns_.read_names(line)) {
      end_table();
      begin_table();
      file_.understand("tables");
    } else if (comment && devices_.read(line)) {
      file_.understand("lines of devices");
    } else if (comment) {
      setting(line);
      if (!columns_.read_units(line)) file_.understand("other comments");
    } else if (line.find("NCCL INFO") != std::string_view::npos ||
               line.find("NCCL WARN") != std::string_view::npos) {
      file_.understand("messages of NCCL");
    } else {
      file_.ignore("lines outside of tables");
    }
  }

  // What follows a list of devices, or the line of settings, is another run.
  void setting(std::string_view line) {
    if (line.find("Using devices") != std::string_view::npos) {
      end_table();
      devices_.clear();
    }
    if (line.find("nThread") != std::string_view::npos) {
      end_table();
      iterations_ = 1;
      double count = 0;
      for (std::size_t at = line.find("iters:"); at != std::string_view::npos;
           at = line.find("iters:", at + 1)) {
        const std::string_view before = trimmed(line.substr(0, at));
        if (!before.ends_with("warmup") && !before.ends_with("agg") &&
            number_after(line.substr(at), "iters:", count) && count >= 1 && count < 1e9)
          iterations_ = static_cast<std::uint64_t>(count);
      }
    }
    // `simsgd bench`: "# simsgd all_reduce on infiniband-100g: 16 ranks, ..."
    int ranks = 0;
    if (line.starts_with("# simsgd ") && read_count(word_after(line, ": "), 1, ranks)) {
      end_table();
      operation_ = operation_from(word_after(line, "# simsgd "));
      simulated_ranks_ = ranks;
    }
  }

  // "# Collective test starting: all_reduce_perf", or the command as a shell shows it.
  void operation_in(std::string_view line) {
    const std::string found = operation_of_program(line);
    if (found.empty() || found == operation_) return;
    end_table();
    operation_ = found;
  }

  void begin_table() {
    table_ = file_.rows.size();
    bandwidths_ = {};
    for (Measurement& half : rows_) {
      half.operation = operation_;
      half.workers = devices_.workers() > 0 ? devices_.workers() : simulated_ranks_;
      half.nodes = devices_.nodes();
      half.samples = iterations_;
    }
    type_ = redop_ = root_ = "?";
  }

  // A log that does not name its operation may show it by its bandwidths.
  void end_table() {
    if (columns_.count == 0 || table_ == file_.rows.size()) return;
    bandwidths_.settle_operation(table_, file_);
    table_ = file_.rows.size();
  }

  void label(const char* name, int column, std::string& known) {
    const std::string_view value = column < 0 ? std::string_view() : words_[static_cast<std::size_t>(column)];
    if (value == known) return;
    known = value;
    for (Measurement& half : rows_) {
      half.labels.erase(name);
      if (!value.empty() && value != "none" && value != "-1") half.labels[name] = printable(known);
    }
  }

  void row(std::string_view line) {
    split_words(line, words_);
    double size = 0;
    if (words_.size() != columns_.count) return file_.ignore("rows that do not have the header's columns");
    if (!columns_.usable()) return file_.ignore("rows of tables without units");
    if (!read_number(word(columns_.size), size)) return file_.ignore("sizes that are not numbers");
    label("type", columns_.type, type_);
    label("redop", columns_.redop, redop_);
    label("root", columns_.root, root_);
    file_.expect(input_.fraction_read());
    for (int half = 0; half < 2; ++half)
      if (columns_.halves[half].time >= 0)
        add(columns_.halves[half], rows_[half], size * columns_.size_bytes);
  }

  void add(const NcclColumns::Half& half, Measurement& prototype, double bytes) {
    double time = 0, wrong = 0, cv = 0;
    const std::string_view text = word(half.time);
    if (text == "N/A") return file_.understand("times that are N/A");
    if (!read_number(text, time)) return file_.ignore("times that are not numbers");
    if (time == 0) return file_.ignore("times of 0");
    if (half.wrong >= 0 && read_number(word(half.wrong), wrong) && wrong != 0)
      return file_.ignore("operations with wrong results");
    prototype.bytes = bytes;
    prototype.value = in_si(time, half.time_s);
    prototype.line = input_.line_number();
    const bool spread = half.cv >= 0 && read_number(word(half.cv), cv);
    prototype.deviation = spread ? cv / 100 * prototype.value : kNotGiven;
    compare(half, prototype);
    file_.add(prototype);
  }

  void compare(const NcclColumns::Half& half, const Measurement& row) {
    double algbw = 0, busbw = kNotGiven;
    if (half.algbw < 0 || half.bandwidth_Bps == 0 || !read_number(word(half.algbw), algbw)) return;
    if (half.busbw >= 0) (void)read_number(word(half.busbw), busbw);
    bandwidths_.see(row, half.bandwidth_Bps, algbw, busbw, file_);
  }

  std::string_view word(int column) const { return words_[static_cast<std::size_t>(column)]; }

  Input& input_;
  ImportedFile& file_;
  NcclColumns columns_;
  NcclDevices devices_;
  std::string operation_;
  int simulated_ranks_ = 0;
  std::uint64_t iterations_ = 1;
  Measurement rows_[2];              // out of place, in place: what the next one has in common with the last
  std::string type_, redop_, root_;  // of the last row
  std::size_t table_ = 0;            // first row of the table
  PrintedBandwidths bandwidths_;
  std::vector<std::string_view> words_;
};

void read_nccl_tests(Input& input, ImportedFile& file) { NcclTestsFile(input, file).read(); }

bool is_nccl_tests(std::string_view head) {
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = without_process(head.substr(at, end - at));
    if (line.starts_with("# nThread ") || line.starts_with("# nccl-tests ") ||
        line.starts_with("# Using devices") || (line.starts_with("#") && NcclColumns().read_names(line)))
      return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::vector<ImportFormat> nccl_tests() {
  return {{{.name = "nccl_tests",
            .summary = "text of nccl-tests, old and new, and of simsgd bench",
            .citation = "https://github.com/NVIDIA/nccl-tests"},
           is_nccl_tests,
           make_importer<FileImporter<read_nccl_tests>>}};
}

}  // namespace simsgd::importers
