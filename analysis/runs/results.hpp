// What studies gave, for whoever reads it: statistics, tables, reports, advice. The one way into a store for
// them; they know nothing of its layout.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/runs/run_row.hpp"

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
  /// Reads a file that may be written meanwhile; makes none. A single run (single_run.hpp) is a study of one
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

}  // namespace simsgd
