#include "sim/cluster/stragglers/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

constexpr int kRankBits = 20;
constexpr int kStepBits = 38, kShortStepBits = 28;
constexpr std::uint64_t kLastStep = (std::uint64_t{1} << kStepBits) - 1;

Stream stream_of(const StragglerContext& context, std::uint32_t rank, StragglerDraw draw) {
  CHECK(context.index < kMaximumStragglers, "a scenario has fewer than 4,096 stragglers");
  CHECK(context.step <= kLastStep, "a run has fewer than 2^38 steps");
  CHECK(context.mini_batch == 0 ||
            (context.mini_batch < kMaximumMiniBatches && context.step >> kShortStepBits == 0),
        "a step has at most 1,024 mini-batches that are late by themselves, and a run fewer than 2^28 steps");
  return Stream({context.seed, Purpose::straggler, (context.index << kRankBits) + rank,
                 (static_cast<std::uint64_t>(draw) << kStepBits) +
                     (static_cast<std::uint64_t>(context.mini_batch) << kShortStepBits) + context.step});
}

/// The common options around a model.
class Filtered final : public StragglerModel {
 public:
  struct Settings {
    std::vector<bool> selected;  ///< by rank
    double probability = 1;
    bool per_mini_batch = false;
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

  bool per_mini_batch() const override { return settings_.per_mini_batch; }

 private:
  std::unique_ptr<const StragglerModel> model_;
  Settings settings_;
};

std::uint64_t read_step(const Parameters& parameters, const std::string& key, std::uint64_t otherwise) {
  if (!parameters.has(key)) return otherwise;
  const std::int64_t step = parameters.integer(key);
  if (step < 1) Parameters::reject(key, "is below 1", "Steps are counted from 1");
  return std::min(static_cast<std::uint64_t>(step), kLastStep);
}

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
std::size_t how_many(const Parameters& parameters, std::size_t n, const std::string& of) {
  if (parameters.has("share")) {
    const double share = parameters.number("share");
    if (!(share > 0 && share <= 1))
      Parameters::reject("share", "is no share",
                         "Give a number above 0 and of at most 1, such as 0.1 for 10 %");
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share * static_cast<double>(n))));
  }
  const std::int64_t count = parameters.integer("count");
  if (count < 1 || count > static_cast<std::int64_t>(n))
    Parameters::reject("count", fmt::format("is not from 1 to the {} {}", n, of),
                       fmt::format("Give at most {}", n));
  return static_cast<std::size_t>(count);
}

/// The ranks of "count" or "share" workers, or of all on so many nodes.
std::vector<bool> drawn_ranks(const Parameters& parameters, const StragglerSetup& setup) {
  const std::string of = parameters.text("of", "workers");
  if (of != "workers" && of != "nodes")
    Parameters::reject("of", "is nothing to choose from", "Give \"workers\" or \"nodes\"");
  std::vector<int> group_of_rank = setup.node_of_rank;
  if (of == "workers" || group_of_rank.empty()) {
    group_of_rank.resize(static_cast<std::size_t>(setup.workers));
    std::iota(group_of_rank.begin(), group_of_rank.end(), 0);
  }
  const std::set<int> distinct(group_of_rank.begin(), group_of_rank.end());
  const std::vector<int> groups(distinct.begin(), distinct.end());
  std::set<int> chosen;
  for (const std::size_t each : drawn_once(how_many(parameters, groups.size(), of), groups.size(), setup))
    chosen.insert(groups[each]);
  std::vector<bool> selected;
  for (const int group : group_of_rank) selected.push_back(chosen.contains(group));
  return selected;
}

/// Whether the ranks are drawn; that nothing contradicts it.
bool draws_ranks(const Parameters& parameters) {
  const bool count = parameters.has("count"), share = parameters.has("share");
  if (count && share) Parameters::reject("share", "contradicts \"count\"", "Give one of the two");
  if (parameters.has("workers") && (count || share))
    Parameters::reject("workers", std::string("contradicts \"") + (count ? "count\"" : "share\""),
                       "Give one of the two");
  if (parameters.has("of") && !count && !share)
    Parameters::reject("of", "has nothing to choose", "Give \"count\" or \"share\" too, or leave it out");
  return count || share;
}

/// Schema of the options that draw the workers.
Json drawing_properties() {
  const Json count = {
      {"type", "integer"},
      {"minimum", 1},
      {"description", "It affects so many workers, drawn once for the run, in place of \"workers\""}};
  const Json share = {
      {"type", "number"},
      {"exclusiveMinimum", 0},
      {"maximum", 1},
      {"description",
       "It affects this share of the workers (rounded, at least one), drawn once for the run: 0.1 is 10 %"}};
  const Json of = {
      {"type", "string"},
      {"enum", {"workers", "nodes"}},
      {"description",
       "What \"count\" and \"share\" count: workers (default), or nodes with all their workers"}};
  return {{"count", count}, {"share", share}, {"of", of}};
}

}  // namespace

