// CIFAR-10 from a copy: small files made here, whole and damaged. Every message is given in full.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::learn_data_cifar10 {

using namespace simsgd::testing;
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

}  // namespace simsgd::test::learn_data_cifar10
