// Residual network for small images: a 3 x 3 convolution, three stages of `blocks` blocks of two 3 x 3
// convolutions each, with `width`, twice and four times as many channels (the second and third stage begin
// with stride 2), the mean of every channel, and a linear layer: 6 blocks + 2 layers. Shortcuts have no
// weights (shortcut.hpp). He, Zhang, Ren, Sun, CVPR 2016, arXiv:1512.03385, section 4.2; convolutions start
// as theirs (He et al., ICCV 2015). Each is followed by group norm (Wu, He, ECCV 2018, arXiv:1803.08494)
// where theirs had batch norm: statistics of batches differ between workers whose data do, and running ones
// are no weights that methods could average (Hsieh et al., ICML 2020, arXiv:1910.00189). Two groups: Reddi et
// al., ICLR 2021, arXiv:2003.00295. On CIFAR-10: 75,290 parameters with 8 layers, 269,722 with 20. Checked in
// tests/learn/gradients.cpp and tests/learn/resnet_torch.py.
#include <fmt/format.h>

#include "sim/learn/layers/activation.hpp"
#include "sim/learn/layers/convolution.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/layers/norm.hpp"
#include "sim/learn/layers/pooling.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

constexpr int kStages = 3;

struct ResnetOptions {
  std::int64_t blocks = 1, width = 16, groups = 2;

  void fields(Fields& f) {
    f.whole("blocks", blocks, "A stage has this many blocks, n of 6 n + 2 layers").at_least(1).at_most(1024);
    f.whole("width", width, "Channels of the first stage; the second has twice as many, the third four times")
        .at_least(1)
        .at_most(4096);
    f.whole("groups", groups, "Channels are normalised together in this many groups, which divide the width")
        .at_least(1);
  }
};

template <class T>
class ResnetBuilder {
 public:
  ResnetBuilder(const ResnetOptions& options, const DataSet& data)
      : options_(options), channels_(data.channels), height_(data.height), width_(data.width) {}

  std::unique_ptr<Model<T>> build(int classes) {
    convolve("", options_.width, 1);
    rectify();
    for (int stage = 1; stage <= kStages; ++stage)
      for (std::int64_t b = 1; b <= options_.blocks; ++b)
        block(fmt::format("stage{}.block{}.", stage, b), options_.width << (stage - 1),
              stage > 1 && b == 1 ? 2 : 1);
    layers_.push_back(std::make_unique<MeanPool<T>>(channels_, height_ * width_));
    layers_.push_back(
        std::make_unique<Linear<T>>(LinearShape{.name = "linear", .inputs = channels_, .outputs = classes}));
    return std::make_unique<FeedForward<T>>(std::move(layers_), LossKind::cross_entropy, std::move(skips_));
  }

 private:
  /// `where`: before the names; `which`: after them.
  void convolve(const std::string& where, std::int64_t filters, std::int64_t stride, const char* which = "") {
    const ConvolutionShape shape{.name = where + "conv" + which,
                                 .channels = channels_,
                                 .height = height_,
                                 .width = width_,
                                 .filters = filters,
                                 .kernel = 3,
                                 .stride = stride,
                                 .padding = 1,
                                 .bias = false,
                                 .start = StartingWeights::he};
    channels_ = filters, height_ = shape.out_height(), width_ = shape.out_width();
    layers_.push_back(std::make_unique<Convolution<T>>(shape));
    layers_.push_back(std::make_unique<Norm<T>>(NormShape{.name = where + "norm" + which,
                                                          .channels = channels_,
                                                          .positions = height_ * width_,
                                                          .groups = options_.groups}));
  }

  void rectify() {
    layers_.push_back(std::make_unique<Activation<T>>(ActivationKind::relu, layers_.back()->outputs()));
  }

  void block(const std::string& where, std::int64_t filters, std::int64_t stride) {
    const std::size_t from = layers_.size() - 1;
    const Shortcut way{
        .channels = channels_, .height = height_, .width = width_, .out_channels = filters, .stride = stride};
    convolve(where, filters, stride, "1");
    rectify();
    convolve(where, filters, 1, "2");
    skips_.push_back({.from = from, .to = layers_.size() - 1, .way = way});
    rectify();
  }

  ResnetOptions options_;
  std::int64_t channels_, height_, width_;  // of what the next layer sees
  typename FeedForward<T>::Layers layers_;
  std::vector<typename FeedForward<T>::Skip> skips_;
};

template <class T>
std::unique_ptr<Model<T>> make_resnet(const ResnetOptions& options, const DataSet& data) {
  reject_other_than_images("resnet", data);
  if (options.width % options.groups != 0)
    reject("groups", fmt::format("do not divide the width of {}", options.width),
           "Use a divisor of the width");
  return ResnetBuilder<T>(options, data).build(data.classes);
}

}  // namespace

template <class T>
std::vector<ModelPluginOf<T>> resnet() {
  return {
      {{.name = "resnet",
        .summary = "Residual network for small images, ResNet-8 and deeper, with group norm",
        .citation = "He, Zhang, Ren, Sun, CVPR 2016, arXiv:1512.03385; Wu, He, ECCV 2018, arXiv:1803.08494"},
       make_resnet<T>}};
}
template std::vector<ModelPluginOf<Scalar>> resnet();

}  // namespace simsgd::models
