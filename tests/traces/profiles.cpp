// Networks as profilers publish them: PipeDream's graph.txt and TrioSim's operators, up to the job that they
// time.
#include <doctest/doctest.h>

#include "scenarios/language/scenario.hpp"
#include "sim/job.hpp"
#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_profiles {

using namespace traces;
using doctest::Approx;

namespace {

// Of two branches, written in no order; the input is 2 images of 3 x 224 x 224.
const std::string kGraph =
    "node4 -- Linear(in_features=6, out_features=10, bias=True) -- forward_compute_time=0.500, backward_compute_time=1.000, activation_size=80.000, parameter_size=280.000\n"
    "node3 -- BatchNorm2d(3, eps=1e-05) -- forward_compute_time=0.250, backward_compute_time=0.125, activation_size=[16.000; 8.000], parameter_size=24.000\n"
    "node2 -- Conv2d(3, 4, kernel_size=(3, 3), stride=(2, 2), bias=False) -- forward_compute_time=2.000, backward_compute_time=3.000, activation_size=160.000, parameter_size=432.000\n"
    "node1 -- Input -- forward_compute_time=18.000, backward_compute_time=0.000, activation_size=1204224.000, parameter_size=0.000\n"
    "node5 -- Add(inplace) -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=24.000, parameter_size=0.000\n"
    "\tnode5 -- node4\n\tnode3 -- node5\n\tnode2 -- node5\n\tnode1 -- node2\n\tnode1 -- node3\n";

Imported import_all(const std::vector<std::string>& files, const ImportOptions& options = {}) {
  return import_files(files, options);
}

// The job of a scenario with this workload, on one A100 a node.
Job job_with(const Files& files, const RecordedWorkload& network) {
  files.write("w.json", workload_file(network, "f"));
  const std::string scenario = files.write(
      "s.json",
      R"({"name": "s",
      "cluster": {"use": ")" SIMSGD_SOURCE_DIR
      R"(/scenarios/clusters/a100-nvswitch-ib200.json", "workers": 8}, "workload": {"use": "w.json"},
      "learner": null, "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 1}})");
  return make_job(load_scenario(scenario));
}

}  // namespace

TEST_CASE("pipedream: layers in an order of the edges, without the input, which tells the batch") {
  const Imported all = import_text("a/net.graph.txt", kGraph, {});
  REQUIRE(all.workloads.size() == 1);
  const RecordedWorkload& net = all.workloads[0];
  CHECK(net.name == "net");
  CHECK(net.batch == 2);
  REQUIRE(net.layers.size() == 4);
  const std::vector<std::string> names = {"node2 Conv2d", "node3 BatchNorm2d", "node5 Add", "node4 Linear"};
  for (std::size_t i = 0; i < 4; ++i) CHECK(net.layers[i].name == names[i]);
  CHECK(net.layers[0].tensors == std::vector<std::vector<double>>{{4, 27}});
  CHECK(net.layers[1].tensors == std::vector<std::vector<double>>{{3}, {3}});
  CHECK(net.layers[2].tensors.empty());
  CHECK(net.layers[3].tensors == std::vector<std::vector<double>>{{10, 6}, {10}});
  CHECK(net.layers[1].activations == 3);  // (16 + 8) bytes / 4 / 2 samples
  CHECK(net.layers[0].forward_flop == 2 * 27 * 20);
  CHECK(net.parameters() == 108 + 6 + 70);
  CHECK(net.forward_s() == Approx(2.75e-3).epsilon(1e-15));
  CHECK(net.backward_s() == Approx(4.125e-3).epsilon(1e-15));
  REQUIRE(all.rows.size() == 2);
  CHECK(all.rows[1].quantity == "backward_s");
  CHECK(understood(all) == "1 nodes of data loading (Input), left out");
}

TEST_CASE("pipedream: the workload that is written is the job's") {
  const Files files;
  const Imported all = import_text("net.txt", kGraph, {});
  const Job job = job_with(files, all.workloads.at(0));
  CHECK(job.workload.batch == 2);
  CHECK(job.workload.parameters() == 184);
  CHECK(job.workload.forward_s() == Approx(2.75e-3).epsilon(1e-12));
  CHECK(job.workload.backward_s() == Approx(4.125e-3).epsilon(1e-12));
  CHECK(job.workload.one_device_step_s == Approx(6.875e-3).epsilon(1e-12));
  CHECK(job.workload.layers[0].kind == Layer::Kind::conv);
}

