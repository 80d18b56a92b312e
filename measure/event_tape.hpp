// What one rank did and when, kept until rank 0 draws the timeline of the run: the same Timeline as of a
// simulation. Bounded as that is.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/recording/timeline.hpp"

namespace simsgd {

class EventTape final : public Observer {
 public:
  EventTape(const Job& job, int rank);

  void span(int rank, const char* name, double from_s, double to_s) override;
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override;
  void collective(const CollectiveSeen& seen) override;
  void message(int from, int to, double start_s, double end_s, double bytes) override;
  void step_ended(const StepEnd& end) override;

  /// Collective. On rank 0 the timeline of all, elsewhere an empty one.
  Timeline timeline(MPI_Comm world) const;

 private:
  struct Event {
    enum class Kind : std::uint8_t { span, waited, collective, message, step } kind = Kind::span;
    CollectiveOp op = CollectiveOp::barrier;
    Traffic traffic = Traffic::control;
    std::int32_t from = 0, to = 0, channel = 0, group = 0, members = 0;
    std::uint64_t number = 0;  ///< step, or sequence
    double start_s = 0, go_s = 0, end_s = 0, bytes = 0;
    char name[24] = {};
  };
  void add(const Event& event);
  static void draw(const Event& event, Timeline& timeline);

  const Job& job_;
  int rank_;
  std::vector<Event> events_;
};

}  // namespace simsgd
