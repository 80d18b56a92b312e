// What the messages of a schedule carry for one rank of an operation: the values that a Schedule's blocks
// stand for (sim/collectives/schedule.hpp). Nothing here knows MPI: scheduled_exchange.hpp sends it.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "measure/packing.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

/// One member of an operation.
struct CargoContext {
  Executor& executor;
  std::int32_t member = 0;  ///< its rank in the group
  std::int32_t members = 1;
  bool learns = true;   ///< whether anybody has values
  PackedSizes sizes{};  ///< workload: messages are at least as long as the schedule says
};

/// Room that messages have for what is said behind them.
inline constexpr std::size_t kBehindMessage_bytes = sizeof(double);

/// Members have cargo of one kind for an operation. It is told of the stages in their order, and `give`s what
/// a stage sends before it `take`s what the stage brings.
class Cargo {
 public:
  virtual ~Cargo() = default;

  /// The member's message in repetition `time` of the stage.
  virtual Bytes give(const Stage& stage, int time) = 0;
  /// How long a message of `sender` is; nothing where only that knows.
  virtual std::optional<std::size_t> length(const Stage& stage, int time, std::int32_t sender) const = 0;
  virtual void take(const Stage& stage, int time, std::int32_t sender,
                    std::span<const std::byte> message) = 0;
  /// What the member gets, once the schedule is through.
  virtual void deliver(const AnyCollective& collective, const CollectiveSlot& slot) = 0;
};

/// What sums are multiplied by; 1 where nothing is.
double scale_of(const AnyCollective& collective);

/// The cargo of an operation by `schedule`, which must outlive it, as must the collective. Waits for the
/// contribution.
std::unique_ptr<Cargo> make_cargo(const CargoContext& context, const AnyCollective& collective,
                                  const Schedule& schedule);

}  // namespace simsgd
