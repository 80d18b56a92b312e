// Small convolutional network: for each entry of `channels` a convolution, an activation and max pooling;
// then one linear layer to the classes. With its defaults on 28 x 28 images: 9,098 parameters. LeCun, Bottou,
// Bengio, Haffner, Proc. IEEE 86(11), 1998. Checked by hand in tests/learn/models.cpp.
#include <fmt/format.h>

#include "sim/learn/layers/activation.hpp"
#include "sim/learn/layers/convolution.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/layers/pooling.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

struct CnnOptions {
  std::vector<std::int64_t> channels = {8, 16};
  std::int64_t kernel = 3, stride = 1, pool = 2;
  std::optional<std::int64_t> padding;
  ActivationKind activation = ActivationKind::relu;

  void fields(Fields& f) {
    f.list("channels", channels, "The convolutions have this many output channels, in order", "Channels")
        .least_items(1)
        .items_at_least(1)
        .items_at_most(4096);
    f.whole("kernel", kernel, "The square kernels are this wide").at_least(1).at_most(1024);
    f.whole("stride", stride, "A kernel moves by this much").at_least(1).at_most(1024);
    f.whole("padding", padding, "Zeros added at every edge").at_most(1024).by_rule("(kernel - 1) / 2");
    f.whole("pool", pool, "Max-pooling takes blocks of this side after each convolution; 1: none")
        .at_least(1)
        .at_most(1024);
    add_activation(f, activation, "Function that is applied to the outputs of every convolution");
  }
  void complete(const DataSet&) { padding = padding.value_or((kernel - 1) / 2); }
};

void check_fits(const ConvolutionShape& shape, std::int64_t pool) {
  if (shape.kernel > std::min(shape.height, shape.width) + 2 * shape.padding)
    reject("kernel",
           fmt::format("{0} x {0} does not fit the {1} x {2} image that reaches {3}", shape.kernel,
                       shape.height, shape.width, shape.name),
           "Use a smaller kernel, more padding, fewer layers or less pooling");
  if (pool > std::min(shape.out_height(), shape.out_width()))
    reject("pool",
           fmt::format("{0} x {0} does not fit the {1} x {2} image that leaves {3}", pool, shape.out_height(),
                       shape.out_width(), shape.name),
           "Use a smaller pool, a smaller stride or fewer layers");
}

template <class T>
std::unique_ptr<Model<T>> make_cnn(const CnnOptions& options, const DataSet& data) {
  reject_other_than_images("cnn", data);
  typename FeedForward<T>::Layers layers;
  std::int64_t channels = data.channels, height = data.height, width = data.width;
  for (std::size_t l = 0; l < options.channels.size(); ++l) {
    const ConvolutionShape shape{.name = fmt::format("conv{}", l + 1),
                                 .channels = channels,
                                 .height = height,
                                 .width = width,
                                 .filters = options.channels[l],
                                 .kernel = options.kernel,
                                 .stride = options.stride,
                                 .padding = *options.padding};
    check_fits(shape, options.pool);
    layers.push_back(std::make_unique<Convolution<T>>(shape));
    layers.push_back(std::make_unique<Activation<T>>(options.activation, layers.back()->outputs()));
    channels = shape.filters, height = shape.out_height(), width = shape.out_width();
    if (options.pool > 1) {
      const PoolShape pool{.channels = channels, .height = height, .width = width, .window = options.pool};
      layers.push_back(std::make_unique<MaxPool<T>>(pool));
      height = pool.out_height(), width = pool.out_width();
    }
  }
  layers.push_back(std::make_unique<Linear<T>>(
      LinearShape{.name = "linear", .inputs = channels * height * width, .outputs = data.classes}));
  return std::make_unique<FeedForward<T>>(std::move(layers), LossKind::cross_entropy);
}

}  // namespace

template <class T>
std::vector<ModelPluginOf<T>> cnn() {
  return {
      {{.name = "cnn",
        .summary =
            "Small convolutional network for images: convolution, activation, pooling, then a linear layer",
        .citation = "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998, doi:10.1109/5.726791"},
       make_cnn<T>}};
}
template std::vector<ModelPluginOf<Scalar>> cnn();

}  // namespace simsgd::models
