#include "sim/cluster/stragglers/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sim/base/check.hpp"

namespace simsgd {

void StragglerPlugin::form(Json& form) const {
  Plugin::form(form);
  StragglerCommon common;
  Fields fields;
  common.fields(fields);
  form["properties"].update(fields.schema("")["properties"]);
}

MadeStraggler make_straggler(const Json& object, const StragglerSetup& setup) {
  const StragglerPlugin& plugin =
      find_plugin(straggler_plugins(), RawValue(object).name(), "kind of straggler");
  Json own = object;
  StragglerCommon common;
  take_options(common, own);
  return with_common_options(plugin.make(own, common, setup), common, setup);
}

namespace {

constexpr int kRankBits = 20;
constexpr int kStepBits = 38, kShortStepBits = 28;
constexpr std::uint64_t kLastStep = (std::uint64_t{1} << kStepBits) - 1;

Stream stream_of(const StragglerContext& context, std::uint32_t rank, StragglerDraw draw) {
  CHECK(context.index < kMaximumStragglers, "a scenario has fewer than 4,096 stragglers");
  CHECK(context.step <= kLastStep, "a run has fewer than 2^38 steps");
  CHECK(
      context.micro_batch == 0 ||
          (context.micro_batch < kMaximumMicroBatches && context.step >> kShortStepBits == 0),
      "a step has at most 1,024 micro-batches that are late by themselves, and a run fewer than 2^28 steps");
  return Stream({context.seed, Purpose::straggler, (context.index << kRankBits) + rank,
                 (static_cast<std::uint64_t>(draw) << kStepBits) +
                     (static_cast<std::uint64_t>(context.micro_batch) << kShortStepBits) + context.step});
}

/// The common options around a model.
class Filtered final : public StragglerModel {
 public:
  struct Settings {
    std::vector<bool> selected;  ///< by rank
    double probability = 1;
    bool per_micro_batch = false;
    std::uint64_t from_step = 1;
    std::uint64_t to_step = kLastStep;
  };

  Filtered(std::unique_ptr<const StragglerModel> model, Settings settings)
      : model_(std::move(model)), settings_(std::move(settings)) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    if (context.step < settings_.from_step || context.step > settings_.to_step) return;
    const auto rank = static_cast<std::size_t>(context.rank);
    CHECK(rank < settings_.selected.size(), "a straggler meets only the ranks of its job");
    if (!settings_.selected[rank]) return;
    if (settings_.probability < 1 &&
        straggler_stream(context, StragglerDraw::chance).uniform() >= settings_.probability)
      return;
    model_->apply(context, straggle);
  }

  bool per_micro_batch() const override { return settings_.per_micro_batch; }

 private:
  std::unique_ptr<const StragglerModel> model_;
  Settings settings_;
};

/// Which k of n: a Fisher-Yates shuffle, drawn once for the run at step 0, which no step has.
std::vector<std::size_t> drawn_once(std::size_t k, std::size_t n, const StragglerSetup& setup) {
  StragglerContext context;
  context.seed = setup.seed;
  context.index = setup.index;
  context.step = 0;
  Stream stream = common_straggler_stream(context, StragglerDraw::choice);
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < k; ++i)
    std::swap(all[i], all[i + stream.below(static_cast<std::uint32_t>(n - i))]);
  all.resize(k);
  return all;
}

/// How many of n "count" or "share" ask for.
std::size_t how_many(const StragglerCommon& common, std::size_t n) {
  if (common.share)
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(std::llround(*common.share * static_cast<double>(n))));
  if (*common.count > static_cast<std::int64_t>(n))
    reject("count",
           fmt::format("is more than the number of {1}, {0}", n,
                       common.of == StragglerCommon::Of::nodes ? "nodes" : "workers"),
           fmt::format("Give at most {}", n));
  return static_cast<std::size_t>(*common.count);
}

/// The ranks of "count" or "share" workers, or of all on so many nodes.
std::vector<bool> drawn_ranks(const StragglerCommon& common, const StragglerSetup& setup) {
  std::vector<int> group_of_rank = setup.node_of_rank;
  if (common.of != StragglerCommon::Of::nodes || group_of_rank.empty()) {
    group_of_rank.resize(static_cast<std::size_t>(setup.workers));
    std::iota(group_of_rank.begin(), group_of_rank.end(), 0);
  }
  const std::set<int> distinct(group_of_rank.begin(), group_of_rank.end());
  const std::vector<int> groups(distinct.begin(), distinct.end());
  std::set<int> chosen;
  for (const std::size_t each : drawn_once(how_many(common, groups.size()), groups.size(), setup))
    chosen.insert(groups[each]);
  std::vector<bool> selected;
  for (const int group : group_of_rank) selected.push_back(chosen.contains(group));
  return selected;
}

