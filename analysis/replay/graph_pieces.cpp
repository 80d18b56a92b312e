#include "analysis/replay/graph_pieces.hpp"

#include "analysis/replay/synchronisations.hpp"

namespace simsgd::replay {

GraphPieces::GraphPieces(const RecordedJob& job, std::size_t most_operations, bool infer)
    : job_(job), whole_(empty_graph(job)) {
  steps_ = whole_steps(job, whole_.warnings);
  first_of_piece_ = {0};
  for (std::size_t s = 1; s < steps_.size(); ++s)
    if (steps_[s].end - steps_[first_of_piece_.back()].begin > most_operations) first_of_piece_.push_back(s);
  first_of_piece_.push_back(steps_.size());
  piece_ = whole_;
  SynchronisationFinder finder;
  link_all([&finder](const Graph& piece) { finder.add(piece); });
  const std::vector<Synchronisation> found = infer ? finder.found(whole_) : std::vector<Synchronisation>();
  if (!found.empty()) {
    whole_ = empty_graph(job);
    whole_steps(job, whole_.warnings);
    set_synchronisations(found, whole_);
    piece_ = whole_;
    link_all([](const Graph&) {});
  }
  whole_.warnings = piece_.warnings;
}

void GraphPieces::link(std::size_t piece, std::vector<InputError>& errors) {
  const std::size_t first = first_of_piece_[piece];
  link_steps(job_, std::span(steps_).subspan(first, first_of_piece_[piece + 1] - first), piece_, errors);
  linked_ = piece;
}

void GraphPieces::link_all(const std::function<void(const Graph& piece)>& see) {
  std::vector<InputError> errors;
  whole_.steps.clear();
  for (std::size_t piece = 0; piece + 1 < first_of_piece_.size(); ++piece) {
    link(piece, errors);
    if (!errors.empty()) continue;
    see(piece_);
    whole_.steps.insert(whole_.steps.end(), piece_.steps.begin(), piece_.steps.end());
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

void GraphPieces::each(const std::function<void(const Graph& piece)>& see) {
  std::vector<InputError> none;
  for (std::size_t piece = 0; piece + 1 < first_of_piece_.size(); ++piece) {
    if (linked_ != piece) link(piece, none);
    see(piece_);
  }
}

Graph GraphPieces::take_first() && {
  std::vector<InputError> none;
  if (linked_ != 0) link(0, none);
  piece_.warnings = whole_.warnings;
  return std::move(piece_);
}

}  // namespace simsgd::replay
