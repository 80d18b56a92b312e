#include "algorithms/python/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "algorithms/exchange.hpp"
#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/learn/model.hpp"

namespace simsgd::python {

struct ShippedParts::Sparse {
  SparsificationSettings settings;
  MergeScheduleRequest request;
  std::shared_ptr<const Schedule> schedule;  // shared with the operations
  std::unique_ptr<Sparsifier> sparsifier;
  StepAverages distinct{};
};

namespace {

class LayerTaps final : public LayerStatistics {
 public:
  void compute(const Learner&, const LayerTap<float>& tap, std::vector<float>& out) const override {
    for (const LayerTap<float>::Entry& layer : tap.layers)
      for (const Matrix<float>* each : {&layer.input, &layer.output_gradient}) {
        out.insert(out.end(), {static_cast<float>(each->rows()), static_cast<float>(each->cols())});
        out.insert(out.end(), each->data(), each->data() + each->size());
      }
  }
};

/// Whether every rank hears of every other one on the way.
bool all_hear_of_all(const Schedule& schedule) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  std::vector<std::set<std::size_t>> heard(ranks);
  for (std::size_t i = 0; i < ranks; ++i) heard[i] = {i};
  for (const Stage& stage : schedule.stages) {
    const std::vector<std::set<std::size_t>> before = heard;
    for (std::size_t i = 0; i < ranks; ++i)
      if (stage.to[i] >= 0)
        heard[static_cast<std::size_t>(stage.to[i])].insert(before[i].begin(), before[i].end());
  }
  return std::all_of(heard.begin(), heard.end(), [&](const auto& each) { return each.size() == ranks; });
}

}  // namespace

std::shared_ptr<const LayerStatistics> layer_taps() { return std::make_shared<LayerTaps>(); }

std::vector<Tensor> merged_along(Executor& executor, const Schedule& schedule, const Merging& merging,
                                 std::vector<Tensor> held) {
  for (const Stage& stage : schedule.stages) {
    const std::vector<Tensor> before = held;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (stage.to[i] < 0) continue;
      const auto to = static_cast<std::size_t>(stage.to[i]);
      const Tensor sent = merging.sent ? merging.sent(executor, before[i]) : before[i];
      held[to] = stage.carries.adds
                     ? merging.merge(executor, stage.to[i], static_cast<std::int32_t>(i), before[to], sent)
                     : sent;
    }
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    held[i] = merging.finish(executor, static_cast<std::int32_t>(i), held[i]);
  return held;
}

std::shared_ptr<const Schedule> ShippedParts::messages(const OwnMessages& asked) const {
  std::shared_ptr<const Schedule>& made = parts_.messages[asked];
  if (made) return made;
  const bool merged = !asked.merges.empty();
  Schedule schedule;
  schedule.name = "exchange";
  schedule.ranks = asked.stages.empty() ? worker_.size() : static_cast<int>(asked.stages.front().size());
  schedule.blocks = merged ? 1 : schedule.ranks;
  schedule.concurrent = !merged;
  schedule.together = asked.together;
  schedule.all_wait_for_all = asked.together || merged;
  for (std::size_t s = 0; s < asked.stages.size(); ++s) {
    std::vector<std::int32_t> to;
    std::set<long long> named;
    for (const long long rank : asked.stages[s]) {
      if (rank < -1 || rank >= schedule.ranks || (rank >= 0 && !named.insert(rank).second)) break;
      to.push_back(static_cast<std::int32_t>(rank));
    }
    if (to.size() != static_cast<std::size_t>(schedule.ranks))
      throw RunError(fmt::format(
          "A stage of exchange() lists the receiver of each of the {} ranks: another rank, each at most once, or -1 for none.",
          schedule.ranks));
    const bool merges = merged && asked.merges.at(s) != 0;
    Stage stage = merged ? make_stage(std::move(to), asked.bytes, 0, 1, all_of(merges))
                         : make_stage(std::move(to), asked.bytes, asked.bytes);
    if (merges) stage.receive_s = asked.merge_s;
    schedule.stages.push_back(std::move(stage));
  }
  if (merged && !all_hear_of_all(schedule))
    throw RunError(
        "exchange() that merges ends at the same time for all ranks, so its stages must bring data of every rank to every other rank.");
  made = std::make_shared<const Schedule>(std::move(schedule));
  return made;
}

