// Any pair of IDX files (images and labels), and another for the test set if there is one. See idx_file.hpp.
#include "sim/learn/data/idx_file.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

struct IdxOptions {
  std::string train_images, train_labels;
  std::optional<std::string> test_images, test_labels;
  std::optional<std::int64_t> train_samples, test_samples;
  std::optional<int> classes;

  void fields(Fields& f) {
    f.text("train_images", train_images, "IDX file of the training images, plain or .gz").required();
    f.text("train_labels", train_labels, "IDX file of the training labels, plain or .gz").required();
    f.text("test_images", test_images, "IDX file of the test images").by_rule("no test set");
    f.text("test_labels", test_labels, "IDX file of the test labels").by_rule("no test set");
    f.whole("train_samples", train_samples, "The first of the images, this many, are used")
        .at_least(1)
        .by_rule("all");
    f.whole("test_samples", test_samples, "The first of the images, this many, are used")
        .at_least(1)
        .by_rule("all");
    f.whole("classes", classes, "Number of classes")
        .at_least(1)
        .at_most(256)
        .by_rule("the largest training label plus one");
  }
};

/// `which`: "train" or "test".
IdxPair idx_files(const DataContext& context, const std::string& which,
                  const std::optional<std::string>& images, const std::optional<std::string>& labels) {
  const auto source = [&](const std::string& key, const std::optional<std::string>& file) -> FileSource {
    if (!file) reject(key, "is missing", "Give a value for it");
    return {context.resolve(*file), key, "Name an IDX file of unsigned bytes, plain or compressed with gzip"};
  };
  IdxPair files;
  files.name = "idx";
  files.images = source(which + "_images", images);
  files.labels = source(which + "_labels", labels);
  files.samples_key = which + "_samples";
  return files;
}

DataSets load_idx(const IdxOptions& options, const DataContext& context) {
  IdxPair train_files = idx_files(context, "train", options.train_images, options.train_labels);
  train_files.samples = options.train_samples;
  train_files.classes = options.classes.value_or(0);
  DataSet train = load_idx_pair(train_files);
  DataSets sets;
  if (options.test_images || options.test_labels) {
    IdxPair files = idx_files(context, "test", options.test_images, options.test_labels);
    files.samples = options.test_samples;
    files.classes = train.classes;
    DataSet test = load_idx_pair(files);
    if (test.features != train.features)
      reject("test_images",
             "holds images of " + std::to_string(test.features) + " pixels, where training images have " +
                 std::to_string(train.features),
             "Name files of one data set");
    sets.test = std::make_shared<DataSet>(std::move(test));
  }
  if (sets.test == nullptr && options.test_samples)
    reject("test_samples", "asks for samples of a test set, and there is none",
           "Give test_images and test_labels as well");
  sets.train = std::make_shared<DataSet>(std::move(train));
  return sets;
}

}  // namespace

std::vector<DataPlugin> idx() {
  return {
      {{.name = "idx", .summary = "Images and labels from IDX files, the format of MNIST", .citation = ""},
       load_idx}};
}

}  // namespace simsgd::data_sources
