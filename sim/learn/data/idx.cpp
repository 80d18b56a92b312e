// Any pair of IDX files (images and labels), and another for the test set if there is one. See idx_file.hpp.
#include "sim/learn/data/idx_file.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

IdxPair pair(const Parameters& parameters, const PathResolver& resolve, const std::string& which) {
  const auto source = [&](const std::string& key) -> FileSource {
    return {resolve(parameters.text(key)), key,
            "Name an IDX file of unsigned bytes, plain or compressed with gzip"};
  };
  IdxPair files;
  files.name = "idx";
  files.images = source(which + "_images");
  files.labels = source(which + "_labels");
  files.samples_key = which + "_samples";
  if (parameters.has(files.samples_key)) files.samples = parameters.integer(files.samples_key);
  files.classes = static_cast<int>(parameters.integer("classes", 0));
  return files;
}

DataSets load_idx(const Parameters& parameters, std::uint64_t /*seed*/, const PathResolver& resolve) {
  DataSet train = load_idx_pair(pair(parameters, resolve, "train"));
  DataSets sets;
  if (parameters.has("test_images") || parameters.has("test_labels")) {
    IdxPair files = pair(parameters, resolve, "test");
    files.classes = train.classes;
    DataSet test = load_idx_pair(files);
    if (test.features != train.features)
      Parameters::reject("test_images",
                         "holds images of " + std::to_string(test.features) +
                             " pixels, where training images have " + std::to_string(train.features),
                         "Name files of one data set");
    sets.test = std::make_shared<DataSet>(std::move(test));
  }
  if (sets.test == nullptr && parameters.has("test_samples"))
    Parameters::reject("test_samples", "asks for samples of a test set, and there is none",
                       "Give test_images and test_labels as well");
  sets.train = std::make_shared<DataSet>(std::move(train));
  return sets;
}

}  // namespace

DataPlugin idx() {
  PluginInfo info;
  info.name = "idx";
  info.summary = "Images and labels from IDX files, the format of MNIST";
  const auto path = [&info](const std::string& key, const std::string& description) {
    info.properties[key] = {{"type", "string"}, {"description", description}};
  };
  path("train_images", "IDX file of the training images, plain or .gz");
  path("train_labels", "IDX file of the training labels, plain or .gz");
  path("test_images", "IDX file of the test images; no test set if absent");
  path("test_labels", "IDX file of the test labels");
  for (const char* key : {"train_samples", "test_samples"})
    info.properties[key] = {
        {"type", "integer"}, {"minimum", 1}, {"description", "Use the first so many images; all if absent"}};
  info.properties["classes"] = {
      {"type", "integer"},
      {"minimum", 1},
      {"maximum", 256},
      {"description", "Number of classes; the largest training label plus one if absent"}};
  info.required = {"train_images", "train_labels"};
  return {info, load_idx};
}

}  // namespace simsgd::data_sources
