// Fashion-MNIST: 60,000 training and 10,000 test images of clothes, 28 x 28 grey values, 10 classes.
// Xiao, Rasul, Vollgraf, 2017, arXiv:1708.07747. The four files of Debian's package dataset-fashion-mnist;
// MNIST has files of the same names, so `path` may lead to it as well.
#include "sim/learn/data/idx.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

struct FashionOptions {
  std::string path = "/usr/share/datasets/fashion-mnist";
  std::optional<std::int64_t> train_samples, test_samples;

  void fields(Fields& f) {
    f.text("path", path, "The four .gz files are in this folder");
    f.whole("train_samples", train_samples, "This many training images are used, the first ones")
        .at_least(1)
        .by_rule("all");
    f.whole("test_samples", test_samples, "This many test images are used, the first ones")
        .at_least(1)
        .by_rule("all");
  }
};

IdxPair fashion_files(const FashionOptions& options, const DataContext& context, const std::string& prefix) {
  const std::filesystem::path folder = context.resolve(options.path);
  const std::string remedy =
      "Install the Debian package dataset-fashion-mnist, or name the folder that holds its four files";
  IdxPair files;
  files.name = "fashion_mnist";
  files.images = {folder / (prefix + "-images-idx3-ubyte.gz"), "path", remedy};
  files.labels = {folder / (prefix + "-labels-idx1-ubyte.gz"), "path", remedy};
  const bool train = prefix == "train";
  files.samples = train ? options.train_samples : options.test_samples;
  files.samples_key = train ? "train_samples" : "test_samples";
  files.classes = 10;
  return files;
}

DataSets load_fashion_mnist(const FashionOptions& options, const DataContext& context) {
  DataSets sets;
  sets.train = std::make_shared<DataSet>(load_idx_pair(fashion_files(options, context, "train")));
  sets.test = std::make_shared<DataSet>(load_idx_pair(fashion_files(options, context, "t10k")));
  return sets;
}

}  // namespace

std::vector<DataPlugin> fashion_mnist() {
  return {{{.name = "fashion_mnist",
            .summary = "60,000 and 10,000 images of clothes, 28 x 28, 10 classes",
            .citation = "Xiao, Rasul, Vollgraf, 2017, arXiv:1708.07747"},
           load_fashion_mnist}};
}

}  // namespace simsgd::data_sources
