// What goes on beside a rank's main thread, over MPI. Values are computed on the executor's thread, so the
// main thread has time to look after messages while it computes, sleeps or waits: it alone calls MPI and runs
// handlers and actions (MPI_THREAD_FUNNELED is enough), one at a time, which makes them atomic.
#pragma once

#include <mpi.h>

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "measure/mpi_progress.hpp"
#include "measure/packing.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/roles/background.hpp"

namespace simsgd {

class MpiBackground final : public Background, public MpiProgress::Part {
 public:
  struct Setup {
    const Job& job;
    Executor& executor;
    const Observers& observers;
    const RunClock& clock;
    PackedSizes sizes;
  };
  MpiBackground(MPI_Comm world, const Setup& setup);
  /// What nobody has received is left to MPI, which may still read its memory.
  ~MpiBackground() override;
  MpiBackground(const MpiBackground&) = delete;
  MpiBackground& operator=(const MpiBackground&) = delete;

  void serve(int tag, std::function<void(const Message&)> handler) override;
  void post(int to, int tag, Message message) override;
  void then(Awaited handle, std::function<void()> action) override;
  /// False: there is no shorter way than posting the messages.
  bool hear(int tag, std::function<void(std::uint64_t number)> heard) override;
  void flood(int tag, std::uint64_t number) override;
  Handle<Nothing> make_event() override;
  void signal(const Handle<Nothing>& event) override;
  Handle<Nothing> start_timer(double seconds) override;

  /// Handlers are not called from within handlers, wherever those wait.
  void progress() override;
  bool idle() const override;

  /// Handlers are not called while it lives: an operation that is being begun must not be met half begun.
  class Quiet {
   public:
    explicit Quiet(MpiBackground& background)
        : background_(background), before_(std::exchange(background.in_background_, true)) {}
    ~Quiet() { background_.in_background_ = before_; }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    MpiBackground& background_;
    bool before_;
  };

 private:
  struct Moving {  // in either direction
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    int other = 0, tag = 0;
    double begin_s = 0;
    Traffic traffic = Traffic::control;
  };
  void look_for_messages();
  void end_timers();
  void arrived(const Moving& moving);
  void booked(const Moving& moving, double begin_s) const;
  void run_due();

  Setup of_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::map<int, std::function<void(const Message&)>> handlers_;
  std::map<int, std::vector<Message>> early_;  // posted before this rank serves their tag
  std::list<Moving> leaving_, arriving_;
  std::vector<Handle<Nothing>> timers_;
  std::vector<double> timer_ends_s_;
  std::deque<std::function<void()>> due_;
  bool in_background_ = false;
};

}  // namespace simsgd
