// Gaussian mixture: a generated classification. Class c has a mean m_c of length `separation` in a direction
// drawn at random; a sample draws its class c uniformly and is m_c + z with z standard normal. A larger
// separation is easier. Bishop, "Pattern Recognition and Machine Learning", 2006, section 2.3.9.
#include "sim/base/random.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

struct Settings {
  std::int64_t classes = 0, features = 0;
  double separation = 0;
  std::uint64_t seed = 0;
};

Stream stream(const Settings& settings, std::uint32_t entity) {
  return Stream({settings.seed, Purpose::data_set, entity, 0});
}

Matrix<double> class_means(const Settings& settings) {
  Stream draws = stream(settings, 0);
  Matrix<double> means(settings.features, settings.classes);
  for (double& entry : means.reshaped()) entry = draws.normal();
  means.colwise().normalize();
  return means * settings.separation;
}

std::shared_ptr<const DataSet> draw(const Settings& settings, std::int64_t count, std::uint32_t entity) {
  Stream draws = stream(settings, entity);
  const Matrix<double> means = class_means(settings);
  auto data = std::make_shared<DataSet>();
  data->name = "gaussian_mixture";
  data->count = count;
  data->features = settings.features;
  data->classes = static_cast<int>(settings.classes);
  data->floats.reserve(static_cast<std::size_t>(count * settings.features));
  for (std::int64_t s = 0; s < count; ++s) {
    const auto label = static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(settings.classes)));
    data->labels.push_back(label);
    for (Eigen::Index i = 0; i < settings.features; ++i)
      data->floats.push_back(static_cast<float>(means(i, label) + draws.normal()));
  }
  return data;
}

DataSets load_gaussian_mixture(const Parameters& parameters, std::uint64_t seed,
                               const PathResolver& /*resolve*/) {
  const Settings settings{.classes = parameters.integer("classes", 10),
                          .features = parameters.integer("features", 20),
                          .separation = parameters.number("separation", 3.0),
                          .seed = seed};
  DataSets sets;
  sets.train = draw(settings, parameters.integer("samples", 10000), 1);
  if (const std::int64_t count = parameters.integer("test_samples", 1000); count > 0)
    sets.test = draw(settings, count, 2);
  return sets;
}

}  // namespace

DataPlugin gaussian_mixture() {
  PluginInfo info;
  info.name = "gaussian_mixture";
  info.summary = "Generated classification: one Gaussian cloud per class";
  info.citation = "Bishop, Pattern Recognition and Machine Learning, Springer 2006, section 2.3.9";
  const auto count = [&info](const std::string& key, int least, int otherwise,
                             const std::string& description) {
    info.properties[key] = {{"type", "integer"},
                            {"minimum", least},
                            {"maximum", 10000000},
                            {"default", otherwise},
                            {"description", description}};
  };
  count("classes", 2, 10, "Number of classes");
  count("features", 1, 20, "Dimension of a sample");
  count("samples", 1, 10000, "Training samples");
  count("test_samples", 0, 1000, "Test samples; 0 for no test set");
  info.properties["separation"] = {
      {"type", "number"},
      {"minimum", 0},
      {"default", 3.0},
      {"description", "Distance of a class mean from the origin, in standard deviations of a class"}};
  return {info, load_gaussian_mixture};
}

}  // namespace simsgd::data_sources
