// A generator that never yields would keep the whole simulation: after a while TimeoutError is
// raised in it.
#pragma once

namespace simsgd::python {

/// From now on in this process: Python may run for so long, by the wall clock.
void watch(double limit_s);
/// Python runs from here on; nests.
void python_begins();
void python_ends();

}  // namespace simsgd::python