Stream straggler_stream(const StragglerContext& context, StragglerDraw draw) {
  CHECK(context.rank >= 0 && context.rank < kMaximumRank, "a cluster has fewer than 2^20 workers");
  return stream_of(context, static_cast<std::uint32_t>(context.rank), draw);
}

Stream common_straggler_stream(const StragglerContext& context, StragglerDraw draw) {
  return stream_of(context, kMaximumRank, draw);
}

Json common_straggler_properties() {
  const Json workers = {{"type", "array"},
                        {"items", {{"type", "integer"}, {"minimum", 0}}},
                        {"minItems", 1},
                        {"uniqueItems", true},
                        {"description", "Ranks that it can affect; all by default"}};
  const Json relative = {
      {"type", "boolean"},
      {"default", false},
      {"description",
       "Delays are plain numbers, multiples of the nominal compute time of the worker's step, "
       "instead of times"}};
  const Json probability = {
      {"type", "number"},
      {"minimum", 0},
      {"maximum", 1},
      {"default", 1},
      {"description", "Chance, for each worker and step independently, that it applies at all"}};
  const Json per = {
      {"type", "string"},
      {"enum", {"step", "mini_batch"}},
      {"default", "step"},
      {"description",
       "\"step\": a delay comes once, before the step's first mini-batch; \"mini_batch\": each of the "
       "mini-batches that the algorithm cuts a step into has a delay of its own (relative to its own time)"}};
  const Json from_step = {
      {"type", "integer"}, {"minimum", 1}, {"default", 1}, {"description", "First step that it can affect"}};
  const Json to_step = {{"type", "integer"},
                        {"minimum", 1},
                        {"description", "Last step that it can affect; no end by default"}};
  Json all = {{"workers", workers}, {"relative", relative},   {"probability", probability},
              {"per", per},         {"from_step", from_step}, {"to_step", to_step}};
  all.update(drawing_properties());
  return all;
}

std::unique_ptr<const StragglerModel> with_common_options(std::unique_ptr<const StragglerModel> model,
                                                          const Parameters& parameters,
                                                          const StragglerSetup& setup) {
  Filtered::Settings settings;
  settings.selected.resize(static_cast<std::size_t>(setup.workers));
  for (const int rank : selected_ranks(parameters, setup))
    settings.selected[static_cast<std::size_t>(rank)] = true;
  settings.probability = parameters.number("probability", 1);
  if (!(settings.probability >= 0 && settings.probability <= 1))
    Parameters::reject("probability", "is no probability", "Give a number from 0 to 1");
  const std::string per = parameters.text("per", "step");
  if (per != "step" && per != "mini_batch")
    Parameters::reject("per", "is no part of the work", "Give \"step\" or \"mini_batch\"");
  settings.per_mini_batch = per == "mini_batch";
  settings.from_step = read_step(parameters, "from_step", 1);
  settings.to_step = read_step(parameters, "to_step", kLastStep);
  if (settings.to_step < settings.from_step)
    Parameters::reject("to_step", "is before \"from_step\"", "Give the same step or a later one");
  const bool everybody =
      std::find(settings.selected.begin(), settings.selected.end(), false) == settings.selected.end();
  if (everybody && settings.probability == 1 && !settings.per_mini_batch && settings.from_step == 1 &&
      settings.to_step == kLastStep)
    return model;
  return std::make_unique<Filtered>(std::move(model), std::move(settings));
}

std::vector<int> selected_ranks(const Parameters& parameters, const StragglerSetup& setup) {
  std::vector<int> ranks(static_cast<std::size_t>(setup.workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (draws_ranks(parameters)) {
    const std::vector<bool> drawn = drawn_ranks(parameters, setup);
    std::erase_if(ranks, [&](int rank) { return !drawn[static_cast<std::size_t>(rank)]; });
    return ranks;
  }
  if (!parameters.has("workers")) return ranks;
  std::vector<bool> selected(ranks.size());
  const Json& list = parameters.json().at("workers");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string key = fmt::format("workers/{}", i);
    const auto rank = list[i].get<std::int64_t>();
    if (rank < 0 || rank >= setup.workers)
      Parameters::reject(key, fmt::format("is no rank of the {} workers", setup.workers),
                         fmt::format("Give ranks from 0 to {}", setup.workers - 1));
    if (selected[static_cast<std::size_t>(rank)])
      Parameters::reject(key, "is listed twice", "List each rank once");
    selected[static_cast<std::size_t>(rank)] = true;
  }
  if (list.empty())
    Parameters::reject("workers", "is empty", "Give at least one rank, or leave it out for all");
  std::erase_if(ranks, [&](int rank) { return !selected[static_cast<std::size_t>(rank)]; });
  return ranks;
}

bool is_relative(const Parameters& parameters) { return parameters.flag("relative", false); }

DrawUnit delay_unit(const Parameters& parameters) {
  return is_relative(parameters) ? DrawUnit::relative : DrawUnit::seconds;
}

}  // namespace simsgd
