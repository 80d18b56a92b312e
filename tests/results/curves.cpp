#include "results/curves.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/recording/learning_curve.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::results_curves {

TEST_CASE("a series has a member for each column, and null where it has no value") {
  RunRecord record;
  record.series = {{1, 0.5, 2.25}, {2, 1, std::nan("")}};
  record.evaluations = {{2, 1, 1.5, std::nan(""), 0, {2, 2}}};
  CHECK(series_of(record).dump() ==
        R"({"train":[{"step":1,"time_s":0.5,"train_loss":2.25},{"step":2,"time_s":1.0,"train_loss":null}],)"
        R"("test":[{"step":2,"time_s":1.0,"test_loss":1.5,"test_accuracy":null,"consensus_distance":0.0,)"
        R"("worker_steps":[2,2]}]})");
}

TEST_CASE("a curve in a file has a header, empty cells for what has no value, and no list") {
  RunRecord record;
  record.series = {{1, 0.5, 2.25}, {2, 1, std::nan("")}};
  record.evaluations = {{2, 1, 1.5, std::nan(""), 0, {2, 2}}};
  const OrderedJson series = series_of(record);
  REQUIRE(curves().size() == 2);
  CHECK(curves()[0].file == "loss.csv");
  CHECK(curve_csv(curves()[0], series["train"]) == "step,time_s,train_loss\n1,0.5,2.25\n2,1.0,\n");
  CHECK(curves()[1].file == "accuracy.csv");
  CHECK(curve_csv(curves()[1], series["test"]) ==
        "step,time_s,test_loss,test_accuracy,consensus_distance\n2,1.0,1.5,,0.0\n");
}

TEST_CASE("every column has a unit and a definition, and only what can be empty says when") {
  for (const Curve& curve : curves()) {
    for (const CurveColumn& column : curve.columns) {
      CAPTURE(column.name);
      CHECK(!column.unit.empty());
      CHECK(!column.definition.empty());
      const bool is_loss = column.name.ends_with("loss") || column.name.ends_with("accuracy");
      CHECK(column.when_empty.empty() != is_loss);
    }
  }
}

TEST_CASE("models of equal values are evaluated as the one tensor that they might be") {
  // 0.1 + 0.1 + 0.1 in fp32, times a third, is not 0.1: the mean of equal models is not exact.
  Job job = scripted_job(star(3, 0, 1e9), [](Worker&) {});
  add_learner(job, 4, 64);
  TensorData model;
  model.values.assign(job.learner->parameters(), 0.1F);
  const auto evaluation = [&](bool one_tensor) {
    Executor executor(1);
    LearningCurve curve(job, executor);
    const Tensor shared = executor.constant(model);
    std::vector<ModelAtInstant> workers;
    for (int rank = 0; rank < 3; ++rank)
      workers.push_back({1, one_tensor ? shared : executor.constant(model)});
    curve.evaluate(1.0, workers);
    RunRecord record;
    curve.finish(1.0, LearningCurve::End::instant, record);
    return record.evaluations.at(0);
  };
  CHECK(evaluation(true).consensus_distance == 0);
  CHECK(evaluation(false).consensus_distance == 0);
  CHECK(evaluation(false).test_loss == evaluation(true).test_loss);
}

}  // namespace simsgd::test::results_curves