double ShippedParts::kernel_s(const std::string& kernel, double a, double b, double c) const {
  if (!parts_.has_cluster) return 0;
  const Device& device = parts_.cluster.device;
  if (kernel == "gemm") return gemm_s(device, {.m = a, .n = b, .k = c});
  if (kernel == "vector_pass") return vector_pass_s(device, {.read = a, .written = b});
  if (kernel == "select") return select_s(device, {.k = a, .n = b});
  if (kernel == "invert") return invert_s(device, a);
  if (kernel == "qr") return qr_s(device, {.m = a, .n = b});
  if (kernel == "quantise") return quantise_s(device, {.numbers = a, .bits = b});
  if (kernel == "accumulate") return accumulate_s(device, a);
  throw RunError(
      fmt::format("Unknown kernel {}. Choose {}.", kernel,
                  one_of({"gemm", "vector_pass", "select", "invert", "qr", "quantise", "accumulate"})));
}

const Bucket& ShippedParts::bucket(long long index, long long count) {
  const int layers = layers_with_parameters(worker_.workload());
  if (count < 1 || count > layers || index < 0 || index >= count)
    throw RunError(fmt::format(
        "Fragment {} of {} does not exist: this workload can be cut into 1 to {} fragments, counted from 0.",
        index, count, layers));
  const auto parts = static_cast<std::size_t>(count);
  if (fragments_.size() <= parts) fragments_.resize(parts + 1);
  if (fragments_[parts].empty())
    fragments_[parts] = equal_buckets(worker_.workload(), static_cast<int>(count));
  return fragments_[parts][static_cast<std::size_t>(index)];
}

std::vector<double> ShippedParts::fragment(long long index, long long count) {
  return {bucket(index, count).parameters, static_cast<double>(bucket(index, count).tensors)};
}
Tensor ShippedParts::own_part(long long index, long long count) {
  return simsgd::own_part(worker_, bucket(index, count));
}
void ShippedParts::set_own_part(long long index, long long count, const Tensor& part) {
  simsgd::set_own_part(worker_, bucket(index, count), part);
}

long long ShippedParts::sparsifier(double density, const std::string& put_back) {
  SparsificationOptions options;
  options.density = density;
  const AlgorithmContext context{.workers = worker_.size(),
                                 .workload = &worker_.workload(),
                                 .cluster = parts_.has_cluster ? &parts_.cluster : nullptr};
  options.complete(context);
  auto made = std::make_shared<Sparse>();
  made->settings = sparsification_of(options, context);
  made->request = {.workers = worker_.size(),
                   .put_back = put_back == "exact" ? PutBack::exact : PutBack::paper,
                   .entries = made->settings.message_entries(0),
                   .bytes_per_entry = made->settings.bytes_per_entry,
                   .merge_s = made->settings.merge_s};
  std::shared_ptr<const Schedule>& shared = parts_.merges[{density, put_back}];
  if (!shared) shared = std::make_shared<const Schedule>(merge_schedule(made->request));
  made->schedule = shared;
  made->sparsifier = std::make_unique<Sparsifier>(worker_, made->settings);
  sparse_.push_back(std::move(made));
  return static_cast<long long>(sparse_.size()) - 1;
}

KfacPart::KfacPart(Worker& worker, const FactorLayout& layout, const Cluster* cluster, const KfacMath& math)
    : worker_(worker),
      layout_(layout),
      math_(math),
      timed_(kfac_layers(worker.workload())),
      costs_(kfac_costs(cluster, worker.workload(), timed_)),
      factors_(layout.layers.size()) {}

std::vector<std::vector<double>> KfacPart::costs() const {
  std::vector<double> numbers;
  for (const WorkloadFactor& factor : timed_.factors) numbers.push_back(factor.elements());
  return {numbers, costs_.factor_s, costs_.inverse_s, {costs_.precondition_s}};
}

std::vector<std::vector<double>> KfacPart::layers() const {
  std::vector<std::vector<double>> all;
  for (const LayerFactors& layer : layout_.layers)
    all.push_back({static_cast<double>(layer.a_dim), static_cast<double>(layer.g_dim),
                   static_cast<double>(layer.a_offset), static_cast<double>(layer.g_offset)});
  return all;
}

