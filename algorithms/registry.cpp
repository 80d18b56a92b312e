#include "algorithms/registry.hpp"

#include "algorithms/ad_psgd.hpp"
#include "algorithms/allreduce_sgd.hpp"
#include "algorithms/d_kfac.hpp"
#include "algorithms/d_psgd.hpp"
#include "algorithms/eager_sgd.hpp"
#include "algorithms/gtopk.hpp"
#include "algorithms/kfac.hpp"
#include "algorithms/local_sgd.hpp"
#include "algorithms/matcha.hpp"
#include "algorithms/mpd_kfac.hpp"
#include "algorithms/nonblocking.hpp"
#include "algorithms/sgp.hpp"
#include "algorithms/spd_kfac.hpp"
#include "algorithms/topk_sgd.hpp"
#include "algorithms/wagma.hpp"

namespace simsgd {

const std::vector<AlgorithmPlugin>& algorithm_plugins() {
  static const std::vector<AlgorithmPlugin> table = {
      ad_psgd_plugin(),
      allreduce_sgd_plugin(),
      d_kfac_plugin(),
      d_psgd_plugin(),
      eager_sgd_plugin(),
      gtopk_plugin(),
      kfac_plugin(),
      local_sgd_plugin(),
      matcha_plugin(),
      mpd_kfac_plugin(),
      nonblocking_plugin(),
      sgp_plugin(),
      spd_kfac_plugin(),
      topk_sgd_plugin(),
      wagma_plugin(),
  };
  return table;
}

}  // namespace simsgd
