// k_of_p: in each step k of the P workers are late; which ones is drawn anew.
//   distinct:    a uniformly drawn set of exactly k workers
//   independent: each worker with probability 1 - (1 - 1/P)^k, so that 0 to P are late
// Li, Ben-Nun, Nadiradze, Di Girolamo, Dryden, Alistarh, Hoefler, IEEE TPDS 2021, arXiv:2005.00124, delay
// "two random processes" by 320 ms in their text and draw independently in their released code. Checked by
// tests/cluster/stragglers.cpp. With "workers" P counts the workers listed.
#include <fmt/format.h>

#include <cmath>

#include "sim/base/check.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/distributions/registry.hpp"

namespace simsgd::stragglers {

namespace {

/// Whether element `at` is among the first k of a random permutation of n: a Fisher-Yates shuffle of which
/// only the place of that element is followed. Who is chosen for k is also chosen for k + 1.
bool among_first(std::uint32_t k, std::uint32_t n, std::uint32_t at, Stream stream) {
  for (std::uint32_t i = 0; i < k; ++i) {
    const std::uint32_t swapped = i + stream.below(n - i);
    if (swapped == at) return true;
    if (i == at) at = swapped;
  }
  return false;
}

class KOfP final : public StragglerModel {
 public:
  struct Settings {
    std::vector<int> place_of_rank;  ///< among the workers to choose from; -1 for others
    std::uint32_t k = 1;
    std::uint32_t candidates = 1;
    bool distinct = true;
    Distribution delay;
    bool relative = false;
  };

  explicit KOfP(Settings settings)
      : settings_(std::move(settings)), independent_probability_(probability(settings_)) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    const auto rank = static_cast<std::size_t>(context.rank);
    CHECK(rank < settings_.place_of_rank.size(), "a straggler meets only the ranks of its job");
    const int place = settings_.place_of_rank[rank];
    if (place < 0 || !is_late(context, static_cast<std::uint32_t>(place))) return;
    Stream stream = straggler_stream(context, StragglerDraw::value);
    straggle.delay_s += delay_s(settings_.delay.draw(stream), settings_.relative, context);
  }

 private:
  bool is_late(const StragglerContext& context, std::uint32_t place) const {
    if (!settings_.distinct)
      return straggler_stream(context, StragglerDraw::choice).uniform() < independent_probability_;
    return among_first(settings_.k, settings_.candidates, place,
                       common_straggler_stream(context, StragglerDraw::choice));
  }

  static double probability(const Settings& settings) {
    return 1 - std::pow(1 - 1.0 / settings.candidates, settings.k);
  }

  Settings settings_;
  double independent_probability_;
};

struct KOfPOptions {
  std::int64_t k = 1;
  bool distinct = true;
  RawValue delay;

  void fields(Fields& f) {
    f.whole("k", k, "This many workers are late in each step").required().at_most(kMaximumRank);
    f.choice(
        "draw", distinct, {{"distinct", true}, {"independent", false}},
        "Which workers are late. \"distinct\": exactly k different ones; \"independent\": each with probability 1 - (1 - 1/P)^k");
    add_draw(f, "delay", delay, "Delay of a late worker: a time, or a distribution of times").required();
  }
};

MadeStraggler make_k_of_p(const KOfPOptions& options, const StragglerCommon& common,
                          const StragglerSetup& setup) {
  const std::vector<int> candidates = selected_ranks(common, setup);
  KOfP::Settings settings;
  settings.place_of_rank.assign(static_cast<std::size_t>(setup.workers), -1);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    settings.place_of_rank[static_cast<std::size_t>(candidates[i])] = static_cast<int>(i);
  settings.candidates = static_cast<std::uint32_t>(candidates.size());
  settings.distinct = options.distinct;
  if (settings.distinct && options.k > settings.candidates)
    reject("k", fmt::format("is more than the {} candidates", settings.candidates),
           fmt::format("Give at most {}, or \"draw\": \"independent\"", settings.candidates));
  settings.k = static_cast<std::uint32_t>(options.k);
  settings.delay = draw_of(options.delay.json(), "delay", common.delay_unit());
  settings.relative = common.relative;
  return std::make_unique<KOfP>(std::move(settings));
}

}  // namespace

std::vector<StragglerPlugin> k_of_p() {
  return {{{.name = "k_of_p",
            .summary = "In each step k random workers of the P are late",
            .citation = "Li et al., IEEE TPDS 2021, arXiv:2005.00124"},
           make_k_of_p}};
}

}  // namespace simsgd::stragglers
