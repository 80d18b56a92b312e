// Hooks around the layers' passes of a gradient: when they are called, and what they may do.
#include <doctest/doctest.h>

#include "sim/learn/gradient.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"
#include "tests/roles/behaviours.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test {

namespace hook_facts {

/// Two layers of two tensors, two micro-batches; a layer takes 3 x 0.1 ms in each.
Job layered_job() {
  Job job = plain_job();
  Layer layer;
  layer.tensors = {300, 200};
  layer.forward_s = 1e-4;
  layer.backward_s = 2e-4;
  job.workload.layers = {layer, layer};
  job.workload.micro_batches = 2;
  return job;
}

/// Notes a pass as kind, micro-batch, layer: 211 is after the forward pass (2) of micro-batch 1's layer 1.
LayerHook noting(Notes& notes, int kind) {
  return [&notes, kind](const LayerPass& pass) {
    notes.push_back(100 * kind + 10 * pass.micro_batch + pass.layer);
    if (pass.last != (pass.micro_batch == 1)) notes.push_back(-1);
  };
}

GradientOptions all_noted(Notes& notes) {
  GradientOptions options;
  options.before_forward = noting(notes, 1);
  options.after_forward = noting(notes, 2);
  options.before_backward = noting(notes, 3);
  options.after_backward = noting(notes, 4);
  options.gradient_ready = [&notes](const TensorInfo& tensor, const Tensor&) {
    notes.push_back(1000 * (tensor.layer + 1) + tensor.parameters());
  };
  return options;
}

void order(const Runner& run) {
  const auto notes = noted(run, layered_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    worker.compute().gradient(all_noted(mine));
    worker.next_step();
  });
  const Notes expected = {100, 200,  101,  201,  // forward
                          301, 401,  300,  400,  // backward
                          110, 210,  111,  211,  // the last micro-batch
                          311, 2200, 2300, 411, 310, 1200, 1300, 410};
  for (const Notes& each : notes) CHECK(each == expected);
}

void some_tensors(const Runner& run) {
  const auto notes = noted(run, layered_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    GradientOptions options;
    options.gradient_ready = all_noted(mine).gradient_ready;
    const std::vector<std::size_t> asked = {1, 2};
    options.ready_at = asked;
    worker.compute().gradient(options);
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{2300, 1200});
}

// Each layer's parameters are gathered before its forward pass, and the next layer's asked for one layer
// ahead.
void prefetched(const Runner& run) {
  const auto notes = noted(run, layered_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    const auto gather = [&](double number) {
      AllGather all;
      all.bytes = 1200;
      all.contribution = vector(worker, {static_cast<float>(10 * number + worker.rank())});
      return worker.collectives().start(all);
    };
    Handle<std::vector<Tensor>> next = gather(0);
    GradientOptions options;
    options.before_forward = [&](const LayerPass& pass) {
      const Handle<std::vector<Tensor>> current = next;
      next = gather(10 * pass.micro_batch + pass.layer + 1);
      worker.wait(current);
      for (const Tensor& each : current.result()) note(worker, mine, each);
    };
    worker.compute().gradient(options);
    worker.wait(next);
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{0, 1, 2, 10, 11, 12, 20, 21, 22, 110, 111, 112});
}

void waiting_backward(const Runner& run) {
  const auto notes = noted(run, layered_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    std::vector<Handle<Tensor>> reductions;
    GradientOptions options;
    options.gradient_ready = [&](const TensorInfo& tensor, const Tensor&) {
      AllReduce sum;
      sum.bytes = 4 * tensor.parameters();
      sum.contribution = vector(worker, {static_cast<float>(tensor.parameters())});
      reductions.push_back(worker.collectives().start(sum));
    };
    options.after_backward = [&](const LayerPass& pass) {
      if (!pass.last) return;
      worker.wait(reductions.back());
      note(worker, mine, reductions.back().result());
    };
    worker.compute().gradient(options);
    mine.push_back(static_cast<double>(reductions.size()));
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{900, 900, 4});
}

void late_parameters(const Runner& run) {
  Job job = learning_job();
  job.workload.micro_batches = 2;
  const auto notes = noted(run, std::move(job), [](Worker& worker, Notes& mine) {
    worker.next_step();
    const Tensor start = worker.replica().parameters();
    const Tensor other = linear_combination(worker.executor(), {0.5}, {start});
    const Tensor stays = worker.compute().gradient();
    GradientOptions options = all_noted(mine);
    options.gradient_ready = {};
    options.parameters = [&] {
      mine.push_back(900);
      return other;
    };
    const TensorData late = worker.executor().get(worker.compute().gradient(options));
    worker.replica().set(other);
    const TensorData direct = worker.executor().get(worker.compute().gradient());
    mine.push_back(late.values == direct.values ? 1 : 0);
    mine.push_back(late.values == worker.executor().get(stays).values ? 1 : 0);
    mine.push_back(late.scalars == direct.scalars ? 1 : 0);
    worker.next_step();
  });
  for (const Notes& each : notes) CHECK(each == Notes{100, 200, 900, 300, 400, 110, 210, 310, 410, 1, 0, 1});
}

