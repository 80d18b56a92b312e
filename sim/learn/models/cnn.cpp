// Small convolutional network: for each entry of `channels` a convolution, an activation and max pooling;
// then one linear layer to the classes. With its defaults on 28 x 28 images: 9,098 parameters. LeCun, Bottou,
// Bengio, Haffner, Proc. IEEE 86(11), 1998. Checked by hand in tests/learn/models.cpp.
#include <fmt/format.h>

#include "sim/learn/layers/activation.hpp"
#include "sim/learn/layers/convolution.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/layers/max_pool.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

struct Settings {
  std::vector<std::int64_t> channels = {8, 16};
  std::int64_t kernel = 3, stride = 1, padding = 1, pool = 2;
  ActivationKind activation = ActivationKind::relu;
};

Settings read(const Parameters& parameters) {
  Settings settings;
  if (parameters.has("channels"))
    settings.channels = parameters.json().at("channels").get<std::vector<std::int64_t>>();
  settings.kernel = parameters.integer("kernel", settings.kernel);
  settings.stride = parameters.integer("stride", settings.stride);
  settings.padding = parameters.integer("padding", (settings.kernel - 1) / 2);
  settings.pool = parameters.integer("pool", settings.pool);
  settings.activation = activation_from_name(parameters.text("activation", "relu"));
  return settings;
}

void check_fits(const ConvolutionShape& shape, std::int64_t pool) {
  if (shape.kernel > std::min(shape.height, shape.width) + 2 * shape.padding)
    Parameters::reject("kernel",
                       fmt::format("{0} x {0} does not fit the {1} x {2} image that reaches {3}",
                                   shape.kernel, shape.height, shape.width, shape.name),
                       "Use a smaller kernel, more padding, fewer layers or less pooling");
  if (pool > std::min(shape.out_height(), shape.out_width()))
    Parameters::reject("pool",
                       fmt::format("{0} x {0} does not fit the {1} x {2} image that leaves {3}", pool,
                                   shape.out_height(), shape.out_width(), shape.name),
                       "Use a smaller pool, a smaller stride or fewer layers");
}

template <class T>
std::unique_ptr<Model<T>> make_cnn(const Parameters& parameters, const DataSet& data) {
  if (data.height == 0 || data.classes == 0)
    Parameters::reject("name", "cnn classifies images, and the data set \"" + data.name + "\" has none",
                       "Use mlp, or a data set of images such as fashion_mnist");
  const Settings settings = read(parameters);
  typename FeedForward<T>::Layers layers;
  std::int64_t channels = data.channels, height = data.height, width = data.width;
  for (std::size_t l = 0; l < settings.channels.size(); ++l) {
    const ConvolutionShape shape{.name = fmt::format("conv{}", l + 1),
                                 .channels = channels,
                                 .height = height,
                                 .width = width,
                                 .filters = settings.channels[l],
                                 .kernel = settings.kernel,
                                 .stride = settings.stride,
                                 .padding = settings.padding};
    check_fits(shape, settings.pool);
    layers.push_back(std::make_unique<Convolution<T>>(shape));
    layers.push_back(std::make_unique<Activation<T>>(settings.activation, layers.back()->outputs()));
    channels = shape.filters, height = shape.out_height(), width = shape.out_width();
    if (settings.pool > 1) {
      const PoolShape pool{.channels = channels, .height = height, .width = width, .window = settings.pool};
      layers.push_back(std::make_unique<MaxPool<T>>(pool));
      height = pool.out_height(), width = pool.out_width();
    }
  }
  layers.push_back(std::make_unique<Linear<T>>(
      LinearShape{.name = "linear", .inputs = channels * height * width, .outputs = data.classes}));
  return std::make_unique<FeedForward<T>>(std::move(layers), LossKind::cross_entropy);
}

Json positive_integer(std::int64_t otherwise, const std::string& description) {
  return {{"type", "integer"},
          {"minimum", 1},
          {"maximum", 1024},
          {"default", otherwise},
          {"description", description}};
}

}  // namespace

ModelPlugin cnn() {
  PluginInfo info;
  info.name = "cnn";
  info.summary =
      "Small convolutional network for images: convolution, activation, pooling, then a linear layer";
  info.citation = "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998, doi:10.1109/5.726791";
  info.properties["channels"] = {{"type", "array"},
                                 {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", 4096}}},
                                 {"minItems", 1},
                                 {"default", {8, 16}},
                                 {"description", "Output channels of the convolutions, in order"}};
  info.properties["kernel"] = positive_integer(3, "Side of the square kernels");
  info.properties["stride"] = positive_integer(1, "Step between positions of a kernel");
  info.properties["padding"] = {{"type", "integer"},
                                {"minimum", 0},
                                {"maximum", 1024},
                                {"description", "Zeros added at every edge; (kernel - 1) / 2 if absent"}};
  info.properties["pool"] =
      positive_integer(2, "Side of the max-pooling blocks after each convolution; 1 for none");
  info.properties["activation"] = {{"enum", activation_names()},
                                   {"default", "relu"},
                                   {"description", "Function applied to the outputs of every convolution"}};
  return {info, make_cnn<float>, make_cnn<double>};
}

}  // namespace simsgd::models
