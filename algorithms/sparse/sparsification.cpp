#include "algorithms/sparse/sparsification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/plugin.hpp"
#include "algorithms/sparse/sparse.hpp"
#include "sim/base/check.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {

constexpr double kIndexBytes = 4;
constexpr double kTruncation = 1 + 1e-12;  // k / d of a whole k is not truncated to k - 1

constexpr double kPublishedDensity = 0.001;
constexpr double kPublishedWarmup[] = {0.25, 0.0725, 0.015, 0.004};

double density_of(const SparsificationOptions& options, double entries) {
  if (!options.k) return options.density.value();
  if (options.density) reject("k", "contradicts \"density\"", "Give one of the two");
  const auto k = static_cast<double>(*options.k);
  if (k > entries)
    reject("k", fmt::format("is more than the {:.0f} parameters of the workload", entries),
           fmt::format("Use at most {:.0f}", entries));
  return k / entries;
}

std::vector<DensityPhase> phases_of(const SparsificationOptions& options, double density) {
  const std::uint64_t steps = options.warmup_steps;
  if (options.warmup_densities && steps == 0)
    reject("warmup_densities", "has no effect without \"warmup_steps\"",
           "Give \"warmup_steps\", the steps with each of them, or leave both out");
  std::vector<double> densities = options.warmup_densities.value_or(std::vector<double>());
  densities.push_back(density);
  std::vector<DensityPhase> phases;
  for (std::size_t i = 0; i < densities.size(); ++i) phases.push_back({1 + i * steps, densities[i]});
  return phases;
}

/// Sampled: the same share of the sample alone, beside a pass over all entries.
SelectSize selection_in(const SparsificationSettings& settings, std::size_t phase) {
  const double share = settings.sampled ? settings.sample : 1;
  return {.k = share * settings.message_entries(phase), .n = share * settings.workload_entries};
}

void read_costs(const Cluster& cluster, SparsificationSettings& settings) {
  const Device& device = cluster.device;
  const HostCosts& host = cluster.host;
  const double d = settings.workload_entries;
  settings.accumulate_s = accumulate_s(device, d);
  settings.crossing_s = d * host.copy_s;
  if (host.staging_Bps > 0) settings.crossing_s += 2 * d * kBytesPerNumber / host.staging_Bps;
  settings.merge_s = host.merge_s;
  settings.add_s = host.scatter_add_s;
  const double pass_s =
      settings.sampled ? vector_pass_s(device, {.read = kBytesPerNumber * d, .written = 0}) : 0;
  for (std::size_t phase = 0; phase < settings.phases.size(); ++phase)
    settings.selection_s.push_back(select_s(device, selection_in(settings, phase)) + pass_s);
}

void note_costs(const AlgorithmContext& context, const SparsificationSettings& settings, bool selects) {
  if (selects) note_kernel(context, DeviceKernel::select);
  for (std::size_t phase = 0; selects && phase < settings.phases.size(); ++phase)
    note_size(context, selection_in(settings, phase));
  if (settings.sampled) note_kernel(context, DeviceKernel::vector_pass);
  note_kernel(context, DeviceKernel::accumulate);
  if (context.workers > 1)
    note_cluster_cost(context, context.cluster->host.copy_s,
                      "copies of the gradient on the host take no time", "host.copy");
}

}  // namespace

std::size_t entries_of(double density, std::size_t n) {
  const double entries = std::floor(density * static_cast<double>(n) * kTruncation);
  return std::clamp<std::size_t>(static_cast<std::size_t>(entries), 1, std::max<std::size_t>(n, 1));
}

std::size_t SparsificationSettings::phase_at(std::uint64_t step) const {
  std::size_t phase = phases.size() - 1;
  while (phase > 0 && phases[phase].first_step > step) --phase;
  return phase;
}

double SparsificationSettings::message_entries(std::size_t phase) const {
  return static_cast<double>(
      entries_of(phases[phase].density, static_cast<std::size_t>(std::llround(workload_entries))));
}

void SparsificationOptions::fields(Fields& f) {
  density_fields(f);
  f.choice(
      "selection", sampled, {{"exact", false}, {"sampled", true}},
      "How entries are chosen: the k largest (exact), or at most k above a threshold that is estimated from a sample (sampled)");
  f.number("sample", sample, "Sampled selection draws this share of the entries for its threshold")
      .above(0)
      .at_most(1);
  message_fields(f);
}

void SparsificationOptions::density_fields(Fields& f) {
  f.number("density", density, "Share of the entries that is sent, k / d")
      .above(0)
      .at_most(1)
      .by_rule("0.001, unless \"k\" is given");
  f.whole("k", k, "Entries of the workload's gradient that are sent; in place of density").at_least(1);
}

void SparsificationOptions::message_fields(Fields& f) {
  f.bytes("bytes_per_entry", bytes_per_entry, "A value and its index take this many bytes in a message")
      .above(0)
      .by_rule("a value in network.precision and 4 bytes of index");
  f.whole("warmup_steps", warmup_steps,
          "Each of warmup_densities lasts for this many steps (an epoch in the paper)");
  f.list("warmup_densities", warmup_densities, "The warm-up goes through these densities, one after another",
         "a density")
      .items_above(0)
      .items_at_most(1)
      .least_items(1)
      .by_rule("0.25, 0.0725, 0.015, 0.004");
}

