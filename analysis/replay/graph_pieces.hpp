// A job's graph in pieces of whole steps, linked one after another, so that memory is that of one piece:
// steps do not depend on each other.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "analysis/replay/graph.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::replay {

/// A step's operations in the job.
struct StepRange {
  std::size_t begin = 0, end = 0;
  double start_s = 0, end_s = 0;
};

/// Steps in which every worker did something; others are counted in `warnings`. Throws ConfigError: none.
std::vector<StepRange> whole_steps(const RecordedJob& job, std::map<std::string, std::size_t>& warnings);

/// Workers, lanes and kinds; no operation.
Graph empty_graph(const RecordedJob& job);
/// Adds the kinds that stand for them.
void set_synchronisations(std::vector<Synchronisation> found, Graph& graph);
/// The operations of these steps alone, instead of those that `graph` has; warnings are added to its own.
void link_steps(const RecordedJob& job, std::span<const StepRange> steps, Graph& graph,
                std::vector<InputError>& errors);

class GraphPieces {
 public:
  /// Links all of `job`, which outlives this, to find what is wrong with it, and what is not recorded. Throws
  /// ConfigError, see make_graph. A piece has whole steps, of `most_operations` or, where one has more, one.
  /// `infer`: look for barriers that nobody recorded; else their waiting is in gaps.
  GraphPieces(const RecordedJob& job, std::size_t most_operations, bool infer);

  /// Of all steps, without operations.
  const Graph& whole() const { return whole_; }
  bool single() const { return first_of_piece_.size() == 2; }
  void each(const std::function<void(const Graph& piece)>& see);
  Graph take_first() &&;

 private:
  void link(std::size_t piece, std::vector<InputError>& errors);
  void link_all(const std::function<void(const Graph& piece)>& see);

  const RecordedJob& job_;
  std::vector<StepRange> steps_;
  std::vector<std::size_t> first_of_piece_;  // index into steps_, and their number
  std::size_t linked_ = 0;                   // the piece that `piece_` is
  Graph whole_, piece_;
};

}  // namespace simsgd::replay
