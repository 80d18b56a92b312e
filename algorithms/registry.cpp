#include "algorithms/registry.hpp"

#include "algorithms/gossip/ad_psgd.hpp"
#include "algorithms/gossip/d_psgd.hpp"
#include "algorithms/gossip/matcha.hpp"
#include "algorithms/gossip/sgp.hpp"
#include "algorithms/kfac/d_kfac.hpp"
#include "algorithms/kfac/kfac.hpp"
#include "algorithms/kfac/mpd_kfac.hpp"
#include "algorithms/kfac/spd_kfac.hpp"
#include "algorithms/nonblocking/nonblocking.hpp"
#include "algorithms/sparse/gtopk.hpp"
#include "algorithms/sparse/topk_sgd.hpp"
#include "algorithms/synchronous/allreduce_sgd.hpp"
#include "algorithms/synchronous/local_sgd.hpp"
#include "algorithms/wait_avoiding/eager_sgd.hpp"
#include "algorithms/wait_avoiding/wagma.hpp"

namespace simsgd {

const std::vector<AlgorithmPlugin>& algorithm_plugins() {
  static const std::vector<AlgorithmPlugin> table = {
      ad_psgd_plugin(),     allreduce_sgd_plugin(), d_kfac_plugin(),    d_psgd_plugin(),   eager_sgd_plugin(),
      gtopk_plugin(),       kfac_plugin(),          local_sgd_plugin(), matcha_plugin(),   mpd_kfac_plugin(),
      nonblocking_plugin(), sgp_plugin(),           spd_kfac_plugin(),  topk_sgd_plugin(), wagma_plugin(),
  };
  return table;
}

}  // namespace simsgd
