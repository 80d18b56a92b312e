// Any pair of IDX files (images and labels), and another for the test set if there is one. See idx_file.hpp.
#include "sim/learn/data/idx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/errors.hpp"
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
    f.whole("train_samples", train_samples, "This many images are used, the first ones")
        .at_least(1)
        .by_rule("all");
    f.whole("test_samples", test_samples, "This many images are used, the first ones")
        .at_least(1)
        .by_rule("all");
    f.whole("classes", classes, "Samples belong to this many classes")
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
    reject("test_samples", "needs a test set, and the data have none",
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

namespace simsgd {

namespace {

std::vector<std::int64_t> read_shape(DataFile& file) {
  std::array<std::uint8_t, 4> magic{};
  if (const std::size_t got = file.read(magic); got < magic.size())
    file.fail(fmt::format("holds {} bytes, fewer than an IDX header", got));
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0)
    file.fail(fmt::format("is not an IDX file: it begins with the bytes {:02x} {:02x} {:02x} {:02x}",
                          magic[0], magic[1], magic[2], magic[3]));
  if (magic[2] != 8)
    file.fail(fmt::format("holds entries of IDX type {}; only 8, unsigned bytes, is read", magic[2]));
  std::vector<std::int64_t> shape;
  for (int d = 0; d < magic[3]; ++d) {
    std::array<std::uint8_t, 4> bytes{};
    if (file.read(bytes) < bytes.size())
      file.fail(fmt::format("ends inside its header, after {} bytes", file.position()));
    shape.push_back((std::int64_t{bytes[0]} << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3]);
  }
  return shape;
}

// Product of the dimensions after the first.
std::int64_t item_size(const DataFile& file, const std::vector<std::int64_t>& shape) {
  constexpr double kMost = 0x1p40;  // a terabyte is a damaged header
  double entries = 1;
  for (const std::int64_t dimension : shape) entries *= static_cast<double>(dimension);
  if (entries == 0) file.fail("holds no entries: its header gives a dimension of 0");
  if (entries > kMost) file.fail(fmt::format("has a header that promises {:.3g} entries", entries));
  std::int64_t size = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) size *= shape[d];
  return size;
}

// Block by block, so that a header that promises too much costs no memory: what is reserved is not touched.
std::vector<std::uint8_t> read_at_most(DataFile& file, std::size_t size) {
  constexpr std::size_t kBlock = 1u << 24, kMostReserved = 1u << 28;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(std::min(size, kMostReserved));
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    const std::size_t asked = std::min(kBlock, size - before);
    bytes.resize(before + asked);
    const std::size_t got = file.read(std::span(bytes).subspan(before));
    if (got < asked) {
      bytes.resize(before + got);
      break;
    }
  }
  return bytes;
}

void set_shape(DataSet& data, const FileSource& source, const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2 || shape.size() > 4)
    reject_file(source, fmt::format("has {} dimensions, where images have 2 to 4", shape.size()));
  data.features = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) data.features *= shape[d];
  if (shape.size() == 2) return;
  data.channels = shape.size() == 4 ? static_cast<int>(shape[1]) : 1;
  data.height = static_cast<int>(shape[shape.size() - 2]);
  data.width = static_cast<int>(shape[shape.size() - 1]);
}

/// Reads the whole file, or no more than the first `items` of its first dimension. Throws ParameterError.
IdxFile read_idx(const FileSource& source, std::optional<std::int64_t> items = std::nullopt) {
  DataFile file(source);
  IdxFile idx;
  idx.shape = read_shape(file);
  const std::int64_t size = item_size(file, idx.shape);
  const std::int64_t header = static_cast<std::int64_t>(file.position());
  const std::int64_t promised = header + size * idx.shape[0];
  const std::int64_t wanted = items ? std::min(*items, idx.shape[0]) * size : promised - header;
  idx.bytes = read_at_most(file, static_cast<std::size_t>(wanted));
  const auto held = static_cast<std::int64_t>(file.position());
  if (held < header + wanted)
    file.fail(
        fmt::format("holds {} bytes where its header promises {}", with_commas(held), with_commas(promised)));
  std::array<std::uint8_t, 1> more{};
  if (held == promised && file.read(more) > 0)
    file.fail(fmt::format("holds more than the {} bytes that its header promises", with_commas(promised)));
  return idx;
}

}  // namespace

DataSet load_idx_pair(const IdxPair& pair) {
  const IdxFile labels = read_idx(pair.labels);
  if (labels.shape.size() != 1)
    reject_file(pair.labels, fmt::format("has {} dimensions, where labels have 1", labels.shape.size()));
  const std::int64_t available = labels.shape[0];
  const std::int64_t count = samples_to_use(pair.samples_key, pair.samples, available, pair.labels.path);
  IdxFile images = read_idx(pair.images, pair.samples);
  if (images.shape[0] != available)
    reject_file(pair.images,
                fmt::format("holds {} images, and {} holds {} labels", with_commas(images.shape[0]),
                            pair.labels.path.string(), with_commas(available)));
  DataSet data;
  data.name = pair.name;
  data.count = count;
  set_shape(data, pair.images, images.shape);
  data.bytes = std::move(images.bytes);
  data.scale = 1.0f / 255.0f;
  data.labels.assign(labels.bytes.begin(), labels.bytes.begin() + data.count);
  const int largest = *std::max_element(labels.bytes.begin(), labels.bytes.end());
  data.classes = pair.classes > 0 ? pair.classes : largest + 1;
  if (largest >= data.classes)
    reject_file(pair.labels,
                fmt::format("holds the label {}, where labels are 0 to {}", largest, data.classes - 1));
  return data;
}

}  // namespace simsgd
