#include "analysis/faces/live/explore.hpp"

#include "analysis/faces/live/front.hpp"
#include "analysis/faces/live/session.hpp"
#include "sim/base/interrupts.hpp"

namespace simsgd::live {

void explore(const ExploreSettings& settings) {
  Source source = [&settings] {
    const EndsAtInterrupts guard(
        settings.source.path);  // nothing is there yet that would have to be put away
    return open_source(settings.source);
  }();
  // Before the store is opened: the front has nothing of it.
  const Front front(settings.port);
  Session session(std::move(source), {settings.threads, settings.points, settings.libraries});
  if (settings.listening) settings.listening(front.port(), session.source());
  const auto stopped = [&] { return settings.interrupted && settings.interrupted(); };
  run_in_children(
      {.jobs = settings.jobs,
       .timeout_s = settings.timeout_s,
       .memory_bytes = settings.memory_bytes,
       .interrupted = stopped,
       .tick =
           [&] {
             front.answer([&](Ask ask, const std::string& body) { return session.answer(ask, body); });
             session.tick();
           }},
      {.next = [&] { return session.next(); },
       .work = [&](std::size_t task) { return session.simulate(task); },
       .ended =
           [&](std::size_t task, const ChildEnd& end) {
             // A signal to all processes of the terminal is no failure of the point.
             if (!stopped()) session.ended(task, end);
           },
       .wakes = front.wakes()});
  throw Interrupted();  // a session has no last task
}

}  // namespace simsgd::live
