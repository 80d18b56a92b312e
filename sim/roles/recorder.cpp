#include "sim/roles/recorder.hpp"

#include "sim/observer.hpp"

namespace simsgd {

void Recorder::staleness(double steps) { observers_.tell(Topic::said, &Observer::staleness, rank_, steps); }
void Recorder::table(const RecordTable& table) {
  observers_.tell(Topic::said, &Observer::table, rank_, table);
}
void Recorder::number(const std::string& name, double value) {
  observers_.tell(Topic::said, &Observer::number, rank_, name, value);
}

}  // namespace simsgd
