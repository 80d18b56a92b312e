// Data sets from files, whole and damaged. Every message is given in full.
#include <doctest/doctest.h>

#include <zlib.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
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

// CIFAR-10 from a copy: small files made here, whole and damaged. Every message is given in full.

using doctest::Approx;

namespace {

constexpr std::size_t kPlane = 1024;

/// A record whose planes have one value each, but for the first pixel of red.
std::string record(int label, int first, int red, int green, int blue) {
  std::string bytes(1, static_cast<char>(label));
  for (const int colour : {red, green, blue}) bytes += std::string(kPlane, static_cast<char>(colour));
  bytes[1] = static_cast<char>(first);
  return bytes;
}

/// A new folder with a whole copy: two records in each training file, one in the test file.
std::filesystem::path copy(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(SIMSGD_BINARY_DIR) / "test_cifar10" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (int part = 1; part <= 5; ++part)
    std::ofstream(folder / ("data_batch_" + std::to_string(part) + ".bin"), std::ios::binary)
        << record(part, 10 * part, 0, 100, 7) << record(9, 200, 255, 200, 7);
  std::ofstream(folder / "test_batch.bin", std::ios::binary) << record(0, 5, 255, 150, 9);
  return folder;
}

void put(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

std::string refusal(const std::filesystem::path& folder, Json more = Json::object()) {
  more["path"] = folder.string();
  return refusal_of<ParameterError>([&] { load("cifar10", more); });
}

const std::string kRemedy =
    ". Name the folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin of the binary version of "
    "CIFAR-10: records of 3,073 bytes, a label from 0 to 9 and the 32 x 32 pixels in red, green and blue";

}  // namespace

TEST_CASE("a copy of CIFAR-10 gives images in the order of its files, with their labels") {
  const DataSets sets = load("cifar10", {{"path", copy("whole").string()}});
  const DataSet& train = *sets.train;
  CHECK(train.count == 10);
  CHECK(train.features == 3072);
  CHECK(train.height == 32);
  CHECK(train.width == 32);
  CHECK(train.channels == 3);
  CHECK(train.classes == 10);
  CHECK(train.labels == std::vector<std::int32_t>{1, 9, 2, 9, 3, 9, 4, 9, 5, 9});
  CHECK(problem_of(train).empty());
  CHECK(sets.test->count == 1);
  CHECK(sets.test->labels == std::vector<std::int32_t>{0});
  CHECK(problem_of(*sets.test).empty());
  CHECK_NOTHROW(model_plugin("resnet").make({{"width", 2}}, train));
}

TEST_CASE(
    "each colour has mean 0 and variance 1 over the training images that are used; tests the same scale") {
  const std::filesystem::path folder = copy("scale");
  const DataSets sets = load("cifar10", {{"path", folder.string()}});
  const Batch<double> batch = sets.train->batch<double>(all_samples(*sets.train));
  for (Eigen::Index colour = 0; colour < 2; ++colour) {
    CAPTURE(colour);
    const auto plane = batch.inputs.middleRows(colour * 1024, 1024).array();
    CHECK(plane.mean() == Approx(0).epsilon(1e-6));
    CHECK(plane.square().mean() == Approx(1).epsilon(1e-6));
  }
  // Green is 100 or 200: mean 150, deviation 50. Blue is 7 everywhere and tells nothing.
  const Batch<double> test = sets.test->batch<double>(std::vector<std::int32_t>{0});
  CHECK(batch.inputs(1024, 0) == Approx(-1));
  CHECK(test.inputs(1024, 0) == Approx(0));
  CHECK(batch.inputs(2048, 0) == 0);
  CHECK(test.inputs(2048, 0) == 0);
  // Of the first image alone: red is 10 once and 0 elsewhere, mean 10 / 1024, green the same everywhere.
  const DataSet first = *load("cifar10", {{"path", folder.string()}, {"train_samples", 1}}).train;
  CHECK(first.count == 1);
  const double mean = 10.0 / 1024, deviation = std::sqrt(100.0 / 1024 - mean * mean);
  CHECK(static_cast<double>(first.floats[0]) == Approx((10 - mean) / deviation));
  CHECK(static_cast<double>(first.floats[1]) == Approx(-mean / deviation));
  CHECK(first.floats[1024] == 0);
}

TEST_CASE("everything that is wrong with a copy is told at once") {
  const std::filesystem::path folder = copy("damaged");
  const std::string file = "the file " + folder.string() + "/";
  std::filesystem::remove(folder / "data_batch_1.bin");
  put(folder / "data_batch_2.bin", "");
  put(folder / "data_batch_4.bin", record(1, 0, 0, 0, 0) + record(10, 0, 0, 0, 0));
  put(folder / "test_batch.bin", record(1, 0, 0, 0, 0) + "x");
  CHECK(refusal(folder) ==
        "/path: " + file + "data_batch_1.bin does not exist; " + file + "data_batch_2.bin is empty; " + file +
            "data_batch_4.bin holds the label 10 in record 2, where labels are 0 to 9; " + file +
            "test_batch.bin holds 3,074 bytes, which is not a multiple of a record's 3,073" + kRemedy);
}

TEST_CASE("a folder that is not there, and more samples than there are") {
  const std::filesystem::path folder = copy("more");
  CHECK(refusal(folder / "none") == "/path: is not a folder: " + (folder / "none").string() + kRemedy);
  CHECK(refusal(folder / "test_batch.bin").starts_with("/path: is not a folder: "));
  CHECK(refusal(folder, {{"train_samples", 11}}) ==
        "/train_samples: asks for 11 samples, more than the 10 in " + folder.string() +
            ". Ask for fewer, or leave it out to use all");
  CHECK(refusal(folder, {{"test_samples", 2}}) == "/test_samples: asks for 2 samples, more than the 1 in " +
                                                      folder.string() +
                                                      ". Ask for fewer, or leave it out to use all");
}

}  // namespace simsgd::test::learn_data_files
