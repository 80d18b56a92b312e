#include "sim/worker.hpp"

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {
[[noreturn]] void not_offered(const std::string& what) {
  throw RunError("This machine does not offer " + what + " to algorithms; the simulation does.");
}
}  // namespace

// What a machine that offers it takes over, and these need not.
// NOLINTBEGIN(performance-unnecessary-value-param)
Handle Worker::start_gradient(const ComputeOptions&) { not_offered("gradients that can be cancelled"); }
void Worker::cancel(const Handle&) { not_offered("gradients that can be cancelled"); }
void Worker::recover_by(Recovery, std::function<void()>) {}
void Worker::serve(int, std::function<void(const Message&)>) { not_offered("background handlers"); }
void Worker::post(int, int, Message) { not_offered("background handlers"); }
void Worker::then(const Handle&, std::function<void()>) { not_offered("background handlers"); }
bool Worker::listen(int, std::function<void(std::uint64_t)>) { return false; }
void Worker::spread(int, std::uint64_t) { not_offered("numbers that spread"); }
Handle Worker::make_event() { not_offered("background handlers"); }
void Worker::signal(const Handle&) { not_offered("background handlers"); }
Handle Worker::start_timer(double) { not_offered("timers"); }
void Worker::spend_on(Activity activity, double seconds, const Values&) { spend(activity, seconds); }
double Worker::learning_rate() const { not_offered("the learning rate"); }
void Worker::note_staleness(double) {}
void Worker::note_table(RecordTable) {}
void Worker::note_work(const std::string&) {}
// NOLINTEND(performance-unnecessary-value-param)
const LogicalGraph& Worker::graph() const { not_offered("a logical graph"); }

Values Worker::allreduce_mean(Values values, Traffic traffic) {
  Collective collective;
  collective.op = Collective::Op::all_reduce;
  collective.bytes = workload().model_bytes();
  collective.traffic = traffic;
  collective.contribution = std::move(values);
  collective.scale = 1.0 / size();
  const Handle handle = start(std::move(collective));
  wait(handle);
  return result(handle);
}

void Worker::barrier() {
  Collective collective;
  collective.op = Collective::Op::barrier;
  collective.traffic = Traffic::control;
  wait(start(std::move(collective)));
}

}  // namespace simsgd
