// What becomes of one file: its rows, completed by what the user said, and the counts of what was left out.
// Values that no measurement can have are counted here, for all formats alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sim/base/units.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

// What recorded jobs show beside measurements: a network, layer by layer, and the computing of each worker
// and step. `simsgd import --workload` and `--stragglers` write them as the scenario language reads them
// (workloads/*.json; the straggler `trace`).

/// One layer, in forward order; what a file does not tell is kNotGiven.
struct RecordedLayer {
  std::string name;
  std::string type = "other";                ///< as /workload/layers/*/type: conv, fc, bn, embedding, other
  std::vector<std::vector<double>> tensors;  ///< [n]: n numbers; [rows, columns]: the layer's product
  double forward_s = kNotGiven;              ///< of the whole batch
  double backward_s = kNotGiven;             ///< of the whole batch
  double forward_flop = kNotGiven;           ///< per sample
  double activations = kNotGiven;            ///< output entries per sample
};

/// A network as one device ran it.
struct RecordedWorkload {
  std::string name;
  std::string source;  ///< the file, and what was made of it; goes into the workload's own
  std::string device;  ///< that it was measured on, as the file calls it; may be empty
  int batch = 0;       ///< samples per worker and step; 0: the file does not tell
  std::vector<RecordedLayer> layers;
  /// How long the device waited for its host in a step, beside the layers: outside of the backward pass, and
  /// during it.
  double forward_gap_s = 0, backward_gap_s = 0;

  double parameters() const;
  double forward_s() const;   ///< of the layers that tell it
  double backward_s() const;  ///< of the layers that tell it
};

/// What one worker did in one step. `step` is the number that the file gives it.
struct RecordedStep {
  int worker = 0;
  std::uint64_t step = 0;
  double compute_s = 0;
};

/// A workload file, JSON with a line per layer. Throws ConfigError naming `file` where the batch is not known
/// or there is no layer.
std::string workload_file(const RecordedWorkload& workload, const std::string& file);

/// The CSV that the straggler `trace` replays: worker, step, compute_s; by worker and step.
std::string straggler_file(std::vector<RecordedStep> steps);

/// What a quantity is by its name: "time_s" a time, "bandwidth_Bps" a rate; `number` where the name has no
/// unit of sim/base/units, as "throughput_samples_per_s".
Dimension dimension_of_quantity(std::string_view quantity);

/// What the user says of all files, beside what they say themselves.
struct ImportConstants {
  std::string operation, campaign;
  int workers = 0, nodes = 0;
  int batch = 0;  ///< samples per worker and step, of recorded networks; 0: not said
  std::map<std::string, std::string> labels;
};

/// Whether a label may be called so: letters, digits and "_", and no column of our own table.
bool is_label_name(std::string_view name);

/// Which points there were already, by hashes.
class SeenPoints {
 public:
  /// Whether another measurement of the same quantity, operation, size, ... was there before.
  bool seen(const Measurement& row);

 private:
  std::unordered_set<std::uint64_t> points_;
};

/// What a kind of event is called where it is counted.
struct CountedKind {
  const char* text;
  bool understood = true;
};

class ImportedFile {
 public:
  ImportedFile(std::string name, const ImportConstants& constants, SeenPoints& seen)
      : name_(std::move(name)), constants_(constants), seen_(seen) {
    report.file = name_;
  }

  /// Keeps the row, or counts why not. Its source is this file, unless it has one.
  void add(Measurement row);
  /// Something that is not understood, or cannot be a measurement; `reason` in the plural.
  void ignore(const std::string& reason, std::size_t count = 1) { report.ignored[reason] += count; }
  /// Something that is known, and is not a measurement or a remark about one.
  void understand(const std::string& kind, std::size_t count = 1) { report.understood[kind] += count; }
  /// Kinds of events, and how many there were of each.
  template <std::size_t kinds>
  void count(const CountedKind (&known)[kinds], const std::array<std::size_t, kinds>& counts) {
    for (std::size_t kind = 0; kind < kinds; ++kind)
      if (counts[kind] > 0)
        (known[kind].understood ? report.understood : report.ignored)[known[kind].text] += counts[kind];
  }
  /// After a while, how much of the file was read: room for as many rows as there will be, at once.
  void expect(double fraction_read);
  /// Whether to have no row is an error: not of a file of many that belong together.
  void need_row() { needs_row_ = true; }
  void need_no_row() { needs_row_ = false; }
  bool needs_row() const { return needs_row_; }
  const std::string& name() const { return name_; }

  ImportReport report;
  std::vector<Measurement> rows;
  std::size_t most_rows = std::size_t{1} << 23;  ///< some 3 GB; more are refused
  std::optional<RecordedWorkload> workload;      ///< the network that a recorded job trains
  std::vector<RecordedStep> steps;               ///< of a recorded job

  const ImportConstants& constants() const { return constants_; }
  /// Nothing was made of the file.
  bool empty() const { return rows.empty() && !workload && steps.empty(); }

 private:
  bool possible(const Measurement& row);
  void complete(Measurement& row);

  std::string name_;
  const ImportConstants& constants_;
  SeenPoints& seen_;
  bool needs_row_ = true;
};

// What importers of networks share.

/// No file of a network has more layers, operators or edges; what is kept of so many is below 200 MB.
inline constexpr std::size_t kMostRecordedOperations = 200'000;

/// A network's name by its file's, without folders and the first ending of these that it has.
std::string network_name(const std::string& file, std::initializer_list<std::string_view> endings);

/// What the user set, else what the file tells (0: nothing); where they differ the user's, which is counted.
int settled_batch(ImportedFile& file, int told);

/// Outputs of a batch become those of a sample; of a product its FLOPs follow: 2 for each output and column.
void per_sample(RecordedLayer& layer, int batch);

/// Rows forward_s and backward_s of the whole network on one worker, where any layer tells them.
void add_pass_times(ImportedFile& file, const RecordedWorkload& network);

}  // namespace simsgd
