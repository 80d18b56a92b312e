// What the runs of a claim's study say of it. A setting is one choice of everything that is unknown and was
// scanned; a comparison joins the runs that its sides name wherever all that they do not name is equal, and
// has a state in each setting; the claim's state in a setting is the worst of its comparisons'.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/frame/frame.hpp"
#include "analysis/runs/sweep.hpp"
#include "scenarios/language/claim.hpp"

namespace simsgd {

/// What a point of a study sets, by pointer, objects taken apart; its seed is not among it.
std::map<std::string, Json> claim_settings(const ResultPoint& point);

/// From good to bad. `outside`: on the claimed side, but not in the claimed range.
enum class ClaimState : std::uint8_t { reproduced, outside, within_noise, reversed, no_value };
inline constexpr std::size_t kClaimStates = 5;
using StateCounts = std::array<std::size_t, kClaimStates>;

/// How an effect over seeds is judged: on which side of 0 it lies.
struct Judged {
  ClaimState state = ClaimState::no_value;
  double mean = 0;
  double half_width = 0;  ///< of the 95 % interval (Student); 0 with one seed
};

/// `effects`: of each seed, above 0 where the quantity is above its threshold; of a ratio, its logarithm.
/// `noise`: of the same kind. Infinite effects count by their sign alone.
Judged judge(const std::vector<double>& effects, ClaimComparison::Direction direction, double noise,
             double within);

/// Pointers and values. Of a pointer in which the sides differ it is that of "to", and with kOfFirstSide that
/// of "of".
inline constexpr const char* kOfFirstSide = " (of)";
using ClaimInputs = std::map<std::string, Json>;

/// A comparison, or the whole claim, in a setting.
struct ClaimCell {
  ClaimInputs inputs;
  ClaimState state = ClaimState::no_value;
  double low = 0, high = 0;  ///< the quantity: over what it must hold for (for_all)
};

struct ComparisonVerdict {
  std::vector<ClaimCell> cells;
  StateCounts counts{};
  double low = 0, median = 0, high = 0;  ///< of the quantity, over settings
};

/// What tells settings of one state from those of another: one input or two, and the states on each side.
struct Dependence {
  std::vector<std::string> inputs;  ///< pointers
  struct Side {
    std::vector<Json> values;  ///< of these inputs
    StateCounts counts{};
  };
  std::vector<Side> sides;
  double explained = 0;  ///< share of settings whose state is the most frequent one of their side
};

struct ClaimVerdict {
  Claim claim;
  std::string file;
  std::vector<ComparisonVerdict> comparisons;
  std::vector<ClaimCell> settings;
  std::vector<std::string> inputs;  ///< pointers that vary over settings, each for those that go with it
  StateCounts counts{};
  std::optional<ClaimState> state;       ///< of at least two thirds of the settings; none: it depends
  std::optional<Dependence> dependence;  ///< none where all settings agree, or nothing tells them apart
};

/// Share of the settings that have to agree.
inline constexpr double kMostSettings = 2.0 / 3;

/// Throws ConfigError (with `file`) where a comparison finds no runs to compare.
ClaimVerdict judge_claim(const Claim& claim, const std::string& file, const frame::Frame& frame);

/// A claim's comparison in every setting: the sides joined where both have runs, and judged. With the inputs
/// that vary, and in `for_all` and `along` not any more.
std::vector<ClaimCell> judged_cells(const ClaimComparison& comparison,
                                    const std::vector<std::string>& for_all, const frame::Frame& frame);

/// Whether cells that agree in `by` agree in `pointer`.
bool determines(const std::vector<ClaimInputs>& cells, const std::string& by, const std::string& pointer);

/// Pointers that vary over the cells, without those that another one determines. `preferred` and plug-ins'
/// names stand for others that go with them.
std::vector<std::string> varying_inputs(const std::vector<ClaimInputs>& cells,
                                        const std::map<std::string, std::string>& preferred);

struct TestedClaim {
  ClaimVerdict verdict;
  std::size_t points = 0, failed = 0;
  std::string first_failure;  ///< a sentence
};

/// Runs the study of a claim, or finds its runs in a store, and judges the claim. `settings` as of a sweep;
/// `progress` as its listener's. Throws as load_claim, load_study and run_sweep do.
TestedClaim test_claim(const std::string& study, const Overrides& overrides, const SweepSettings& settings,
                       const std::function<void(const SweepProgress&)>& progress = {});

/// "reproduced", "depends on coupling".
std::string verdict_text(const ClaimVerdict& verdict);

/// For people and programs.
std::string claims_text(const std::vector<ClaimVerdict>& verdicts);
/// A page: `command` made it. Links to studies are relative to docs/.
std::string claims_markdown(const std::vector<ClaimVerdict>& verdicts, const std::string& command);
nlohmann::ordered_json claims_json(const std::vector<ClaimVerdict>& verdicts);

}  // namespace simsgd