TEST_CASE("pipedream: batches by what is there, by the user, or not at all") {
  const std::string linear =
      "node1 -- Linear(in_features=6, out_features=10, bias=True) -- forward_compute_time=1, backward_compute_time=1, activation_size=160, parameter_size=280\n";
  CHECK(import_text("f", linear, {}).workloads.at(0).batch == 4);
  CHECK(import_text("f", linear, with("batch", "3")).workloads.at(0).batch == 3);
  const Imported two = import_text("f", kGraph + "node6" + linear.substr(5), {});
  CHECK(two.workloads.at(0).batch == 0);  // 2 by the images, 4 by the last product
  CHECK(ignored(two) == "1 input and output sizes that imply different batches; use --set batch=N");
}

TEST_CASE("pipedream: circles, lines that are none, times that cannot be") {
  CHECK(import_errors(kGraph + "\tnode4 -- node2\n") ==
        "f: has circular edges. Found: at node2. Correct its edges: a network's layers have an order.\n");
  const Imported all = import_text(
      "f",
      "node1 -- ReLU -- forward_compute_time=-1, backward_compute_time=1e400, activation_size=x, parameter_size=6\nnode1 -- ReLU -- forward_compute_time=1\nnode99999999999 -- node1\nnode1 -- node7\nhello\n"
      "node2 -- \xff\x1b -- forward_compute_time=1, backward_compute_time=1, activation_size=[1; , parameter_size=[]\n",
      {});
  CHECK(
      ignored(all) ==
      "1 edges of missing nodes; 2 lines that are neither a node nor an edge; 1 negative times and sizes; 1 nodes that appear twice; the first is used; 1 parameters whose size is not a multiple of 4 bytes; 3 times and sizes that are not numbers");
  CHECK(all.workloads.at(0).layers[1].name == "node2 \\xff\\u001b");
  CHECK(
      import_errors(
          "node1 -- Input -- forward_compute_time=1, backward_compute_time=0, activation_size=4, parameter_size=0\n")
          .find("contains no usable measurement (pipedream)") != std::string::npos);
}

namespace {

const char* const kOperators =
    "OperatorID,OperatorName,Operator_input,Operator_output,Operator_cudatime,Operator_cudatimenooverlap,InputSize,OutputSize,gpuid,stage,tpflag\n"
    "1,aten::conv2d,[4; 6],[13],1278,1273,[24; 108],[80],0,forward,1\n"
    "2,aten::relu_,[13],[13],10,10,[80],[80],0,forward,0\n"
    "3,aten::conv2d,[13; 7],[14],20,20,[80; 16],[40],0,forward,1\n"
    "4,aten::linear,[14; 8; 9],[15],30,30,[40; 60; 10],[20],0,forward,1\n"
    "5,aten::cross_entropy_loss,[15; 2],[16],5,5,[20; 2],[1],0,forward,0\n"
    "6,autograd::engine::evaluate_function: NllLossBackward0,[16],[17],3,3,[1],[20],0,backward,0\n"
    "7,autograd::engine::evaluate_function: LogSoftmaxBackward0,[17],[18],2,2,[20],[20],0,backward,0\n"
    "8,autograd::engine::evaluate_function: AddmmBackward0,[18],[19],40,40,[20],[40],0,backward,1\n"
    "9,autograd::engine::evaluate_function: ConvolutionBackward0,[19; 6],[20],100,90,[40],[80],0,backward,1\n"
    "10,autograd::engine::evaluate_function: ConvolutionBackward0,[20],[21],60,50,[80],[24],0,backward,1\n"
    "11,autograd::engine::evaluate_function: ReluBackward0,[20],[21],7,7,[80],[80],0,backward,0\n"
    "12,aten::_foreach_add_,[4; 6],[],9,8,[108],[],0,optimizer,0\n"
    "13,aten::relu_,[13],[13],-1,-1,[80],[80],0,forward,0\n"
    "14,aten::relu_,[13],[13],1,1,[80],[80],1,forward,0\n";
const char* const kTensors =
    "Index,TensorID,TensorShape,TensorNumElement,TensorEachByte,TensorType,TensorStorgeid,gpuid\n"
    "0,4,\"[2, 3, 2, 2]\",24,4,input,5,0\n"
    "1,6,\"[4, 3, 3, 3]\",108,4,weight,7,0\n"
    "2,7,\"[4, 4, 1, 1]\",16,4,weight,8,0\n"
    "3,8,\"[10, 6]\",60,4,weight,9,0\n"
    "4,9,[10],10,4,bias=None,10,0\n"
    "5,2,[],0,4,weight,11,0\n"
    "6,,x,0,4,weight,11,0\n";

}  // namespace

