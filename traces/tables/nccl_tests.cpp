// nccl_tests: the tables of NVIDIA's nccl-tests, old (`error`, no `root`) and new, also behind mpirun's or
// srun's prefix, several in one file; and of `simsgd bench`. Columns are told by the names in the header. A
// row has a time out of place and one in place, each the mean of `iters` operations; bandwidths are computed
// from it again.
//   https://github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md
#include "traces/tables/nccl_tests.hpp"

#include <cmath>

#include "sim/base/printable.hpp"
#include "traces/collective_names.hpp"
#include "traces/import_format.hpp"
#include "traces/reading/text.hpp"
#include "traces/reading/units_of_text.hpp"

namespace simsgd::importers {

namespace {

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
      file_.ignore("lines that belong to no table");
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
    const std::size_t end = line.find("_perf");
    if (end == std::string_view::npos) return;
    std::size_t begin = end;
    while (begin > 0 && (line[begin - 1] == '_' || (line[begin - 1] >= 'a' && line[begin - 1] <= 'z')))
      --begin;
    const std::string found = operation_from(line.substr(begin, end - begin));
    if (found.empty() || found == operation_) return;
    end_table();
    operation_ = found;
  }

  void begin_table() {
    table_ = file_.rows.size();
    best_algbw_ = best_busbw_ = 0;
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
    const std::string found = operation_by_bandwidths(best_busbw_, best_algbw_, file_.rows[table_].workers);
    bool shown = false, unknown = false;
    for (std::size_t i = table_; i < file_.rows.size(); ++i) {
      Measurement& row = file_.rows[i];
      if (!row.operation.empty()) continue;
      row.operation = found;
      (found.empty() ? unknown : shown) = true;
    }
    if (unknown)
      file_.ignore("tables that do not tell their operation: set it");
    else if (shown)
      file_.understand("tables whose operation shows in busbw / algbw");
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
    if (!read_number(word(columns_.size), size)) return file_.ignore("sizes that are no number");
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
    if (!read_number(text, time)) return file_.ignore("times that are no number");
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

  // Printed with two decimals, of a time with four digits.
  void compare(const NcclColumns::Half& half, const Measurement& row) {
    double algbw = 0, busbw = 0;
    if (half.algbw < 0 || half.bandwidth_Bps == 0 || !read_number(word(half.algbw), algbw)) return;
    const double ours = row.bytes / row.value / half.bandwidth_Bps;
    if (std::fabs(ours - algbw) > 0.006 + 0.01 * ours) file_.ignore("algbw that size / time contradicts");
    if (algbw > best_algbw_ && half.busbw >= 0 && read_number(word(half.busbw), busbw)) {
      best_algbw_ = algbw;
      best_busbw_ = busbw;
    }
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
  double best_algbw_ = 0, best_busbw_ = 0;
  std::vector<std::string_view> words_;
};

class NcclTests final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override { NcclTestsFile(input, file).read(); }
};

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
  return {
      {{.name = "nccl_tests",
        .summary = "text of nccl-tests, old and new, and of simsgd bench",
        .citation = "https://github.com/NVIDIA/nccl-tests"},
       is_nccl_tests,
       +[](const ImportConstants&) -> std::unique_ptr<Importer> { return std::make_unique<NcclTests>(); }}};
}

}  // namespace simsgd::importers
