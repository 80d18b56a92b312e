// Data sets from files, whole and damaged. Every message is given in full.
#include <doctest/doctest.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

#include "sim/learn/data/csv.hpp"
#include "sim/learn/data/idx.hpp"
#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::learn_data_files {

using namespace simsgd::testing;

namespace {

std::string path_of(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(SIMSGD_BINARY_DIR) / "test_learn_files";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

std::string write_plain(const std::string& name, const std::string& content) {
  const std::string path = path_of(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string write_gz(const std::string& name, const std::string& content) {
  const std::string path = path_of(name);
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& entries) {
  std::string bytes = {0, 0, 8, static_cast<char>(shape.size())};
  for (const std::uint32_t dimension : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dimension >> shift);
  return bytes + entries;
}

std::string rejection(const std::string& source, const Json& parameters) {
  return refusal_of<ParameterError>([&] { load(source, parameters); });
}

// Three 2 x 2 images and their labels.
const std::string kImages = idx({3, 2, 2}, std::string("\x00\x33\x66\xff", 4) + "abcd" + "efgh");
const std::string kLabels = idx({3}, std::string("\x01\x00\x02", 3));

const std::string kIdxRemedy = ". Name an IDX file of unsigned bytes, plain or compressed with gzip";

// What the training images `content` are rejected with, after "/train_images: the file X "; empty if they are
// not.
std::string idx_rejection(const std::string& content) {
  const std::string path = write_plain("damaged.idx", content);
  const std::string text =
      rejection("idx", {{"train_images", path}, {"train_labels", write_plain("labels.idx", kLabels)}});
  if (text.empty()) return text;
  const std::string before = "/train_images: the file " + path + " ";
  REQUIRE(text.starts_with(before));
  REQUIRE(text.ends_with(kIdxRemedy));
  return text.substr(before.size(), text.size() - before.size() - kIdxRemedy.size());
}

}  // namespace

TEST_CASE("an IDX pair gives images as bytes, their shape and labels; plain and gz alike") {
  for (const bool compressed : {false, true}) {
    CAPTURE(compressed);
    const auto put = compressed ? write_gz : write_plain;
    const Json parameters = {{"train_images", put("images", kImages)},
                             {"train_labels", put("labels", kLabels)}};
    const DataSets sets = load("idx", parameters);
    const DataSet& data = *sets.train;
    CHECK(sets.test == nullptr);
    CHECK(data.count == 3);
    CHECK(data.features == 4);
    CHECK(data.height == 2);
    CHECK(data.width == 2);
    CHECK(data.channels == 1);
    CHECK(data.classes == 3);
    CHECK(data.labels == std::vector<std::int32_t>{1, 0, 2});
    CHECK(problem_of(data).empty());
    const Batch<float> first = data.batch<float>(std::vector<std::int32_t>{0});
    CHECK(first.inputs(1, 0) == doctest::Approx(0.2));  // 0x33 = 51 = 255 / 5
    CHECK(first.inputs(3, 0) == doctest::Approx(1.0));
  }
}

TEST_CASE("an IDX pair may be cut to its first samples, and brings its test set along") {
  const std::string images = write_plain("images", kImages), labels = write_plain("labels", kLabels);
  const DataSets sets = load("idx", {{"train_images", images},
                                     {"train_labels", labels},
                                     {"test_images", images},
                                     {"test_labels", labels},
                                     {"test_samples", 2}});
  CHECK(sets.train->count == 3);
  REQUIRE(sets.test != nullptr);
  CHECK(sets.test->count == 2);
  CHECK(sets.test->bytes.size() == 8);
  CHECK(sets.test->labels == std::vector<std::int32_t>{1, 0});
  CHECK(rejection("idx", {{"train_images", images}, {"train_labels", labels}, {"train_samples", 4}}) ==
        "/train_samples: asks for 4 samples, more than the 3 in " + labels +
            ". Ask for fewer, or leave it out to use all");
}

TEST_CASE("a test set of IDX files needs both files, and fits the training set") {
  const Json train = {{"train_images", write_plain("images", kImages)},
                      {"train_labels", write_plain("labels", kLabels)}};
  const auto text = [&](Json more) {
    more.update(train);
    return rejection("idx", more);
  };
  CHECK(text({{"test_samples", 2}}) ==
        "/test_samples: needs a test set, and the data have none. Give test_images and test_labels as well");
  CHECK(text({{"test_images", path_of("images")}}) == "/test_labels: is missing. Give a value for it");
  const std::string wide = write_plain("wide", idx({3, 3}, "abcdefghi"));
  CHECK(text({{"test_images", wide}, {"test_labels", path_of("labels")}}) ==
        "/test_images: holds images of 3 pixels, where training images have 4. Name files of one data set");
}

TEST_CASE("a file that is missing is named with the remedy") {
  const std::string folder = path_of("nothing-here");
  CHECK(
      rejection("fashion_mnist", {{"path", folder}}) ==
      "/path: the file " + folder +
          "/train-labels-idx1-ubyte.gz does not exist. Install the Debian package dataset-fashion-mnist, or name the folder that holds its four files");
  CHECK(rejection("idx", {{"train_images", path_of("")}, {"train_labels", write_plain("labels", kLabels)}}) ==
        "/train_images: the file " + path_of("") + " is not a regular file" + kIdxRemedy);
}

TEST_CASE("a truncated Fashion-MNIST file is reported with what it holds and what its header promises") {
  // 16 + 60,000 * 28 * 28 = 47,040,016 bytes promised; the file ends after 1,000.
  const std::filesystem::path folder = path_of("truncated");
  std::filesystem::create_directories(folder);
  write_gz("truncated/train-images-idx3-ubyte.gz", idx({60000, 28, 28}, std::string(1000 - 16, 'x')));
  write_gz("truncated/train-labels-idx1-ubyte.gz", idx({60000}, std::string(60000, '\x03')));
  CHECK(
      rejection("fashion_mnist", {{"path", folder.string()}}) ==
      "/path: the file " + folder.string() +
          "/train-images-idx3-ubyte.gz holds 1,000 bytes where its header promises 47,040,016. Install the Debian package dataset-fashion-mnist, or name the folder that holds its four files");
  CHECK(
      rejection("fashion_mnist", {{"path", folder.string()}, {"train_samples", 1}, {"test_samples", 1}}) ==
      "/path: the file " + folder.string() +
          "/t10k-labels-idx1-ubyte.gz does not exist. Install the Debian package dataset-fashion-mnist, or name the folder that holds its four files");  // one image is there: the training set loads
}

TEST_CASE("every damage to an IDX file has its message") {
  CHECK(idx_rejection("") == "holds 0 bytes, fewer than an IDX header");
  CHECK(idx_rejection("\x89PNG....") == "is not an IDX file: it begins with the bytes 89 50 4e 47");
  CHECK(idx_rejection(std::string("\0\0\x0d\x03", 4)) ==
        "holds entries of IDX type 13; only 8, unsigned bytes, is read");
  CHECK(idx_rejection(kImages.substr(0, 10)) == "ends inside its header, after 10 bytes");
  CHECK(idx_rejection(kImages.substr(0, 20)) == "holds 20 bytes where its header promises 28");
  CHECK(idx_rejection(kImages + "x") == "holds more than the 28 bytes that its header promises");
  CHECK(idx_rejection(idx({0, 2, 2}, "")) == "holds no entries: its header gives a dimension of 0");
  CHECK(idx_rejection(idx({0xffffffff, 0xffffffff}, "")) == "has a header that promises 1.84e+19 entries");
  CHECK(idx_rejection(idx({3}, "abc")) == "has 1 dimensions, where images have 2 to 4");
  CHECK(idx_rejection(idx({2, 1}, "ab")) ==
        "holds 2 images, and " + path_of("labels.idx") + " holds 3 labels");
}

TEST_CASE("a compressed file that was cut short, or changed, is recognised") {
  std::string noise;
  Stream stream({1, Purpose::algorithm, 0, 0});
  for (int i = 0; i < 300000; ++i) noise += static_cast<char>(stream());
  const std::string whole = read_file(write_gz("whole.gz", idx({3, 100000}, noise)));
  CHECK(idx_rejection(whole) == "");
  std::string changed = whole;
  changed[changed.size() - 6] ^= 1;  // the checksum at its end
  CHECK(idx_rejection(changed) == "is damaged: incorrect data check");
  const std::string text = idx_rejection(whole.substr(0, whole.size() / 2));
  CHECK(text.starts_with("holds 1"));  // about 150,000 bytes, as far as zlib could expand it
  CHECK(text.ends_with(" bytes where its header promises 300,012"));
}

TEST_CASE("labels that do not fit are rejected") {
  const std::string images = write_plain("images", kImages), labels = write_plain("labels", kLabels);
  const auto text = [&](const std::string& bad, int classes) {
    return rejection("idx", {{"train_images", images}, {"train_labels", bad}, {"classes", classes}});
  };
  CHECK(text(labels, 2) ==
        "/train_labels: the file " + labels + " holds the label 2, where labels are 0 to 1" + kIdxRemedy);
  CHECK(text(images, 2) ==
        "/train_labels: the file " + images + " has 3 dimensions, where labels have 1" + kIdxRemedy);
}

TEST_CASE("a table with a label column is a classification, its classes in the order of their labels") {
  const std::string path =
      write_plain("table.csv", "\xEF\xBB\xBFx, kind ,y\r\n1,cat,10\r\n\r\n2,ant,20\n3,cat,30");
  const DataSets sets =
      load("csv", {{"path", path}, {"label", "kind"}, {"standardise", false}, {"test_path", path}});
  const DataSet& test = *sets.test;
  CHECK(test.count == 3);
  CHECK(test.features == 2);
  CHECK(test.classes == 2);
  CHECK(problem_of(test).empty());
  double sum = 0;  // rows come in an order drawn by the seed
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(test.floats[2 * row + 1] == 10 * test.floats[2 * row]);
    CHECK(test.labels[row] == (test.floats[2 * row] == 2 ? 0 : 1));  // ant, cat
    sum += static_cast<double>(test.floats[2 * row]);
  }
  CHECK(sum == 6);
}

TEST_CASE(
    "numeric labels are ordered as numbers; targets stay numbers; columns without header are counted from 1") {
  const std::string path = write_plain("bare.csv", "1;10\n2;9\n3;10\n4;9\n5;2\n");
  const Json common = {{"path", path}, {"header", false}, {"delimiter", ";"}, {"test_fraction", 0.2}};
  Json classes = common, targets = common;
  classes["label"] = "2";
  targets["target"] = "2";
  const DataSets labelled = load("csv", classes);
  CHECK(labelled.train->classes == 3);  // 2, 9, 10: by text 10 would be first
  CHECK(labelled.train->count == 4);
  CHECK(labelled.test->count == 1);
  const DataSets regression = load("csv", targets);
  CHECK(regression.train->target_size == 1);
  CHECK(regression.train->targets.size() == 4);
  CHECK(regression.train->classes == 0);
}

TEST_CASE("standardised features have mean 0 and deviation 1 on the training rows; constant ones are 0") {
  const std::string path = write_plain("scale.csv", "a,b,y\n1,7,0\n3,7,0\n5,7,0\n7,7,0\n");
  const DataSet data = *load("csv", {{"path", path}, {"target", "y"}, {"test_fraction", 0}}).train;
  double sum = 0, squares = 0;
  for (std::size_t row = 0; row < 4; ++row) {
    sum += static_cast<double>(data.floats[2 * row]);
    squares += std::pow(static_cast<double>(data.floats[2 * row]), 2);
    CHECK(data.floats[2 * row + 1] == 0);
  }
  CHECK(sum == doctest::Approx(0));
  CHECK(squares / 4 == doctest::Approx(1));
}

}  // namespace simsgd::test::learn_data_files
