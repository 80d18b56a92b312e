// Top-k S-SGD: every worker sends its k largest entries to all, and applies the sum of all that were sent.
//   a_i = r_i + g_i;  V_i = the k entries of a_i largest in magnitude;  r_i <- a_i - V_i
//   x <- x - eta U(1/P sum_j V_j),  U the optimizer, on dense vectors; all replicas stay equal
// Aji, Heafield, EMNLP 2017, arXiv:1704.05021; as the baseline of Shi et al., ICDCS 2019, arXiv:1901.04359.
// Bytes: an all-gather of k entries each, (P-1) k. Every worker adds all k P entries into a dense vector.
#include "algorithms/plugin.hpp"
#include "algorithms/sparse/gathered_topk.hpp"

namespace simsgd::algorithms {

namespace {

struct TopKSgdOptions : SparsificationOptions {
  std::string all_gather = "bruck";

  void fields(Fields& f) {
    SparsificationOptions::fields(f);
    f.choice("all_gather", all_gather, all_gather_schedules(),
             "Schedule of the all-gather; bruck takes as long as recursive doubling");
  }
};

MadeAlgorithm make_topk_sgd(const TopKSgdOptions& options, const AlgorithmContext& context) {
  note_adding(context);
  return std::make_unique<GatheredTopK>(sparsification_of(options, context), options.all_gather,
                                        context.workers);
}

}  // namespace

std::vector<AlgorithmPlugin> topk_sgd() {
  return {
      {{.name = "topk_sgd",
        .summary = "sparsified SGD: the k largest entries of every worker are gathered and added everywhere",
        .citation = "Aji, Heafield, EMNLP 2017, arXiv:1704.05021"},
       "an all-gather of k entries of each worker: (P-1) k",
       {.sends = {Traffic::gradient},
        .activities = {Activity::selection},
        .codecs = AlgorithmUses::Codecs::none},
       make_topk_sgd}};
}

}  // namespace simsgd::algorithms
