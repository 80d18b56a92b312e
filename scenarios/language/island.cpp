// A worker of several GPUs (sim/cluster/cluster.hpp): what they exchange in a step, by the cluster's own
// collectives on the links that they really have, becomes part of the worker's layers.
//   data_parallel:   an all_reduce of the gradients in the step's last backward pass
//   sharded:         an all_gather of the parameters in each pass, a reduce_scatter of the gradients in each
//   backward pass
//                    (Rajbhandari et al., ZeRO, SC 2020, arXiv:1910.02054)
//   tensor_parallel: layers in pairs, split by columns and then by rows: an all_reduce of the second one's
//   output in the
//                    forward pass, and of as many gradients in the backward pass (Shoeybi et al.,
//                    Megatron-LM, arXiv:1909.08053)
// Tests: tests/scenarios/clusters.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/language/layer_times.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/notes.hpp"

namespace simsgd {

namespace {

/// Of a micro-batch.
struct Exchange {
  double forward_s = 0, backward_s = 0;
};

class InsideIsland {
 public:
  explicit InsideIsland(const Job& job) : job_(job), cluster_(job.cluster), island_(*job.cluster.island) {
    const int first = cluster_.endpoint_of_rank.front();
    cluster_.endpoint_of_rank.resize(static_cast<std::size_t>(island_.gpus));
    std::iota(cluster_.endpoint_of_rank.begin(), cluster_.endpoint_of_rank.end(), first);
    ranks_.resize(cluster_.endpoint_of_rank.size());
    std::iota(ranks_.begin(), ranks_.end(), 0);
  }

  Exchange exchange() const {
    const Workload& workload = job_.workload;
    const double bytes = workload.model_bytes(), backward_s = workload.backward_s();
    switch (island_.inside) {
      case Island::Inside::given:
        return {0, exposed(*island_.time_s, backward_s) / workload.micro_batches};
      case Island::Inside::data_parallel:
        return {0, exposed(in_pieces(CollectiveOp::all_reduce, bytes), backward_s) / workload.micro_batches};
      case Island::Inside::sharded: {
        const double gather_s = in_pieces(CollectiveOp::all_gather, bytes);
        return {exposed(gather_s, workload.forward_s()),
                exposed(gather_s + in_pieces(CollectiveOp::reduce_scatter, bytes), backward_s)};
      }
      case Island::Inside::tensor_parallel: {
        const double reduce_s = of_activations();
        return {exposed(reduce_s, workload.forward_s()), exposed(reduce_s, backward_s)};
      }
    }
    return {};
  }

 private:
  double time_s(CollectiveOp op, double bytes) const {
    return predicted_s(plan_by_policy(job_.network.collectives, cluster_, ranks_, {op, bytes, 0, 1, ""}));
  }
  double in_pieces(CollectiveOp op, double bytes) const {
    return island_.pieces * time_s(op, bytes / island_.pieces);
  }
  double exposed(double exchange_s, double computing_s) const {
    return island_.overlap ? std::max(0.0, exchange_s - computing_s) : exchange_s;
  }

  double of_activations() const {
    const Workload& workload = job_.workload;
    const double samples = static_cast<double>(workload.batch) / workload.micro_batches;
    double sum_s = 0;
    bool second = false;
    for (const Layer& layer : workload.layers) {
      if (std::ranges::none_of(layer.tensors, [](const TensorShape& each) { return each.is_matrix(); }))
        continue;
      if (second && layer.activations > 0)
        sum_s += time_s(CollectiveOp::all_reduce, layer.activations * samples * workload.bytes_per_parameter);
      second = !second;
    }
    return sum_s;
  }

  const Job& job_;
  Cluster cluster_;  // of the first island alone
  const Island& island_;
  std::vector<int> ranks_;
};

/// The law of a worker: of `gpus` times the samples in the same time, or the same samples in 1 / gpus of it.
void share_law(StepLaw& law, const Island& island) {
  const double gpus = island.gpus;
  law.per_sample_s /= gpus;
  if (!island.multiplies_batch()) law.fixed_s /= gpus;
  for (StepLaw::Time& time : law.times)
    (island.multiplies_batch() ? time.samples : time.seconds) *= island.multiplies_batch() ? gpus : 1 / gpus;
}

bool check_island(const Reader& reader, const Job& job) {
  const Island& island = *job.cluster.island;
  const auto no = [&](const char* key, const std::string& problem, const std::string& remedy) {
    reader.error(std::string("/cluster/island/") + key, problem, remedy);
    return false;
  };
  if (island.time_s.has_value() != (island.inside == Island::Inside::given))
    return island.time_s ? no("time", "has no effect: `inside` is a collective, which takes its own time",
                              "Leave it out, or write \"inside\": \"given\"")
                         : no("inside", "is \"given\", but no `time` says how long the exchange takes",
                              "Add \"time\", such as \"12 ms\"");
  const auto& layers = job.workload.layers;
  if (island.inside == Island::Inside::tensor_parallel &&
      std::ranges::none_of(layers, [](const Layer& layer) { return layer.activations > 0; }))
    return no("inside", "is \"tensor_parallel\", but the workload's layers have no `activations`",
              "Use a workload with `activations`, or \"inside\": \"given\" with a `time`");
  if (static_cast<double>(job.workload.batch) * island.gpus > 2147483647.0)
    return no("gpus", fmt::format("makes a batch of {} x {} samples", job.workload.batch, island.gpus),
              "Use a smaller /workload/batch");
  return true;
}

}  // namespace

void build_island(const Reader& reader, Job& job, std::vector<Note>& notes) {
  if (!job.cluster.island || job.cluster.island->gpus == 1 || job.workers() == 0 ||
      job.workload.layers.empty())
    return;
  if (!check_island(reader, job)) return;
  const Island& island = *job.cluster.island;
  Workload& workload = job.workload;
  if (!island.multiplies_batch()) {
    for (Layer& layer : workload.layers) {
      layer.forward_s /= island.gpus;
      layer.backward_s /= island.gpus;
    }
    workload.one_device_step_s /= island.gpus;  // of as many devices without any exchange
  }
  Exchange exchange;
  try {
    exchange = InsideIsland(job).exchange();
  } catch (const RunError& error) {
    return reader.error("/cluster/island/inside", fmt::format("cannot be timed: {}", error.what()),
                        "Use another way, or \"inside\": \"given\" with a `time`");
  }
  const double computing_s = workload.step_compute_s();
  lengthen_passes(workload.layers, exchange.forward_s, exchange.backward_s);
  if (workload.step_law) share_law(*workload.step_law, island);
  if (island.multiplies_batch()) workload.batch *= island.gpus;
  add_note(
      notes,
      {"island",
       fmt::format("a worker is {} GPUs: a step computes for {:.4g} ms, and {:.4g} ms of exchange inside the "
                   "island are added to it",
                   island.gpus, 1e3 * computing_s,
                   1e3 * workload.micro_batches * (exchange.forward_s + exchange.backward_s))});
}

void share_memory(Job& job) {
  if (!job.cluster.island) return;
  for (MemoryPart& part : job.memory)
    if (job.cluster.island->divides_model() || part.name == "activations")
      part.bytes /= job.cluster.island->gpus;
}

}  // namespace simsgd
