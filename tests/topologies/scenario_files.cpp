// The data files under scenarios/: totals of the workloads against the papers, and that every cluster file
// makes a network.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph.hpp"

namespace simsgd::test::topologies_scenario_files {

namespace fs = std::filesystem;

namespace {

Json read(const fs::path& file) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in.good(), file.string());
  return Json::parse(in, nullptr, true, /*ignore_comments=*/true);
}

const fs::path kScenarios = fs::path(SIMSGD_SOURCE_DIR) / "scenarios";

struct Totals {
  const char* name;
  std::int64_t parameters;
  std::int64_t tensors;
  int factor_layers;      ///< with an A and a G
  std::int64_t a_packed;  ///< sum of n (n + 1) / 2
  std::int64_t g_packed;
  double forward_multiply_adds;  ///< per sample
};

Totals totals_of(const Json& workload) {
  Totals sum{"", 0, 0, 0, 0, 0, 0};
  for (const Json& layer : workload.at("layers")) {
    sum.forward_multiply_adds += layer.value("forward_flop", 0.0) / 2;
    const Json& tensors = layer.at("tensors");
    for (const Json& tensor : tensors)
      sum.parameters += tensor.is_array() ? tensor[0].get<std::int64_t>() * tensor[1].get<std::int64_t>()
                                          : tensor.get<std::int64_t>();
    sum.tensors += static_cast<std::int64_t>(tensors.size());
    // Of a product: G is of the rows, A of the columns, and of a bias beside them.
    const bool product = (layer.at("type") == "conv" || layer.at("type") == "fc") && !tensors.empty();
    if (!product) continue;
    const auto g = tensors[0][0].get<std::int64_t>();
    const std::int64_t a = tensors[0][1].get<std::int64_t>() + (tensors.size() > 1 ? 1 : 0);
    ++sum.factor_layers;
    sum.a_packed += a * (a + 1) / 2;
    sum.g_packed += g * (g + 1) / 2;
  }
  return sum;
}

double quantity_of(const Json& value, Dimension dimension) {
  double read = 0;
  Fields fields;
  fields.quantity(dimension, "value", read, "");
  fields.read({{"value", value}});
  return read;
}

}  // namespace

