// The same rounding on every machine. Eigen cuts matrix products into blocks that fit the caches it finds,
// and the cut decides the order in which numbers are added up.
#pragma once

namespace simsgd {

/// Makes Eigen block for caches of 32 KiB, 512 KiB and 16 MiB whatever the machine has. To be called once,
/// when the program starts, before any other thread.
void fix_numerics();

/// Keeps freed memory for what comes next: vectors of the same sizes come and go in every step, and pages
/// that are given back and asked for again took a quarter of a run with K-FAC. And asks for huge pages, for
/// the first 4 GiB, without which a third of a run of many workers, of few steps, is the system giving it its
/// memory. At the same time.
void keep_freed_memory();

}  // namespace simsgd
