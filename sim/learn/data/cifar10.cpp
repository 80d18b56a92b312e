// CIFAR-10: 50,000 training and 10,000 test images, 32 x 32 in three colours, 10 classes. Krizhevsky,
// "Learning Multiple Layers of Features from Tiny Images", 2009; https://www.cs.toronto.edu/~kriz/cifar.html.
// It is read from the user's copy of the binary version: six files of records, each a label and the planes of
// red, green and blue. Each colour is shifted and scaled to mean 0 and variance 1 over the training images
// that are used; test images with the same numbers.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/learn/data/file.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

constexpr std::size_t kColours = 3, kPlane = 1024, kRecord = 1 + kColours * kPlane;  // 32 x 32
constexpr int kCifarClasses = 10;

struct CifarOptions {
  std::string path;
  std::optional<std::int64_t> train_samples, test_samples;

  void fields(Fields& f) {
    f.text("path", path,
           "Folder with your copy: data_batch_1.bin to data_batch_5.bin and test_batch.bin, plain or gz")
        .required();
    f.whole("train_samples", train_samples, "This many training images are used, the first ones")
        .at_least(1)
        .by_rule("all");
    f.whole("test_samples", test_samples, "This many test images are used, the first ones")
        .at_least(1)
        .by_rule("all");
  }
};

/// Records, one after another.
using Records = std::vector<std::uint8_t>;

Records read_records(const FileSource& source) {
  Records records = read_whole(source);
  if (records.size() % kRecord != 0)
    reject_file(source, fmt::format("holds {} bytes, which is not a multiple of a record's {}",
                                    with_commas(static_cast<std::int64_t>(records.size())),
                                    with_commas(std::int64_t{kRecord})));
  for (std::size_t at = 0; at < records.size(); at += kRecord)
    if (records[at] >= kCifarClasses)
      reject_file(source, fmt::format("holds the label {} in record {}, where labels are 0 to {}",
                                      records[at], at / kRecord + 1, kCifarClasses - 1));
  return records;
}

/// The value that each byte of a colour stands for.
using ColourTable = std::array<float, 256>;

std::array<ColourTable, kColours> standardise(const Records& records, std::int64_t samples) {
  std::array<ColourTable, kColours> tables{};
  for (std::size_t c = 0; c < kColours; ++c) {
    std::array<double, 256> count{};  // of each byte, exact
    for (std::size_t s = 0; s < static_cast<std::size_t>(samples); ++s)
      for (std::size_t i = 0; i < kPlane; ++i) ++count[records[s * kRecord + 1 + c * kPlane + i]];
    const double all = static_cast<double>(samples) * kPlane;
    double mean = 0, variance = 0;
    for (std::size_t b = 0; b < 256; ++b) mean += static_cast<double>(b) * count[b] / all;
    for (std::size_t b = 0; b < 256; ++b)
      variance += std::pow(static_cast<double>(b) - mean, 2) * count[b] / all;
    // A colour that is the same everywhere tells nothing: zeros.
    const double scale = variance > 0 ? 1 / std::sqrt(variance) : 0;
    for (std::size_t b = 0; b < 256; ++b)
      tables[c][b] = static_cast<float>((static_cast<double>(b) - mean) * scale);
  }
  return tables;
}

std::shared_ptr<const DataSet> images_of(const Records& records, std::int64_t samples,
                                         const std::array<ColourTable, kColours>& tables) {
  auto data = std::make_shared<DataSet>();
  data->name = "cifar10";
  data->count = samples;
  data->features = kColours * kPlane;
  data->height = data->width = 32, data->channels = int{kColours};
  data->classes = kCifarClasses;
  data->floats.reserve(static_cast<std::size_t>(samples) * kColours * kPlane);
  for (std::size_t s = 0; s < static_cast<std::size_t>(samples); ++s) {
    const std::uint8_t* record = records.data() + s * kRecord;
    data->labels.push_back(*record++);
    for (const ColourTable& table : tables)
      for (std::size_t i = 0; i < kPlane; ++i) data->floats.push_back(table[*record++]);
  }
  return data;
}

DataSets load_cifar10(const CifarOptions& options, const DataContext& context) {
  const std::filesystem::path folder = context.resolve(options.path);
  const std::string remedy =
      "Name the folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin of the binary version of "
      "CIFAR-10: records of 3,073 bytes, a label from 0 to 9 and the 32 x 32 pixels in red, green and blue";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    reject("path", "is not a folder: " + folder.string(), remedy);
  Records train, test;
  std::string problems;
  const auto read = [&](const std::string& name, Records& to) {
    try {
      const Records more = read_records({folder / name, "path", remedy});
      to.insert(to.end(), more.begin(), more.end());
    } catch (const ParameterError& error) {
      problems += (problems.empty() ? "" : "; ") + error.problem;
    }
  };
  for (int part = 1; part <= 5; ++part) read(fmt::format("data_batch_{}.bin", part), train);
  read("test_batch.bin", test);
  if (!problems.empty()) reject("path", problems, remedy);
  const auto use = [&](const char* key, std::optional<std::int64_t> asked, const Records& records) {
    return samples_to_use(key, asked, static_cast<std::int64_t>(records.size() / kRecord), folder);
  };
  const std::int64_t train_samples = use("train_samples", options.train_samples, train);
  const std::int64_t test_samples = use("test_samples", options.test_samples, test);
  const auto tables = standardise(train, train_samples);
  return {images_of(train, train_samples, tables), images_of(test, test_samples, tables)};
}

}  // namespace

std::vector<DataPlugin> cifar10() {
  return {{{.name = "cifar10",
            .summary = "50,000 and 10,000 images of 10 classes, 32 x 32 in colour, from your copy",
            .citation = "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"},
           load_cifar10}};
}

}  // namespace simsgd::data_sources