TEST_CASE("workloads add up to the papers' parameters, tensors, factors and multiply-adds") {
  // Parameters: gtopk.md, spd_kfac.md, wagma.md. Tensors, factors and multiply-adds of the four SPD-KFAC
  // networks: the table of spd_kfac.md; of the others: their layers.
  for (const Totals& expected :
       std::vector<Totals>{{"vgg16_cifar", 14'728'266, 54, 14, 62'888'035, 907'383, 0.313e9},
                           {"resnet20", 269'722, 59, 20, 1'156'179, 16'655, 0.0406e9},
                           {"alexnet", 61'100'840, 16, 8, 70'749'893, 17'442'132, 0.714e9},
                           {"resnet50", 25'557'032, 161, 54, 62'348'671, 14'618'356, 4.089e9},
                           {"resnet152", 60'192'808, 467, 156, 161'955'199, 32'927'476, 11.514e9},
                           {"densenet201", 20'013'928, 604, 201, 130'961'295, 1'806'420, 4.291e9},
                           {"inceptionv4", 42'679'816, 449, 150, 116'414'683, 4'695'748, 6.122e9},
                           {"transformer", 61'362'176, 185, 96, 36'240'408, 36'209'664, 0.0618e9},
                           {"bert_base", 109'482'240, 199, 73, 74'738'377, 74'654'592, 5.512e9},
                           {"bert_large", 335'141'888, 391, 145, 265'098'897, 264'876'544, 19.530e9},
                           {"ddppo", 8'476'421, 80, 25, 16'526'742, 358'923, 0.155e9}}) {
    CAPTURE(std::string(expected.name));
    const Totals sum = totals_of(read(kScenarios / "workloads" / (std::string(expected.name) + ".json")));
    CHECK(sum.parameters == expected.parameters);
    CHECK(sum.tensors == expected.tensors);
    CHECK(sum.factor_layers == expected.factor_layers);
    CHECK(sum.a_packed == expected.a_packed);
    CHECK(sum.g_packed == expected.g_packed);
    CHECK(sum.forward_multiply_adds == doctest::Approx(expected.forward_multiply_adds).epsilon(2e-3));
  }
}

TEST_CASE("one-device times name a device that there is, with a batch and a source") {
  std::set<std::string> devices;
  for (const auto& entry : fs::directory_iterator(kScenarios / "devices"))
    devices.insert(read(entry.path()).at("name").get<std::string>());
  for (const auto& entry : fs::directory_iterator(kScenarios / "workloads")) {
    CAPTURE(entry.path().string());
    const Json workload = read(entry.path());
    for (const Json& time : workload.at("one_device")) {
      CHECK(devices.count(time.at("device")) == 1);
      CHECK(time.at("batch").get<int>() >= 1);
      CHECK(time.contains("forward_backward") != time.contains("samples_per_s"));
      CHECK(!time.at("source").get<std::string>().empty());
    }
  }
}

TEST_CASE("the compute times of the transformer and of DD-PPO have the means that their sources state") {
  const auto mean = [](const Json& histogram) {
    double sum = 0, weight = 0;
    const Json &edges = histogram.at("edges"), &weights = histogram.at("weights");
    REQUIRE(edges.size() == weights.size() + 1);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i].get<double>() * (edges[i].get<double>() + edges[i + 1].get<double>()) / 2;
      weight += weights[i].get<double>();
    }
    return sum / weight + histogram.value("shift", 0.0);
  };
  // wagma.md: mean .293 s; its 50 ms bins give .2928. DD-PPO: 2.0996 s of experience + 0.53 s of learning.
  CHECK(mean(read(kScenarios / "workloads/transformer.json").at("compute_time")) ==
        doctest::Approx(0.293).epsilon(1e-3));
  CHECK(mean(read(kScenarios / "workloads/ddppo.json").at("compute_time")) ==
        doctest::Approx(2.6296).epsilon(1e-4));
}

TEST_CASE("every cluster file makes a network whose messages take its NIC's latency and bandwidth") {
  for (const char* name : {"ethernet-1g", "ethernet-10g", "infiniband-100g", "piz-daint"}) {
    CAPTURE(std::string(name));
    const Json cluster = read(kScenarios / "clusters" / (std::string(name) + ".json"));
    CHECK(cluster.at("name") == name);
    CHECK(fs::exists(kScenarios / cluster.at("device").at("use").get<std::string>()));
    const Json &gpu = cluster.at("gpu_link"), &nic = cluster.at("nic");
    NodeShape shape;
    shape.nodes = 16;
    shape.gpus_per_node = cluster.at("gpus_per_node");
    shape.gpu_link_Bps = quantity_of(gpu.at("bandwidth"), Dimension::rate_Bps);
    shape.gpu_link_latency_s = quantity_of(gpu.at("latency"), Dimension::time_s);
    shape.nic_Bps = quantity_of(nic.at("bandwidth"), Dimension::rate_Bps);
    shape.nic_latency_s = quantity_of(nic.at("latency"), Dimension::time_s);
    shape.nics = nic.at("count");
    Json parameters = cluster.at("topology");
    const std::string topology = parameters.at("name");
    parameters.erase("name");
    Json form;
    plugin(topology).form(form);
    for (const auto& [key, value] : parameters.items()) CHECK(form["properties"].contains(key));
    const Network network = make(topology, shape, parameters);
    const PathCost cost = network.path_cost(0, shape.gpus_per_node);
    CHECK(cost.alpha_s == doctest::Approx(shape.nic_latency_s).epsilon(1e-12));
    CHECK(cost.beta_s_per_byte == doctest::Approx(1 / shape.nic_Bps).epsilon(1e-12));
  }
}

}  // namespace simsgd::test::topologies_scenario_files
