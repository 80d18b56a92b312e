// Teacher and student: a generated regression. A sample is x standard normal and y = teacher(x) + noise z
// with z standard normal. The teacher is linear, y = W x, or has hidden layers of tanh; its weights are
// normal with variance 1 / fan-in. No student has a lower expected loss than the teacher's own, outputs *
// noise^2 / 2: `optimum`. Saad and Solla, Phys. Rev. E 52, 1995, doi:10.1103/PhysRevE.52.4225.
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

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

Teacher make_teacher(const Parameters& parameters, std::uint64_t seed) {
  Teacher teacher;
  teacher.noise = parameters.number("noise", 0.1);
  teacher.seed = seed;
  std::vector<std::int64_t> sizes = {parameters.integer("features", 20)};
  if (parameters.has("hidden"))
    for (const Json& size : parameters.json().at("hidden")) sizes.push_back(size.get<std::int64_t>());
  sizes.push_back(parameters.integer("outputs", 1));
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

DataSets load_teacher_student(const Parameters& parameters, std::uint64_t seed,
                              const PathResolver& /*resolve*/) {
  const Teacher teacher = make_teacher(parameters, seed);
  DataSets sets;
  sets.train = draw(teacher, parameters.integer("samples", 10000), 1);
  if (const std::int64_t count = parameters.integer("test_samples", 1000); count > 0)
    sets.test = draw(teacher, count, 2);
  return sets;
}

}  // namespace

DataPlugin teacher_student() {
  PluginInfo info;
  info.name = "teacher_student";
  info.summary = "Generated regression: the targets of a linear or tanh teacher, with noise";
  info.citation = "Saad and Solla, Phys. Rev. E 52, 1995, doi:10.1103/PhysRevE.52.4225";
  const auto count = [&info](const std::string& key, int least, int otherwise,
                             const std::string& description) {
    info.properties[key] = {{"type", "integer"},
                            {"minimum", least},
                            {"maximum", 10000000},
                            {"default", otherwise},
                            {"description", description}};
  };
  count("features", 1, 20, "Inputs of the teacher");
  count("outputs", 1, 1, "Outputs of the teacher");
  count("samples", 1, 10000, "Training samples");
  count("test_samples", 0, 1000, "Test samples; 0 for no test set");
  info.properties["hidden"] = {
      {"type", "array"},
      {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", 65536}}},
      {"default", Json::array()},
      {"description", "Sizes of the teacher's hidden layers; [] for a linear teacher"}};
  info.properties["noise"] = {{"type", "number"},
                              {"minimum", 0},
                              {"default", 0.1},
                              {"description", "Standard deviation of the noise on every target"}};
  return {info, load_teacher_student};
}

}  // namespace simsgd::data_sources
