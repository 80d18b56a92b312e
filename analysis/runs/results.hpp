// What studies gave, for whoever reads it: statistics, tables, reports, advice. The one way into a store for
// them; they know nothing of its layout.
#pragma once

#include <array>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/runs/run_row.hpp"
#include "analysis/runs/store.hpp"

namespace simsgd {

class ResultStore;

/// Names of curves.
inline constexpr std::array kCurveNames = {"train_loss", "test_loss", "test_accuracy", "consensus_distance"};

/// A value on a curve.
struct CurvePoint {
  double step = 0;    ///< completed by every worker
  double time_s = 0;  ///< simulated
  double value = 0;
};

/// A link by name, as a document lists it.
struct ResultLink {
  std::string name;
  double utilisation = 0;  ///< share of the time, 0 to 1
  double bytes = 0;
  double bandwidth_Bps = 0;  ///< of one direction
};

class StoredResults {
 public:
  /// Reads a file that may be written meanwhile; makes none. A single run (store_of_run) is a study of one
  /// point. Throws ConfigError where there is none, or it is none of ours, or has no run.
  explicit StoredResults(const std::filesystem::path& file);
  ~StoredResults();
  StoredResults(StoredResults&&) noexcept;
  StoredResults& operator=(StoredResults&&) noexcept;

  /// In the order in which they were first begun, with all their points.
  const std::vector<ResultStudy>& studies() const { return studies_; }

  /// Of a run, resolved.
  nlohmann::ordered_json scenario(const std::string& key) const;
  /// What each run's document says under "notes", by the keys of those that say anything.
  std::map<std::string, std::vector<std::string>> notes() const;
  /// One of kCurveNames; empty where the run has none.
  std::vector<CurvePoint> curve(const std::string& key, const std::string& name) const;
  /// Of its document, "intervals": of each metric that goes with time a list of a level, low and high. Empty
  /// where the run was asked for none.
  nlohmann::ordered_json intervals(const std::string& key) const;
  /// The busiest first, ten at most.
  std::vector<ResultLink> busiest_links(const std::string& key) const;
  /// Five quantiles over workers (least, quartiles, most), by the names that workers have in a document:
  /// "steps", "time_s", "compute_s" and the other activities, "bytes_sent/gradient", "staleness/mean", ...
  nlohmann::ordered_json workers(const std::string& key) const;

 private:
  const nlohmann::ordered_json& document_of(const std::string& key) const;

  std::unique_ptr<const ResultStore> store_;
  std::vector<ResultStudy> studies_;
  mutable std::pair<std::string, nlohmann::ordered_json> last_;  // key and document of who was asked last
};

// What a store holds as text that depends on nothing but what was asked and what came out: the same bytes for
// any --jobs, any shards in any order, and after any number of interruptions.

/// JSON lines. One for each study, by name and id: {"study", "id", "axes", "points"}; then one for each of
/// its points, in its order: {"study", "point", "label", "coordinates", "seed", "key", "status", "error",
/// "metrics", "intervals", "curves", "workers", "links"}; intervals are null of a result that was kept
/// without any. Numbers are SI and have the shortest text that reads back as the same double. Nothing of
/// machine, date or duration. Throws ConfigError if the store does not exist, RunError if it is damaged or
/// `out` cannot be written. Returns how many results have no intervals.
std::size_t export_results(const std::filesystem::path& store, std::ostream& out);

// A single run as results: what simsgd run -o and simsgd-measure run -o wrote, or simsgd run --json printed.

/// Whether it is one: "-" (standard input), a folder with a result.json, or a file of JSON.
bool is_single_run(const std::string& path);

/// Its document. Throws ConfigError where there is none.
nlohmann::ordered_json run_document(const std::string& path);

/// A store in memory: a study of the scenario's name with one point, which has this run.
ResultStore store_of_run(const std::string& path);

/// Puts the studies and runs of `inputs` into `output`, which is made where it does not exist. An input is a
/// store, with the spool files beside it, or one spool file (.jsonl); inputs stay as they are, except that
/// `output` absorbs its own spool files. A result is better than a failure; of two results of one run, which
/// are equal but for their contexts, the first stays. The order of `inputs` does not change what
/// export_results() gives. Throws ConfigError, before anything is written, where one of them cannot be read;
/// RunError where `output` cannot be written.
void merge_stores(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

}  // namespace simsgd
