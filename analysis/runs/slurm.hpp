// A sweep as an array of Slurm: which points each task runs, the script, and what has been submitted.
// Beside F.db, in F.db.slurm: array-K.sh, the script of the K-th submission; array-K.json, its tasks' points
// and the study, written before it is submitted; array-K-TASK.log. A task is `simsgd sweep run ... --points`:
// it writes a spool file of its own, so it may be killed and requeued, and its name in the queue says whose
// it is.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/run_row.hpp"
#include "analysis/runs/sweep_points.hpp"

namespace simsgd {

/// What a point is expected to take, relative to others: workers x steps, and what its learner computes.
double relative_cost(const nlohmann::json& resolved_scenario);

struct WeightedPoint {
  std::size_t position = 0;
  double cost = 1;
};

/// Parts of about equal cost: the dearest point first, each to the part that has least so far (Graham, SIAM
/// J. Appl. Math. 17, 1969: the dearest part is at most 4/3 - 1/(3 n) of what is possible). Equal ones in
/// order, so the parts are a function of the points alone. None is empty; their points ascend.
std::vector<std::vector<std::size_t>> balanced_parts(std::vector<WeightedPoint> points, int parts);

/// A submission, as array-K.json keeps it.
struct SlurmArray {
  std::string name;  ///< in the queue: "simsgd-..."
  ResultStudy sweep;
  std::vector<std::vector<std::size_t>> tasks;  ///< points of task 1, 2, ...
};

/// What was submitted for this file, oldest first. Throws RunError where a record cannot be understood.
std::vector<SlurmArray> submitted_arrays(const std::filesystem::path& database);

/// What a task executes, after the shell's quoting: `command`, to which the list of points is given on
/// standard input. `options`: lines of sbatch, such as "-p test".
struct ArrayScript {
  std::string options;
  std::vector<std::string> command;
};
/// `log_folder` may have blanks and %; `log_file` is a pattern of Slurm's. Throws ConfigError for what would
/// become another line of the script.
std::string array_script(const SlurmArray& array, const ArrayScript& script,
                         const std::filesystem::path& log_folder, const std::string& log_file);

/// Writes script and record, each whole or not at all, and hands the script to sbatch. Returns the job's id.
/// Throws ConfigError where there is no sbatch, or it refuses, or the directory cannot be written; then
/// nothing is left. `tasks` may be submitted by one process at a time: others get a RunError.
struct SlurmRequest {
  std::filesystem::path database;
  ResultStudy sweep;
  std::vector<std::vector<std::size_t>> tasks;
  ArrayScript script;
};
struct SubmittedJob {
  std::string id;
  std::filesystem::path script;
};
SubmittedJob submit_array(const SlurmRequest& request);

/// The submission lock of a file, held as long as it lives.
class SlurmLock {
 public:
  /// Throws RunError where another process submits, ConfigError where the directory cannot be made.
  explicit SlurmLock(const std::filesystem::path& database);
  ~SlurmLock();
  SlurmLock(const SlurmLock&) = delete;
  SlurmLock& operator=(const SlurmLock&) = delete;

 private:
  std::filesystem::path directory_;
  int descriptor_ = -1;
};

/// Tasks of these arrays that are in the queue, by the array's name and the task's number from 1; true: it
/// runs. Nothing where there is no queue to be asked.
using QueuedTasks = std::map<std::pair<std::string, int>, bool>;
std::optional<QueuedTasks> queued_tasks(const std::vector<SlurmArray>& arrays);

/// Runs a program without a shell. `code`: 127 where there is none.
struct ProgramEnd {
  int code = 0;
  std::string out, err;
};
ProgramEnd run_program(const std::vector<std::string>& arguments);

}  // namespace simsgd