/// Whether the ranks are drawn; that nothing contradicts it.
bool draws_ranks(const StragglerCommon& common) {
  if (common.count && common.share) reject("share", "contradicts \"count\"", "Give one of the two");
  if (common.workers && (common.count || common.share))
    reject("workers", std::string("contradicts \"") + (common.count ? "count\"" : "share\""),
           "Give one of the two");
  if (common.of && !common.count && !common.share)
    reject("of", "has no effect without \"count\" or \"share\"",
           "Give \"count\" or \"share\" too, or leave it out");
  return common.count || common.share;
}

/// The ranks that "workers" lists.
std::vector<bool> listed_ranks(const std::vector<int>& list, int workers) {
  std::vector<bool> selected(static_cast<std::size_t>(workers));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string key = fmt::format("workers/{}", i);
    if (list[i] >= workers)
      reject(key, fmt::format("is not a rank below the number of workers, {}", workers),
             fmt::format("Give ranks from 0 to {}", workers - 1));
    if (selected[static_cast<std::size_t>(list[i])]) reject(key, "is listed twice", "List each rank once");
    selected[static_cast<std::size_t>(list[i])] = true;
  }
  if (list.empty()) reject("workers", "is empty", "Give at least one rank, or leave it out for all");
  return selected;
}

}  // namespace

Stream straggler_stream(const StragglerContext& context, StragglerDraw draw) {
  CHECK(context.rank >= 0 && context.rank <= kMaximumRank, "a cluster has at most 2^20 workers");
  return stream_of(context, static_cast<std::uint32_t>(context.rank), draw);
}

Stream common_straggler_stream(const StragglerContext& context, StragglerDraw draw) {
  return stream_of(context, kMaximumRank, draw);
}

void StragglerCommon::fields(Fields& f) {
  f.list("workers", workers, "Ranks that it can affect", "A rank")
      .least_items(1)
      .distinct()
      .by_rule("all")
      .example("[0, 3]");
  f.whole("count", count, "It affects this many workers, drawn once for the run, instead of \"workers\"")
      .at_least(1);
  f.number(
       "share", share,
       "It affects this share of the workers (rounded, at least one), drawn once for the run: 0.1 is 10 %")
      .above(0)
      .at_most(1);
  f.choice("of", of, {{"workers", Of::workers}, {"nodes", Of::nodes}},
           "What \"count\" and \"share\" count: workers, or nodes with all their workers")
      .by_rule("workers");
  f.flag(
      "relative", relative,
      "Whether delays are plain numbers, multiples of the nominal compute time of the worker's step, instead of times");
  f.number("probability", probability, "Probability that it applies, independently for each worker and step")
      .at_least(0)
      .at_most(1);
  f.choice(
      "per", per_micro_batch, {{"step", false}, {"micro_batch", true}},
      "\"step\": a delay comes once, before the step's first micro-batch; \"micro_batch\": each of the micro-batches that the algorithm cuts a step into has a delay of its own (relative to its own time)");
  f.whole("from_step", from_step, "First step that it can affect").at_least(1);
  f.whole("to_step", to_step, "Last step that it can affect").at_least(1).by_rule("no end");
}

MadeStraggler with_common_options(MadeStraggler model, const StragglerCommon& common,
                                  const StragglerSetup& setup) {
  Filtered::Settings settings;
  settings.selected.resize(static_cast<std::size_t>(setup.workers));
  for (const int rank : selected_ranks(common, setup))
    settings.selected[static_cast<std::size_t>(rank)] = true;
  settings.probability = common.probability;
  settings.per_micro_batch = common.per_micro_batch;
  settings.from_step = std::min(common.from_step, kLastStep);
  settings.to_step = std::min(common.to_step.value_or(kLastStep), kLastStep);
  if (settings.to_step < settings.from_step)
    reject("to_step", "is before \"from_step\"", "Give the same step or a later one");
  const bool everybody =
      std::find(settings.selected.begin(), settings.selected.end(), false) == settings.selected.end();
  if (everybody && settings.probability == 1 && !settings.per_micro_batch && settings.from_step == 1 &&
      settings.to_step == kLastStep)
    return model;
  return std::make_unique<Filtered>(std::move(model), std::move(settings));
}

std::vector<int> selected_ranks(const StragglerCommon& common, const StragglerSetup& setup) {
  std::vector<int> ranks(static_cast<std::size_t>(setup.workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  const bool drawn = draws_ranks(common);
  if (!drawn && !common.workers) return ranks;
  const std::vector<bool> selected =
      drawn ? drawn_ranks(common, setup) : listed_ranks(*common.workers, setup.workers);
  std::erase_if(ranks, [&](int rank) { return !selected[static_cast<std::size_t>(rank)]; });
  return ranks;
}

}  // namespace simsgd
