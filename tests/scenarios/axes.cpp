// Ranges, and how coordinates are called.
#include "scenarios/language/axes.hpp"
#include "scenarios/language/axis_values.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace simsgd::test::scenarios_axes {

namespace {

Json logarithmic(const Json& from, const Json& to, int points) {
  return log_range({{"from", from}, {"to", to}, {"points", points}});
}
Json linear(const Json& from, const Json& to, const Json& step) {
  return linear_range({{"from", from}, {"to", to}, {"step", step}});
}

}  // namespace

TEST_CASE("a log range has equal ratios and hits both bounds") {
  CHECK(logarithmic(0.001, 1.0, 4) == Json{0.001, 0.01, 0.1, 1.0});
  CHECK(logarithmic(1e9, 1e11, 3) == Json{1e9, 1e10, 1e11});
  CHECK(logarithmic(8.0, 1.0, 4) == Json{8.0, 4.0, 2.0, 1.0});
}

TEST_CASE("whole bounds give whole numbers, each once") {
  CHECK(logarithmic(8, 512, 7) == Json{8, 16, 32, 64, 128, 256, 512});
  CHECK(logarithmic(4, 64, 4) == Json{4, 10, 25, 64});
  CHECK(logarithmic(1, 4, 9) == Json{1, 2, 3, 4});
  CHECK(logarithmic(8, 512, 7)[0].is_number_integer());
}

TEST_CASE("bounds may have a unit") {
  CHECK(logarithmic("1 Gbps", "100 Gbps", 3) == Json{"1 Gbps", "10 Gbps", "100 Gbps"});
  CHECK(linear("1ms", "2 ms", "0.5 ms") == Json{"1 ms", "1.5 ms", "2 ms"});
}

TEST_CASE("a range has equal steps, up or down") {
  CHECK(linear(1, 7, 2) == Json{1, 3, 5, 7});
  CHECK(linear(1, 8, 2) == Json{1, 3, 5, 7});
  CHECK(linear(0.1, 0.3, 0.1) == Json{0.1, 0.2, 0.3});
  CHECK(linear(3, 1, -1) == Json{3, 2, 1});
}

TEST_CASE("bounds that cannot be used give nothing") {
  CHECK(logarithmic(0, 1, 3).empty());
  CHECK(logarithmic("1 ms", "1 s", 3).empty());
  CHECK(logarithmic("fast", "slow", 3).empty());
  CHECK(linear(1, 2, -1).empty());
  CHECK(linear(1, 2, 0).empty());
}

TEST_CASE("coordinates are called by what they choose") {
  CHECK(axis_label("/cluster/use") == "cluster");
  CHECK(axis_label("/algorithm/name") == "algorithm");
  CHECK(axis_label("/cluster/nic/bandwidth") == "cluster/nic/bandwidth");
  CHECK(value_label("clusters/ethernet-1g.json") == "ethernet-1g");
  CHECK(value_label("10 Gbps") == "10 Gbps");
  CHECK(value_label(8) == "8");
  CHECK(value_label(nullptr) == "null");
}

TEST_CASE("a method in Python is called by its file, which is shown where a shipped method has that name") {
  const Json shipped = {{"name", "local_sgd"}}, same = {{"name", "python"}, {"file", "a/local_sgd.py"}},
             own = {{"name", "python"}, {"file", "a/mine.py"}};
  const std::map<std::string, std::string> labels =
      value_labels({{"shipped", &shipped}, {"same", &same}, {"own", &own}});
  CHECK(labels.at("shipped") == "local_sgd");
  CHECK(labels.at("same") == "local_sgd (file a/local_sgd.py)");
  CHECK(labels.at("own") == "mine");
}

TEST_CASE("stragglers and links are told in words, not in JSON") {
  CHECK(value_label({{"name", "python"}, {"file", "a/slow_momentum.py"}}) == "slow_momentum");
  CHECK(value_label({{"name", "python"}, {"file", "a/all.py"}, {"function", "mine"}}) == "mine");
  CHECK(value_label(Json::array()) == "none");
  CHECK(value_label(Json::object()) == "default");
  CHECK(value_label(Json::parse(R"([{"name": "constant", "factor": 1.5, "workers": [3]}])")) ==
        "constant (factor 1.5, workers [3])");
  CHECK(value_label(
            Json::parse(R"([{"name": "markov", "factor": 3}, {"name": "exponential", "mean": "60 ms"}])")) ==
        "markov (factor 3) + exponential (mean 60 ms)");
  CHECK(value_label(Json::parse(R"({"slow_links": [{"nodes": [3], "bandwidth_factor": 0.1}]})")) ==
        "slow_links (bandwidth_factor 0.1, nodes [3])");
  CHECK(value_label(Json::parse(R"({"jitter": {"name": "exponential", "mean": "1 ms"}})")) ==
        "jitter (exponential (mean 1 ms))");
}

}  // namespace simsgd::test::scenarios_axes
