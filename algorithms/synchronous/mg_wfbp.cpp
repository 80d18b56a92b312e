// MG-WFBP: wait-free backpropagation whose gradients travel merged, as the time of an all-reduce says.
//   t(M) = a + b M, a and b by a line through predicted times; r_l: when tensor l's gradient is ready
//   published: tensor l - 1 joins the message of l if it is ready before that would end, and either before it
//              could start or within a of its start
//   best:      the merging after which the last message ends first (both: merged_messages.hpp)
//   each message leaves as soon as it is whole;  x <- x - eta U(1/P sum_j g_j(x)), as in allreduce_sgd
// Shi, Chu, Li, "MG-WFBP: Efficient Data Communication for Distributed Synchronous SGD Algorithms", INFOCOM
// 2019, arXiv:1811.11141, Algorithm 1, with the rule of the released code (github.com/HKBU-HPML/MG-WFBP).
// Ready times are the workload's on an undisturbed device. Bytes per worker and step: one all-reduce of the
// model, 2 (P-1)/P m for a ring. After a crash a worker computes again what it lost; the others wait.
#include "algorithms/buckets.hpp"
#include "algorithms/merged_messages.hpp"
#include "algorithms/plugin.hpp"
#include "sim/algorithm.hpp"

namespace simsgd::algorithms {

namespace {

struct MgWfbpOptions {
  bool best = false;
  std::optional<double> latency_s, per_byte_s;

  void fields(Fields& f) {
    f.choice(
        "merging", best, {{"published", false}, {"best", true}},
        "Gradients are merged by the paper's rule, tensor by tensor (published), or so that the last message ends earliest (best)");
    f.time("latency", latency_s, "a: the rule takes this for the fixed time of an all-reduce")
        .by_rule("as predicted on this cluster");
    f.time("per_byte", per_byte_s, "b: the rule takes this for the time of each byte in an all-reduce")
        .by_rule("as predicted on this cluster");
  }
};

class MgWfbp final : public LockstepAlgorithm {
 public:
  explicit MgWfbp(const MgWfbpOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    const Buckets buckets = merged(worker);
    note(worker, buckets);
    while (worker.next_step()) {
      BucketedAllreduce mean(worker, buckets);
      mean.compute_gradient();
      worker.replica().apply(mean.wait());
    }
  }

 private:
  Buckets merged(Worker& worker) const {
    const Workload& workload = worker.workload();
    FusionCost cost;
    if (!options_.latency_s || !options_.per_byte_s) cost = predicted_fusion_cost(worker);
    cost.latency_s = options_.latency_s.value_or(cost.latency_s);
    if (options_.per_byte_s) cost.per_element_s = *options_.per_byte_s * workload.bytes_per_parameter;
    const PassTimes times(workload);
    std::vector<ReadyPart> parts;
    for (std::size_t i = 0; i < times.tensors.size(); ++i)
      parts.push_back({times.tensor_ready_s[i], times.tensors[i].parameters()});
    return make_buckets(workload, options_.best ? best_groups(parts, cost) : merged_groups(parts, cost));
  }

  static void note(Worker& worker, const Buckets& buckets) {
    RecordTable table{"merged_gradients", {"message", "tensors", "bytes"}, {}};
    for (const Bucket& bucket : buckets.buckets)
      table.rows.push_back({static_cast<double>(table.rows.size() + 1), static_cast<double>(bucket.tensors),
                            bucket.parameters * worker.workload().bytes_per_parameter});
    worker.record().table(table);
  }

  MgWfbpOptions options_;
};

}  // namespace

std::vector<AlgorithmPlugin> mg_wfbp() {
  return {{{.name = "mg_wfbp",
            .summary = "synchronous SGD whose gradients are merged where that saves more than it delays",
            .citation = "Shi, Chu, Li, INFOCOM 2019, arXiv:1811.11141"},
           "one all-reduce of the gradient: 2 (P-1)/P m by a ring",
           {.sends = {Traffic::gradient}},
           +[](const MgWfbpOptions& options, const AlgorithmContext& context) -> MadeAlgorithm {
             note_overlap(context);
             return std::make_unique<MgWfbp>(options);
           }}};
}

}  // namespace simsgd::algorithms
