// What a rank does in a step, taken down from one that runs without time: a method's own code on a worker
// whose every call is written down instead of done. Of methods whose ranks all do the same
// (sim/algorithm.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/record.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

struct World;

struct StepTrace {
  struct Action {
    enum class Kind : std::uint8_t {
      begin,          ///< of a gradient: its cost is drawn, and crashes hit it
      delay,          ///< by stragglers
      used,           ///< the gradient's samples count
      compute,        ///< for so many nominal seconds
      backward,       ///< the last backward pass begins
      compute_until,  ///< so many nominal seconds after that
      backward_end,   ///< what is left of it goes on beside what follows
      mark,           ///< an instant of the step, by number
      span,           ///< from one mark to another, for timelines
      spend,          ///< an activity for so many seconds at nominal speed
      start,          ///< an operation
      start_after,    ///< an operation, when the one that was started `index2` ago ends: 1 is the last
      wait,           ///< for the one that was started `index` ago
      wait_idly       ///< the same, booked as waiting for nothing that is sent
    } kind;
    Activity activity = Activity::compute;
    double seconds = 0;
    std::size_t index = 0;   ///< of a mark, an operation; how many ago
    std::size_t index2 = 0;  ///< the mark that a span ends at; how many ago
    const char* label = nullptr;

    bool starts() const { return kind == Kind::start || kind == Kind::start_after; }
    bool operator==(const Action&) const = default;
  };
  using Actions = std::vector<Action>;
  struct Steps {
    Actions first, others, after;  ///< of the first step, of each other one, after the last
  };

  Steps steps;
  std::vector<AnyCollective> operations;  ///< that they start, each once; of rank 0's groups, without values
  std::vector<std::vector<GroupId>> groups;  ///< by rank: as it has asked for them
  std::size_t marks = 0;                     ///< in a step
  std::size_t longest_wait = 0;              ///< the most operations ago that one is waited for
  // What was said before the first step.
  std::vector<RecordTable> tables;
  std::map<std::string, double> numbers;
};

/// Nothing where steps are not all alike, or do what cannot be taken down. Its cost is that of three steps of
/// one rank; where that asks for groups, all ranks are asked for theirs.
std::optional<StepTrace> trace_steps(World& world);

}  // namespace simsgd
