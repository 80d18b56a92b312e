// The quick-start as users run it: real learning on real data, the same on both networks.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/fashion_mnist.hpp"

namespace simsgd::test::cli_quickstart {

using Json = nlohmann::ordered_json;

TEST_CASE("a perceptron of 64 units on 8 workers reaches 86 % test accuracy within 2,000 steps of 8 x 32") {
  if (fashion_mnist_is_missing()) return;
  std::FILE* pipe = popen(SIMSGD_BINARY_DIR "/simsgd sweep run " SIMSGD_SOURCE_DIR
                                            "/scenarios/quickstart.json --json 2> /dev/null",
                          "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 65536> buffer;
  for (std::size_t read; (read = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), read);
  REQUIRE(pclose(pipe) == 0);
  const std::size_t second = output.find('\n') + 1;
  const Json slow = Json::parse(output.substr(0, second)), fast = Json::parse(output.substr(second));
  CHECK(slow["metrics"]["test_accuracy_final"].get<double>() >= 0.86);
  CHECK(slow["metrics"]["test_accuracy_final"] == fast["metrics"]["test_accuracy_final"]);
  CHECK(slow["metrics"]["train_loss_final"] == fast["metrics"]["train_loss_final"]);
  CHECK(slow["metrics"]["throughput_samples_per_s"].get<double>() <
        fast["metrics"]["throughput_samples_per_s"].get<double>());
}

}  // namespace simsgd::test::cli_quickstart
