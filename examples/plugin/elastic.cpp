// Elastic averaging: every worker trains by itself, and every `period` steps moves a share of the way to the
// mean.
//   x_i <- x_i - eta U(g_i(x_i));  every `period` steps: x_i <- (1 - share) x_i + share 1/P sum_j x_j
// After Zhang, Choromanska, LeCun, "Deep learning with elastic averaging SGD", NIPS 2015, arXiv:1412.6651,
// with the mean of now in place of a centre that follows it. Bytes per worker and averaging: one all-reduce
// of the model. A share of 1 is local SGD. docs/algorithms.md says what a worker has, and where kernels and
// memory are declared.
#include "algorithms/plugin_library.hpp"

namespace {

using namespace simsgd;

struct ElasticOptions {
  std::uint64_t period = 4;
  double share = 0.5;

  void fields(Fields& f) {
    f.whole("period", period, "Steps between two averagings of the models").at_least(1);
    f.number("share", share, "How much of the way to the mean a model goes").above(0).at_most(1);
  }
};

class ElasticAveraging final : public Algorithm {
 public:
  explicit ElasticAveraging(const ElasticOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    Replica& replica = worker.replica();
    while (worker.next_step()) {
      replica.apply(worker.compute().gradient());
      if (worker.step() % options_.period != 0) continue;
      const Tensor mean = mean_over_all(worker, replica.parameters(), Traffic::model);
      if (options_.share == 1)
        replica.set(mean);
      else
        replica.set(linear_combination(worker.executor(), {1 - options_.share, options_.share},
                                       {replica.parameters(), mean}));
    }
  }

 private:
  ElasticOptions options_;
};

std::vector<AlgorithmPlugin> methods() {
  return {{{.name = "elastic_averaging",
            .summary = "workers train alone and move towards their mean every `period` steps",
            .citation = "Zhang et al., NIPS 2015, arXiv:1412.6651"},
           "one all-reduce of the model every `period` steps",
           {.sends = {Traffic::model}},
           +[](const ElasticOptions& options, const AlgorithmContext&) -> MadeAlgorithm {
             return std::make_unique<ElasticAveraging>(options);
           }}};
}

}  // namespace

SIMSGD_PLUGIN(methods)