void SparsificationOptions::complete(const AlgorithmContext& context) {
  if (!density && !k) density = kPublishedDensity;
  if (!bytes_per_entry && context.workload != nullptr)
    bytes_per_entry = context.workload->bytes_per_parameter + kIndexBytes;
  if (!warmup_densities && warmup_steps > 0)
    warmup_densities.emplace(std::begin(kPublishedWarmup), std::end(kPublishedWarmup));
}

SparsificationSettings sparsification_of(const SparsificationOptions& options,
                                         const AlgorithmContext& context, bool selects) {
  SparsificationSettings settings;
  settings.workload_entries = context.workload->parameters();
  settings.phases = phases_of(options, density_of(options, settings.workload_entries));
  settings.sampled = options.sampled;
  settings.sample = options.sample;
  settings.bytes_per_entry = options.bytes_per_entry.value();
  if (context.cluster == nullptr) return settings;
  read_costs(*context.cluster, settings);
  note_costs(context, settings, selects);
  return settings;
}

std::size_t Sparsifier::entries() const {
  return entries_of(settings_.phases[settings_.phase_at(worker_.step())].density, worker_.replica().size());
}

Tensor Sparsifier::select(const Tensor& accumulated) const {
  if (!accumulated) return {};
  const std::size_t k = entries();
  if (selection_ != nullptr) return selection_->choose(worker_, accumulated, before_, k);
  if (!settings_.sampled)
    return worker_.executor().submit({accumulated},
                                     [k](TensorData& out, auto in) { select_top_k(in[0]->values, k, out); });
  const std::size_t sample = entries_of(settings_.sample, worker_.replica().size());
  return worker_.executor().submit(
      {accumulated}, [k, sample, stream = worker_.stream(Purpose::algorithm)](TensorData& out, auto in) {
        select_by_sample(in[0]->values, k, sample, stream, out);
      });
}

Sparsifier::Choice Sparsifier::choose(const Tensor& gradient) {
  Choice choice;
  choice.accumulated =
      residual_ ? linear_combination(worker_.executor(), {1.0, 1.0}, {residual_, gradient}) : gradient;
  const double slower = worker_.compute().slower();
  worker_.compute().spend_on(Activity::compute, settings_.accumulate_s * slower, choice.accumulated);
  choice.selected = before_ = select(choice.accumulated);
  const double selection_s = selection_ != nullptr ? selection_->seconds(worker_.step())
                             : settings_.selection_s.empty()
                                 ? 0
                                 : settings_.selection_s[settings_.phase_at(worker_.step())];
  worker_.compute().spend_on(Activity::selection, selection_s * slower, choice.selected);
  if (worker_.size() > 1) worker_.compute().spend(Activity::host, settings_.crossing_s);
  return choice;
}

Tensor to_dense(Executor& executor, const Tensor& sparse, std::size_t size, double scale) {
  if (!sparse) return {};
  return executor.submit_shared("sparse_to_dense", {static_cast<double>(size), scale}, {sparse},
                                [size, scale = static_cast<float>(scale)](TensorData& out, auto in) {
                                  out.values.assign(size, 0.0f);
                                  for (std::size_t i = 0; i < in[0]->values.size(); ++i)
                                    out.values[static_cast<std::size_t>(in[0]->indices[i])] =
                                        scale * in[0]->values[i];
                                });
}

Tensor without(Executor& executor, const Tensor& accumulated, const Tensor& selected) {
  if (!accumulated) return {};
  return executor.submit({accumulated, selected}, [](TensorData& out, auto in) {
    out.values = in[0]->values;
    for (const std::int32_t index : in[1]->indices) out.values[static_cast<std::size_t>(index)] = 0;
  });
}

Tensor share_chosen(Executor& executor, const Tensor& sparse, std::size_t k) {
  if (!sparse) return {};
  return executor.submit({sparse}, [k](TensorData& out, auto in) {
    out.scalars = {static_cast<double>(in[0]->values.size()) / static_cast<double>(k)};
  });
}

std::vector<std::string> all_gather_schedules() {
  std::vector<std::string> names;
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == CollectiveOp::all_gather) names.push_back(plugin.info.name);
  return names;
}

Schedule all_gather_of(const std::string& name, int workers, double bytes) {
  const SchedulePlugin* plugin = find_schedule(CollectiveOp::all_gather, name);
  CHECK(plugin != nullptr, "the schema offers only schedules that there are");
  ScheduleRequest request;
  request.ranks = workers;
  request.bytes = bytes;
  return plugin->make(request);
}

void StepAverages::add(Executor& executor, Tensor numbers) {
  if (!numbers) return;
  constexpr std::size_t kBehind = 16;
  waiting_.push_back(std::move(numbers));
  if (waiting_.size() > kBehind) look_at_oldest(executor);
}

void StepAverages::look_at_oldest(Executor& executor) {
  const std::vector<double>& numbers = executor.get(waiting_.front()).scalars;
  sums_.resize(std::max(sums_.size(), numbers.size()), 0.0);
  counts_.resize(sums_.size(), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    sums_[i] += numbers[i];
    ++counts_[i];
  }
  waiting_.erase(waiting_.begin());
}

std::vector<double> StepAverages::means(Executor& executor) {
  while (!waiting_.empty()) look_at_oldest(executor);
  std::vector<double> means;
  for (std::size_t i = 0; i < sums_.size(); ++i) means.push_back(sums_[i] / static_cast<double>(counts_[i]));
  return means;
}

}  // namespace simsgd
