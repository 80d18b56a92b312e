// Teacher and student: a generated regression. A sample is x standard normal and y = teacher(x) + noise z
// with z standard normal. The teacher is linear, y = W x, or has hidden layers of tanh; its weights are
// normal with variance 1 / fan-in. No student has a lower expected loss than the teacher's own, outputs *
// noise^2 / 2: `optimum`. Saad and Solla, Phys. Rev. E 52, 1995, doi:10.1103/PhysRevE.52.4225.
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/model.hpp"

namespace simsgd::data_sources {

namespace {

struct TeacherOptions {
  std::int64_t features = 20, outputs = 1, samples = 10000, test_samples = 1000;
  std::vector<std::int64_t> hidden;
  double noise = 0.1;

  void fields(Fields& f) {
    constexpr double kMost = 10000000;
    f.whole("features", features, "The teacher has this many inputs").at_least(1).at_most(kMost);
    f.whole("outputs", outputs, "The teacher has this many outputs").at_least(1).at_most(kMost);
    f.whole("samples", samples, "There are this many training samples").at_least(1).at_most(kMost);
    f.whole("test_samples", test_samples, "Test samples; 0 for no test set").at_most(kMost);
    f.list("hidden", hidden, "The teacher's hidden layers have these sizes; [] makes a linear teacher",
           "Size of a layer")
        .items_at_least(1)
        .items_at_most(65536);
    f.number("noise", noise, "Every target has noise of this standard deviation").at_least(0);
  }
};

struct Teacher {
  std::vector<Matrix<double>> weights;  // of its layers, in order
  double noise = 0;
  std::uint64_t seed = 0;

  Eigen::VectorXd operator()(Eigen::VectorXd x) const {
    for (std::size_t l = 0; l < weights.size(); ++l) {
      if (l > 0) x = x.array().tanh().matrix();
      x = weights[l] * x;
    }
    return x;
  }
};

Teacher make_teacher(const TeacherOptions& options, std::uint64_t seed) {
  Teacher teacher;
  teacher.noise = options.noise;
  teacher.seed = seed;
  std::vector<std::int64_t> sizes = {options.features};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  sizes.push_back(options.outputs);
  Stream draws({seed, Purpose::data_set, 0, 0});
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    Matrix<double> weights(sizes[l + 1], sizes[l]);
    for (double& entry : weights.reshaped())
      entry = draws.normal() / std::sqrt(static_cast<double>(sizes[l]));
    teacher.weights.push_back(std::move(weights));
  }
  return teacher;
}

std::shared_ptr<const DataSet> draw(const Teacher& teacher, std::int64_t count, std::uint32_t entity) {
  Stream draws({teacher.seed, Purpose::data_set, entity, 0});
  auto data = std::make_shared<DataSet>();
  data->name = "teacher_student";
  data->count = count;
  data->features = teacher.weights.front().cols();
  data->target_size = teacher.weights.back().rows();
  data->optimum = 0.5 * static_cast<double>(data->target_size) * teacher.noise * teacher.noise;
  Eigen::VectorXd x(data->features);
  for (std::int64_t s = 0; s < count; ++s) {
    for (double& entry : x) entry = draws.normal();
    for (const double entry : x) data->floats.push_back(static_cast<float>(entry));
    for (const double entry : teacher(x))
      data->targets.push_back(static_cast<float>(entry + teacher.noise * draws.normal()));
  }
  return data;
}

DataSets load_teacher_student(const TeacherOptions& options, const DataContext& context) {
  const Teacher teacher = make_teacher(options, context.seed);
  DataSets sets;
  sets.train = draw(teacher, options.samples, 1);
  if (options.test_samples > 0) sets.test = draw(teacher, options.test_samples, 2);
  return sets;
}

}  // namespace

std::vector<DataPlugin> teacher_student() {
  return {{{.name = "teacher_student",
            .summary = "Generated regression: the targets of a linear or tanh teacher, with noise",
            .citation = "Saad and Solla, Phys. Rev. E 52, 1995, doi:10.1103/PhysRevE.52.4225"},
           load_teacher_student}};
}

}  // namespace simsgd::data_sources
