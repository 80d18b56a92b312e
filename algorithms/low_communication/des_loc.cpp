// DES-LOC: local training whose parameters and whose optimizer's vectors are averaged at periods of their
// own: moments change more slowly than parameters, so they need to meet less often.
//   every K_x steps x_i <- mean_j x_j;  every K_v steps, of each vector v of the optimizer: v_i <- mean_j v_j
// Iacob et al., "DES-LOC: Desynced Low Communication Adaptive Optimizers", 2025, arXiv:2505.22549, Algorithm
// 1, told from memory. Periods of Adam's moments 3 K_x and 6 K_x, those of its experiments. With periods of 1
// it is local Adam that averages all of its state every step. Bytes per worker: an all-reduce of the model
// for each vector that is due. After a crash a worker computes again what it lost; others wait.
#include <fmt/format.h>

#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct DesLocOptions {
  int period = 32;
  std::optional<std::vector<int>> state_periods;

  void fields(Fields& f) {
    f.whole("period", period, "K_x: parameters are averaged every this many steps").at_least(1);
    f.list("state_periods", state_periods,
           "Each of the optimizer's vectors, in the optimizer's order, is averaged every this many steps",
           "Steps")
        .items_at_least(1)
        .by_rule("3, 6, ... times the period");
  }
  void complete(const AlgorithmContext& context) {
    if (state_periods || context.optimizer == nullptr) return;
    state_periods.emplace();
    for (std::size_t v = 0; v < context.optimizer->rule->state_names().size(); ++v)
      state_periods->push_back(3 * period << v);
  }
};

class DesLoc final : public Algorithm {
 public:
  explicit DesLoc(const DesLocOptions& options)
      : period_(static_cast<std::uint64_t>(options.period)), state_periods_(*options.state_periods) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      if (worker.step() % period_ == 0)
        worker.replica().set(mean_over_all(worker, worker.replica().parameters(), Traffic::model));
      for (std::size_t v = 0; v < state_periods_.size(); ++v)
        if (worker.step() % static_cast<std::uint64_t>(state_periods_[v]) == 0) average_state(worker, v);
    }
  }

 private:
  static void average_state(Worker& worker, std::size_t vector) {
    ReplicaState state = worker.replica().state();
    const bool learns = vector < state.state.size();
    const Tensor mean = mean_over_all(worker, learns ? state.state[vector] : Tensor(), Traffic::model,
                                      {.exact = SIZE_MAX});  // a codec may give second moments below 0
    if (!learns || !mean) return;
    // What comes along with a worker's vector, such as how many steps are in it, stays its own.
    state.state[vector] = worker.executor().submit_shared("des_loc_state", {}, {mean, state.state[vector]},
                                                          [](TensorData& out, auto in) {
                                                            out.values = in[0]->values;
                                                            out.scalars = in[1]->scalars;
                                                          });
    worker.replica().restore(std::move(state));
  }

  std::uint64_t period_;
  std::vector<int> state_periods_;
};

MadeAlgorithm make_des_loc(const DesLocOptions& options, const AlgorithmContext& context) {
  DesLocOptions complete = options;
  if (!complete.state_periods) complete.state_periods.emplace();
  if (context.optimizer != nullptr) {
    const std::size_t vectors = context.optimizer->rule->state_names().size();
    if (complete.state_periods->size() != vectors)
      reject("state_periods",
             fmt::format("has a length of {}, but the number of vectors that the optimizer keeps is {}",
                         complete.state_periods->size(), vectors),
             "Give one period for each vector of the optimizer");
  }
  return std::make_unique<DesLoc>(complete);
}

}  // namespace

std::vector<AlgorithmPlugin> des_loc() {
  return {{{.name = "des_loc",
            .summary = "parameters and the optimizer's vectors are averaged at periods of their own",
            .citation = "Iacob et al., 2025, arXiv:2505.22549"},
           "an all-reduce of the model every K_x steps, and of each vector of the optimizer every K_v",
           {.sends = {Traffic::model}, .interval = "period"},
           make_des_loc}};
}

}  // namespace simsgd::algorithms
