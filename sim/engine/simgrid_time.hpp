// SimGrid's clock and SimGrid's flows, under the program's own fibers: what its loop of events and its
// sharing of links are compared with, in tests and by `simsgd run --simgrid`. They are a library
// of their own (simgrid_module.cpp), opened where it is asked for: linked with it each start takes 20 ms
// more.
#pragma once

#include <string>

#include "sim/engine/time_keeper.hpp"

namespace simsgd {

/// From this file, libsimsgd_simgrid.so. One may be made per process, to be kept until it ends: SimGrid's
/// statics refer to it. Throws ConfigError where it cannot be opened.
MakeTimeKeeper simgrid_time(const std::string& library);

}  // namespace simsgd
