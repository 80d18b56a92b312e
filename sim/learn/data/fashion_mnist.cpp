// Fashion-MNIST: 60,000 training and 10,000 test images of clothes, 28 x 28 grey values, 10 classes.
// Xiao, Rasul, Vollgraf, 2017, arXiv:1708.07747. The four files of Debian's package dataset-fashion-mnist;
// MNIST has files of the same names, so `path` may lead to it as well.
#include "sim/learn/data/idx_file.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

constexpr const char* kDefaultPath = "/usr/share/datasets/fashion-mnist";

IdxPair pair(const Parameters& parameters, const PathResolver& resolve, const std::string& prefix,
             const std::string& samples_key) {
  const std::filesystem::path folder = resolve(parameters.text("path", kDefaultPath));
  const std::string remedy =
      "Install the Debian package dataset-fashion-mnist, or name the folder that holds its four files";
  IdxPair files;
  files.name = "fashion_mnist";
  files.images = {folder / (prefix + "-images-idx3-ubyte.gz"), "path", remedy};
  files.labels = {folder / (prefix + "-labels-idx1-ubyte.gz"), "path", remedy};
  if (parameters.has(samples_key)) files.samples = parameters.integer(samples_key);
  files.samples_key = samples_key;
  files.classes = 10;
  return files;
}

DataSets load_fashion_mnist(const Parameters& parameters, std::uint64_t /*seed*/,
                            const PathResolver& resolve) {
  DataSets sets;
  sets.train = std::make_shared<DataSet>(load_idx_pair(pair(parameters, resolve, "train", "train_samples")));
  sets.test = std::make_shared<DataSet>(load_idx_pair(pair(parameters, resolve, "t10k", "test_samples")));
  return sets;
}

}  // namespace

DataPlugin fashion_mnist() {
  PluginInfo info;
  info.name = "fashion_mnist";
  info.summary = "60,000 and 10,000 images of clothes, 28 x 28, 10 classes";
  info.citation = "Xiao, Rasul, Vollgraf, 2017, arXiv:1708.07747";
  info.properties["path"] = {
      {"type", "string"}, {"default", kDefaultPath}, {"description", "Folder with the four .gz files"}};
  info.properties["train_samples"] = {
      {"type", "integer"},
      {"minimum", 1},
      {"description", "Use the first so many training images; all if absent"}};
  info.properties["test_samples"] = {{"type", "integer"},
                                     {"minimum", 1},
                                     {"description", "Use the first so many test images; all if absent"}};
  return {info, load_fashion_mnist};
}

}  // namespace simsgd::data_sources
