// Ranks that nap while they wait must get the core back soon when something has come.
#pragma once

namespace simsgd {

/// Asks Linux for short turns on a core, for this thread and those that it starts: whoever wakes up then goes
/// before others that have long turns, instead of waiting for the end of theirs (about 3 ms). Nothing where
/// the kernel (before 6.12) or another scheduling policy knows no such wish; needs no rights.
void ask_for_short_slices();

}  // namespace simsgd