/// The number of inputs that the first layer saw: samples.
class InputCount final : public LayerStatistics {
 public:
  void compute(const Learner&, const LayerTap<float>& tap, std::vector<float>& out) const override {
    out.push_back(static_cast<float>(tap.layers.front().input.cols()));
  }
};

void statistics(const Runner& run) {
  for (const bool learns : {true, false}) {
    CAPTURE(learns);
    const auto notes = noted(run, learns ? learning_job() : plain_job(), [](Worker& worker, Notes& mine) {
      worker.next_step();
      GradientOptions options;
      options.statistics = std::make_shared<InputCount>();  // shared with the numeric plane
      options.take_statistics = [&](const Tensor& taken) {
        mine.push_back(taken ? 1 : 0);
        note(worker, mine, taken);
      };
      options.before_forward = [&](const LayerPass&) { mine.push_back(100); };
      const Tensor gradient = worker.compute().gradient(options);
      mine.push_back(gradient ? static_cast<double>(worker.executor().get(gradient).values.size()) : 0);
      worker.next_step();
    });
    for (const Notes& each : notes) CHECK(each == (learns ? Notes{1, 4, 100, 36} : Notes{0, 100, 0}));
  }
}

void disagreeing(const Runner& run) {
  const Outcome outcome = run({layered_job(),
                               [](Worker& worker, Notes&) {
                                 worker.next_step();
                                 GradientOptions options;
                                 options.before_forward = [&](const LayerPass& pass) {
                                   // Ranks 0 and 1 each wait first for what the other sends second.
                                   if (worker.rank() == 2 || pass.micro_batch > 0) return;
                                   const int other = 1 - worker.rank();
                                   const int tag = worker.rank() == pass.layer ? 1 : 2;
                                   worker.messages().receive(other, tag);
                                   worker.messages().send(other, tag, {});
                                 };
                                 worker.compute().gradient(options);
                                 worker.collectives().run(Barrier());
                               },
                               true});
  CAPTURE(outcome.error);
  CHECK(outcome.error.find("algorithm's ranks do not agree on what they exchange") != std::string::npos);
}

void learning(const Runner& run) {
  const auto notes = noted(run, learning_job(), [](Worker& worker, Notes& mine) {
    worker.next_step();
    const Tensor before = worker.replica().parameters();
    const Tensor gradient = worker.compute().gradient();
    const Tensor mean = mean_over_all(worker, gradient, Traffic::gradient);
    worker.replica().apply(mean);
    // The first step of SGD with momentum: w - rate g.
    const Tensor expected =
        linear_combination(worker.executor(), {1, -worker.replica().learning_rate()}, {before, mean});
    const std::vector<float>& left = worker.executor().get(worker.replica().parameters()).values;
    const std::vector<float>& right = worker.executor().get(expected).values;
    const double worst = worst_difference(left, right);
    mine = {static_cast<double>(worker.replica().size()), worst < 1e-6 ? 0 : worst};
    note(worker, mine, worker.replica().parameters());
    worker.next_step();
  });
  CHECK(notes[0].size() == 2 + 36);
  for (const Notes& each : notes) {
    REQUIRE(each.size() > 1);
    CHECK(each[0] == 36);
    CHECK(each[1] == 0);
    CHECK(each == notes[0]);  // all replicas are equal
  }
}

}  // namespace hook_facts

const std::vector<Behaviour>& hook_behaviours() {
  using namespace hook_facts;
  static const std::vector<Behaviour> kAll = {
      {"hooks are called around each layer's passes in every micro-batch; gradients are ready in the last",
       order},
      {"gradient_ready is called for the tensors that are asked for", some_tensors},
      {"a hook may wait: an all_gather is prefetched before each layer's forward pass", prefetched},
      {"operations that begin when a gradient is ready may be waited for after the layer", waiting_backward},
      {"parameters are asked for when the first forward pass is through, and the gradient is taken there",
       late_parameters},
      {"statistics come before any other call, and are empty without a learner", statistics},
      {"a hook that waits in the wrong order among ranks ends with a sentence", disagreeing},
      {"equal replicas stay equal under a mean gradient", learning}};
  return kAll;
}

}  // namespace simsgd::test
