// The schedules, one maker each; schedules.cpp lists them. Only schedule files and that table include this.
#pragma once

#include "sim/collectives/schedules.hpp"

namespace simsgd {

SchedulePlugin ring_all_reduce();
SchedulePlugin ring_reduce_scatter();
SchedulePlugin ring_all_gather();
SchedulePlugin recursive_doubling_all_reduce();
SchedulePlugin rabenseifner_all_reduce();
SchedulePlugin recursive_halving_reduce_scatter();
SchedulePlugin bruck_all_gather();
SchedulePlugin tree_all_reduce();
SchedulePlugin tree_broadcast();
SchedulePlugin scatter_all_gather_broadcast();
SchedulePlugin tree_reduce();
SchedulePlugin hierarchical_all_reduce();
SchedulePlugin dissemination_barrier();

}  // namespace simsgd