std::vector<FactorPair> KfacPart::cut(const Tensor& factors) {
  if (worker_.executor().get(factors).values.size() != layout_.size)
    throw RunError("K-FAC was given another number of values than w.gradient(factors=True) gives.");
  std::vector<FactorPair> pairs;
  for (const LayerFactors& layer : layout_.layers) {
    const auto part = [&](std::size_t begin, std::int64_t dim) {
      return slice(worker_.executor(), factors, begin, begin + triangle(static_cast<std::size_t>(dim)));
    };
    pairs.push_back({part(layer.a_offset, layer.a_dim), part(layer.g_offset, layer.g_dim)});
  }
  return pairs;
}

void KfacPart::average(const Tensor& factors) {
  if (!factors) return;
  const std::vector<FactorPair> fresh = cut(factors);
  for (std::size_t l = 0; l < fresh.size(); ++l)
    factors_[l] =
        average_factors(worker_.executor(), layout_.layers[l], factors_[l], fresh[l], math_.old_weight);
}

Tensor KfacPart::invert() {
  std::vector<Tensor> parts;
  inverses_.clear();
  for (std::size_t l = 0; l < factors_.size(); ++l) {
    if (!factors_[l].a) return {};
    const LayerFactors& layer = layout_.layers[l];
    inverses_.push_back({inverse_a(worker_.executor(), layer, factors_[l], math_, worker_.step()),
                         inverse_g(worker_.executor(), layer, factors_[l], math_, worker_.step())});
    parts.push_back(inverses_.back().a);
    parts.push_back(inverses_.back().g);
  }
  return parts.empty() ? Tensor{} : concatenate(worker_.executor(), parts);
}

void KfacPart::set_inverses(const Tensor& inverses) {
  if (inverses) inverses_ = cut(inverses);
}

Tensor KfacPart::precondition(const Tensor& gradient) {
  if (!gradient) return {};
  if (inverses_.empty()) throw RunError("K-FAC has no inverses to precondition with: call invert() first.");
  return simsgd::precondition(worker_.executor(), layout_, gradient, inverses_,
                              worker_.replica().learning_rate(), math_.kl_clip);
}

long long ShippedParts::kfac(const KfacMath& math) {
  kfac_.push_back(std::make_unique<KfacPart>(worker_, parts_.factors,
                                             parts_.has_cluster ? &parts_.cluster : nullptr, math));
  return static_cast<long long>(kfac_.size()) - 1;
}

ShippedParts::Sparse& ShippedParts::sparse(long long number) {
  return *sparse_.at(static_cast<std::size_t>(number));
}

Sparsifier::Choice ShippedParts::choose(long long sparsifier, const Tensor& gradient) {
  return sparse(sparsifier).sparsifier->choose(gradient);
}

Tensor ShippedParts::merge(long long sparsifier, const Tensor& selected) {
  const Sparse& own = sparse(sparsifier);
  CustomCollective collective;
  collective.messages = own.schedule;
  collective.bytes = own.settings.message_entries(0) * own.settings.bytes_per_entry;
  collective.tensors = 0;
  collective.contribution = selected;
  if (selected) {
    const std::size_t k = own.sparsifier->entries();
    collective.merging = merging_of(own.request, k);
    collective.effect = [k](Executor& executor, const std::vector<Tensor>& contributions) {
      return std::vector<Tensor>{merge_all(executor, contributions, k)};
    };
  }
  return worker_.collectives().run(std::move(collective));
}

void ShippedParts::keep(long long sparsifier, const Tensor& accumulated, const Tensor& selected,
                        const Tensor& merged) {
  Sparse& own = sparse(sparsifier);
  own.sparsifier->set_residual(
      residual_after_merge(worker_.executor(), accumulated, selected, merged, own.request, worker_.rank()));
  if (worker_.rank() == 0)
    own.distinct.add(worker_.executor(), distinct_by_round(worker_.executor(), merged, worker_.size()));
}

Tensor ShippedParts::dense(long long, const Tensor& merged) {
  return to_dense(worker_.executor(), merged, worker_.replica().size(), 1.0 / worker_.size());
}

void ShippedParts::note_merges(long long sparsifier) {
  const std::vector<double> means = sparse(sparsifier).distinct.means(worker_.executor());
  if (means.empty()) return;
  RecordTable table{"merges", {"round", "distinct_indices_mean"}, {}};
  for (std::size_t round = 0; round < means.size(); ++round)
    table.rows.push_back({static_cast<double>(round + 1), means[round]});
  worker_.record().table(table);
}

}  // namespace simsgd::python