TEST_CASE(
    "triosim: a layer for each forward operator; backward operators by parameters, by kind, else the one before") {
  const Files files;
  const std::string operators = files.write("n_trace.csv", kOperators),
                    tensors = files.write("n_tensor.csv", kTensors);
  for (const auto& order : {std::vector{operators, tensors}, std::vector{tensors, operators}}) {
    const Imported all = import_all(order);
    REQUIRE(all.workloads.size() == 1);
    const RecordedWorkload& net = all.workloads[0];
    CHECK(net.name == "n");
    CHECK(net.batch == 2);
    REQUIRE(net.layers.size() == 6);
    CHECK(net.layers[0].name == "optimizer");
    CHECK(net.layers[0].forward_s == 8e-6);
    // Operator 9 reads the first convolution's weight; 10 is left for the second one.
    const double backward_us[] = {90, 7, 50, 40, 5};
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(net.layers[i + 1].backward_s == Approx(backward_us[i] / 1e6).epsilon(1e-12));
    CHECK(net.layers[1].forward_s == 1273e-6);  // without overlap
    CHECK(net.layers[1].tensors == std::vector<std::vector<double>>{{4, 27}});
    CHECK(net.layers[4].tensors == std::vector<std::vector<double>>{{10, 6}, {10}});
    CHECK(net.layers[4].forward_flop == 2 * 6 * 10);
    CHECK(net.parameters() == 108 + 16 + 70);
    CHECK(net.source.find("1 backward operators that belong to no forward operator") != std::string::npos);
    REQUIRE(all.rows.size() == 6);
    const ImportReport& report = all.reports[order[0] == operators ? 0 : 1];
    CHECK(counts(report.ignored) == "1 operators without a stage, or a time of 0 or more");
    CHECK(counts(report.understood) == "1 operators of GPUs other than 0, left out");
    CHECK(counts(all.reports[order[0] == operators ? 1 : 0].ignored) == "1 tensors without an id or a role");
  }
  const Job job = job_with(files, import_all({operators, tensors}).workloads[0]);
  CHECK(job.workload.parameters() == 194);
  CHECK(job.workload.forward_s() == Approx(1346e-6).epsilon(1e-12));
  CHECK(job.workload.backward_s() == Approx(192e-6).epsilon(1e-12));
}

TEST_CASE("triosim: one of its two tables alone") {
  const Imported all = import_text("n_trace.csv", kOperators, {});
  CHECK(all.workloads.empty());
  CHECK(all.rows.size() == 6);
  CHECK(ignored(all).find("1 tables of operators without a table of tensors") != std::string::npos);
  CHECK(import_errors(kTensors).find("Left out: 1 tables of tensors without a table of operators") !=
        std::string::npos);
}

TEST_CASE("layer_profiles beside the project: ResNet-50 and VGG-16, to the parameter and the microsecond") {
  const std::string folder = std::string(SIMSGD_SOURCE_DIR) + "/../shared/data/layer_profiles";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("SKIPPED: there is no ../shared/data/layer_profiles");
    return;
  }
  const Files files;
  const Imported resnet = import_all({folder + "/resnet50.graph.txt"});
  REQUIRE(resnet.workloads.size() == 1);
  CHECK(resnet.reports[0].ignored.empty());
  const RecordedWorkload& net = resnet.workloads[0];
  CHECK(net.layers.size() == 176);  // of 177 nodes
  CHECK(net.parameters() == 25557032);
  CHECK(net.batch == 128);
  CHECK(net.forward_s() == Approx(182.488e-3).epsilon(1e-12));
  CHECK(net.backward_s() == Approx(260.931e-3).epsilon(1e-12));
  const Job job = job_with(files, net);
  CHECK(job.workload.parameters() == 25557032);
  CHECK(job.workload.one_device_step_s == Approx(443.419e-3).epsilon(1e-12));

  const Imported vgg = import_all({folder + "/vgg16.graph.txt"});
  CHECK(vgg.workloads.at(0).parameters() == 138357544);
  CHECK(vgg.workloads[0].batch == 128);

  const Imported h100 = import_all({folder + "/resnet50_trace.csv", folder + "/resnet50_tensor.csv"});
  REQUIRE(h100.workloads.size() == 1);
  CHECK(h100.workloads[0].parameters() == 25557032);
  CHECK(h100.workloads[0].batch == 128);
  CHECK(h100.workloads[0].forward_s() == Approx(23.901e-3 + 0.845e-3).epsilon(1e-12));  // and the optimizer
  CHECK(h100.workloads[0].backward_s() == Approx(45.977e-3).epsilon(1e-12));
  CHECK(h100.reports[0].ignored.empty());
  CHECK(h100.reports[1].ignored.empty());
}

}  // namespace simsgd::test::traces_profiles
