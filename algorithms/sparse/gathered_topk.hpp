// SGD whose workers send some entries of their gradients to all, and apply the sum of all that were sent: the
// exchange of topk_sgd, for any choice of entries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/plugin.hpp"
#include "algorithms/sparse/sparsification.hpp"

namespace simsgd {

class GatheredTopK final : public Algorithm {
 public:
  /// `all_gather` names a schedule; `selection`: none for that of the settings.
  GatheredTopK(SparsificationSettings settings, const std::string& all_gather, int workers,
               std::optional<EntrySelection> selection = {});

  void run(Worker& worker) const override;
  std::vector<MemoryPart> memory(const MemoryContext& context) const override;

 private:
  Tensor exchange(Worker& worker, const Tensor& selected) const;

  SparsificationSettings settings_;
  std::optional<EntrySelection> selection_;
  std::vector<std::shared_ptr<const Schedule>> schedules_;  // of each phase; shared with the operations
};

/// Notes that adding gathered entries takes no time, where the host does not say.
void note_adding(const AlgorithmContext& context);

}  // namespace simsgd
