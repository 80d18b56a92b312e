// Gaussian mixture: a generated classification. Class c has a mean m_c of length `separation` in a direction
// drawn at random; a sample draws its class c uniformly and is m_c + z with z standard normal. A larger
// separation is easier. Bishop, "Pattern Recognition and Machine Learning", 2006, section 2.3.9.
#include "sim/base/random.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/model.hpp"

namespace simsgd::data_sources {

namespace {

struct MixtureOptions {
  std::int64_t classes = 10, features = 20, samples = 10000, test_samples = 1000;
  double separation = 3;

  void fields(Fields& f) {
    constexpr double kMost = 10000000;
    f.whole("classes", classes, "Samples belong to this many classes").at_least(2).at_most(kMost);
    f.whole("features", features, "A sample has this many numbers").at_least(1).at_most(kMost);
    f.whole("samples", samples, "There are this many training samples").at_least(1).at_most(kMost);
    f.whole("test_samples", test_samples, "Test samples; 0 for no test set").at_most(kMost);
    f.number("separation", separation,
             "A class mean is this far from the origin, in standard deviations of a class")
        .at_least(0);
  }
};

struct Mixture {
  MixtureOptions options;
  std::uint64_t seed = 0;
};

Stream stream(const Mixture& mixture, std::uint32_t entity) {
  return Stream({mixture.seed, Purpose::data_set, entity, 0});
}

Matrix<double> class_means(const Mixture& mixture) {
  Stream draws = stream(mixture, 0);
  Matrix<double> means(mixture.options.features, mixture.options.classes);
  for (double& entry : means.reshaped()) entry = draws.normal();
  means.colwise().normalize();
  return means * mixture.options.separation;
}

std::shared_ptr<const DataSet> draw(const Mixture& mixture, std::int64_t count, std::uint32_t entity) {
  Stream draws = stream(mixture, entity);
  const Matrix<double> means = class_means(mixture);
  auto data = std::make_shared<DataSet>();
  data->name = "gaussian_mixture";
  data->count = count;
  data->features = mixture.options.features;
  data->classes = static_cast<int>(mixture.options.classes);
  data->floats.reserve(static_cast<std::size_t>(count * mixture.options.features));
  for (std::int64_t s = 0; s < count; ++s) {
    const auto label =
        static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(mixture.options.classes)));
    data->labels.push_back(label);
    for (Eigen::Index i = 0; i < mixture.options.features; ++i)
      data->floats.push_back(static_cast<float>(means(i, label) + draws.normal()));
  }
  return data;
}

DataSets load_gaussian_mixture(const MixtureOptions& options, const DataContext& context) {
  const Mixture mixture{options, context.seed};
  DataSets sets;
  sets.train = draw(mixture, options.samples, 1);
  if (options.test_samples > 0) sets.test = draw(mixture, options.test_samples, 2);
  return sets;
}

}  // namespace

std::vector<DataPlugin> gaussian_mixture() {
  return {{{.name = "gaussian_mixture",
            .summary = "Generated classification: one Gaussian cloud per class",
            .citation = "Bishop, Pattern Recognition and Machine Learning, Springer 2006, section 2.3.9"},
           load_gaussian_mixture}};
}

}  // namespace simsgd::data_sources
