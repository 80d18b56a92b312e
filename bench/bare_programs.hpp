// Methods as one would write each without a simulator, for its default options alone (SPD-KFAC: for those of
// its scenario): the bare programs of gossip.cpp, sparse.cpp and kfac.cpp. Each takes from the job only
// numbers (delays drawn, latencies, bandwidths, bytes, what an operation is predicted to take) and tells when
// the run ends.
#pragma once

#include "sim/job.hpp"

namespace simsgd::bench {

double bare_wagma_s(const Job& job);
double bare_eager_sgd_s(const Job& job);
double bare_nonblocking_s(const Job& job);
double bare_ad_psgd_s(const Job& job);
double bare_d_psgd_s(const Job& job);
double bare_sgp_s(const Job& job);
double bare_gtopk_s(const Job& job);
double bare_spd_kfac_s(const Job& job);

}  // namespace simsgd::bench
