#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "results/summary.hpp"
#include "results/text_table.hpp"
#include "sim/base/field.hpp"

namespace simsgd::test::results_summary {

namespace {

// A run of four steps that take `step_s` each, of which 0.2 s are computing and the rest is communication.
OrderedJson document(const std::string& cluster, double step_s) {
  OrderedJson run;
  run["scenario"] = OrderedJson::parse(R"({
    "name": "made", "cluster": {"workers": 8, "device": {"name": "V100", "memory": "32 GB"}},
    "workload": {"name": "resnet50", "batch": 64, "layers": [1, 2, 3]},
    "learner": {"model": {"name": "mlp"}, "data": {"name": "fashion_mnist"}, "batch": 32},
    "algorithm": {"name": "allreduce_sgd"}, "target": {"metric": "test_accuracy", "value": 0.86}})");
  run["scenario"]["cluster"]["name"] = cluster;
  run["metrics"] = {{"throughput_samples_per_s", 512 / step_s},
                    {"scaling_efficiency", 0.2 / step_s},
                    {"iteration_time_mean_s", step_s},
                    {"compute_s", 0.2},
                    {"straggle_s", 0.0},
                    {"communication_exposed_s", step_s - 0.2},
                    {"wait_s", 0.0},
                    {"gradient_communication_hidden_s", 0.1},
                    {"bytes_sent_per_worker_per_step", 178899224.0},
                    {"train_loss_final", 0.625},
                    {"test_accuracy_final", 0.88},
                    {"time_to_target_s", 3 * step_s},
                    {"simulated_time_s", 4 * step_s},
                    {"memory_bytes_per_gpu", 6e9},
                    {"cost_usd", 0.01 * step_s},
                    {"energy_J", 3.6e6 * step_s}};
  run["workers"] = {{{"steps", 4}}, {{"steps", 4}}};
  run["fidelity"] = {{{"operation", "all_reduce by ring among 8"}, {"fidelity", "closed"}, {"exact", true}}};
  for (int step = 1; step <= 4; ++step) {
    run["series"]["train"].push_back(
        {{"step", step}, {"time_s", step * step_s}, {"train_loss", 1 - 0.15 * (step - 1)}});
    if (step >= 2)
      run["series"]["test"].push_back(
          {{"step", step}, {"time_s", step * step_s}, {"test_accuracy", 0.8 + 0.02 * step}});
  }
  return run;
}

SummaryColumn column(const OrderedJson& run) {
  const std::string cluster = run["scenario"]["cluster"]["name"];
  return {"cluster=" + cluster, &run, {{"cluster", cluster}}};
}

}  // namespace

TEST_CASE("two runs stand side by side") {
  const OrderedJson slow = document("ethernet-1g", 1.6), fast = document("infiniband-100g", 0.25);
  // Losses 1, 0.85, 0.7, 0.55: their means up to steps 2, 3, 4 are 0.925, 0.85, 0.775.
  CHECK(summary_table({column(slow), column(fast)}) ==
        R"(made: 8 x V100, timing of resnet50 (batch 64), mlp on fashion_mnist (batch 32), allreduce_sgd

cluster                                               ethernet-1g             infiniband-100g
---------------------------------------------------------------------------------------------
Throughput                  samples/s                       320.0                     2,048.0
  over the first            x                                1.00                        6.40
Scaling efficiency          %                                12.5                        80.0

Time per step               ms                            1,600.0                       250.0
  computing                                         12 %    200.0               80 %    200.0
  communication, exposed                            88 %  1,400.0               20 %     50.0
Hidden communication        ms                              100.0                       100.0
Sent per worker and step    MB                              178.9                       178.9
Network fidelity                                    closed, exact               closed, exact

Time of 4 steps             s                                6.40                        1.00
Time to 86 % test accuracy  s                                4.80                        0.75
  over the first            x                               1.000                       0.156

Learning                                  loss  accuracy        s     loss  accuracy        s
  after 2 steps                         0.9250   84.00 %     3.20   0.9250   84.00 %     0.50
  after 3 steps                         0.8500   86.00 %     4.80   0.8500   86.00 %     0.75
  after 4 steps                         0.7750   88.00 %     6.40   0.7750   88.00 %     1.00

Memory per GPU, of 32 GB    GB                               6.00                        6.00
Cost                        USD                           0.01600                     0.00250
  over the first            x                               1.000                       0.156
Energy                      kWh                             1.600                       0.250
)");
}

TEST_CASE("one run needs no heading of its own") {
  OrderedJson run = document("ethernet-1g", 0.25);
  run["scenario"]["learner"] = run["scenario"]["target"] = nullptr;
  run["metrics"]["straggle_s"] = 0.0005;
  run["fidelity"][0] = {{"operation", "all_reduce by ring among 8"},
                        {"fidelity", "flows"},
                        {"reason", "shared links"},
                        {"exact", false}};
  CHECK(summary_table({{"made", &run}}) ==
        R"(made: 8 x V100, ethernet-1g, timing of resnet50 (batch 64), allreduce_sgd

Throughput                samples/s             2,048.0
Scaling efficiency        %                        80.0

Time per step             ms                      250.0
  computing                                 80 %  200.0
  stragglers' delays                        <1 %    0.5
  communication, exposed                    20 %   50.0
Hidden communication      ms                      100.0
Sent per worker and step  MB                      178.9
Network fidelity                     flows, approximate

Time of 4 steps           s                        1.00

Memory per GPU, of 32 GB  GB                       6.00
Cost                      USD                   0.00250
Energy                    kWh                     0.250

Approximate: all_reduce by ring among 8 by flows (shared links)
)");
}

TEST_CASE("of one run the parts of a GPU's memory are named, of several the sum alone") {
  OrderedJson run = document("ethernet-1g", 0.25);
  run["memory"] =
      OrderedJson::parse(R"([{"part": "parameters", "bytes": 1.5e9}, {"part": "momentum", "bytes": 0},
    {"part": "activations", "bytes": 4.5e9}])");
  const std::string alone = summary_table({{"made", &run}});
  CHECK(alone.find("Memory per GPU, of 32 GB") != std::string::npos);
  const std::string memory = alone.substr(alone.find("Memory"), alone.find("Cost") - alone.find("Memory"));
  CHECK(memory ==
        "Memory per GPU, of 32 GB    GB                               6.00\n"
        "  parameters                                                 1.50\n"
        "  activations                                                4.50\n");
  CHECK(summary_table({column(run), column(run)}).find("  parameters") == std::string::npos);
}

TEST_CASE("notes that differ in their percentages alone are one, with the least and the greatest") {
  OrderedJson slow = document("a", 1.6), fast = document("b", 0.25), fastest = document("c", 0.2);
  slow["notes"] = {"late by up to 13 %: evaluate more often", "rank 1 is slow"};
  fast["notes"] = {"late by up to 9.5 %: evaluate more often", "rank 2 is slow"};
  fastest["notes"] = {"late by up to 12 %: evaluate more often"};
  const std::string text = summary_table({column(slow), column(fast), column(fastest)});
  CHECK(text.substr(text.find("\nNotes")) ==
        "\nNotes\n"
        "- late by up to 9.5 to 13 %: evaluate more often\n"
        "- rank 1 is slow (cluster=a)\n"
        "- rank 2 is slow (cluster=b)\n");
}

TEST_CASE("the heading of a real run says how many ranks measured, and not the scenario's cluster") {
  OrderedJson run = document("ethernet-1g", 1.6);
  run["clock"] = "wall";
  CHECK(summary_table({{"made", &run}})
            .starts_with("made: 8 ranks, measured, mlp on fashion_mnist (batch 32), allreduce_sgd\n"));
  run["scenario"]["learner"] = nullptr;
  CHECK(summary_table({{"made", &run}})
            .starts_with("made: 8 ranks, measured, timing of resnet50 (batch 64), allreduce_sgd\n"));
}

TEST_CASE("notes stand below the summary, once each, with the runs that they are on") {
  OrderedJson slow = document("ethernet-1g", 1.6), fast = document("infiniband-100g", 0.25);
  slow["notes"] = {"one is on both", "this one on the first"};
  fast["notes"] = {"one is on both"};
  const std::string both = "\nNotes\n- one is on both\n- this one on the first (cluster=ethernet-1g)\n";
  CHECK(summary_table({column(slow), column(fast)}).ends_with(both));
  CHECK(summary_table({column(slow), {"cluster=x", nullptr, {{"cluster", "x"}}}})
            .ends_with("\nNotes\n- one is on both\n- this one on the first\n"));
  std::vector<OrderedJson> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(shortened_for_rows((i < 5 ? slow : fast).dump()));
  std::vector<SummaryColumn> columns;
  for (const OrderedJson& run : runs) columns.push_back(column(run));
  CHECK(
      summary_table(columns).ends_with("\nNotes\n- one is on both\n- this one on the first (5 of 8 runs)\n"));
}

TEST_CASE("a target that was not met, and a run that failed") {
  OrderedJson run = document("ethernet-1g", 0.25);
  run["metrics"].erase("time_to_target_s");
  CHECK(
      summary_table({column(run), {"cluster=x", nullptr, {{"cluster", "x"}}}}) ==
      R"(made: 8 x V100, ethernet-1g, timing of resnet50 (batch 64), mlp on fashion_mnist (batch 32), allreduce_sgd

cluster                                               ethernet-1g                           x
---------------------------------------------------------------------------------------------
Run                                                            ok                      failed

Throughput                  samples/s                     2,048.0                           -
Scaling efficiency          %                                80.0                           -

Time per step               ms                              250.0                           -
  computing                                           80 %  200.0                           -
  communication, exposed                              20 %   50.0                           -
Hidden communication        ms                              100.0                           -
Sent per worker and step    MB                              178.9                           -
Network fidelity                                    closed, exact                           -

Time of 4 steps             s                                1.00                           -
Time to 86 % test accuracy  s                             not met                           -

Learning                                  loss  accuracy        s     loss  accuracy        s
  after 2 steps                         0.9250   84.00 %     0.50        -         -        -
  after 3 steps                         0.8500   86.00 %     0.75        -         -        -
  after 4 steps                         0.7750   88.00 %     1.00        -         -        -

Memory per GPU, of 32 GB    GB                               6.00                           -
Cost                        USD                           0.00250                           -
Energy                      kWh                             0.250                           -
)");
}

TEST_CASE("where workers did not do as many steps as one another, the fewest and the most stand for them") {
  OrderedJson run = document("ethernet-1g", 0.25);
  run["workers"][1]["steps"] = 1200;
  CHECK(summary_table({{"made", &run}}).find("\nTime of 4 to 1,200 steps") != std::string::npos);
}

TEST_CASE("without a target, the time to the best accuracy that all reach, in whole percents") {
  OrderedJson slow = document("ethernet-1g", 1.6), fast = document("infiniband-100g", 0.25);
  slow["scenario"]["target"] = fast["scenario"]["target"] = nullptr;
  // The best of the slow one is 0.855, which the fast one reaches with 0.86 at its third step.
  slow["series"]["test"][1]["test_accuracy"] = 0.852;
  slow["series"]["test"][2]["test_accuracy"] = 0.855;
  const std::string text = summary_table({column(slow), column(fast)});
  CHECK(
      text.find(
          "Time to 85 % test accuracy  s                                4.80                        0.75\n") !=
      std::string::npos);
}

TEST_CASE("more runs become rows") {
  std::vector<OrderedJson> runs;
  for (int i = 0; i < 6; ++i)
    runs.push_back(shortened_for_rows(document("ethernet-1g", 0.25 * (i + 1)).dump()));
  std::vector<SummaryColumn> columns;
  for (int i = 0; i < 6; ++i)
    columns.push_back({"", &runs[static_cast<std::size_t>(i)], {{"seed", std::to_string(i)}}});
  columns.push_back({"", nullptr, {{"seed", "6"}}});
  CHECK(
      summary_table(columns) ==
      R"(made: 8 x V100, ethernet-1g, timing of resnet50 (batch 64), mlp on fashion_mnist (batch 32), allreduce_sgd

seed  throughput  over first  efficiency     step  exposed comm.   run  to target   loss  accuracy     cost  energy
       samples/s           x           %       ms             ms     s          s                %      USD     kWh
-------------------------------------------------------------------------------------------------------------------
0        2,048.0       1.000        80.0    250.0           50.0  1.00       0.75  0.625      88.0  0.00250   0.250
1        1,024.0       0.500        40.0    500.0          300.0  2.00       1.50  0.625      88.0  0.00500   0.500
2          682.7       0.333        26.7    750.0          550.0  3.00       2.25  0.625      88.0  0.00750   0.750
3          512.0       0.250        20.0  1,000.0          800.0  4.00       3.00  0.625      88.0  0.01000   1.000
4          409.6       0.200        16.0  1,250.0        1,050.0  5.00       3.75  0.625      88.0  0.01250   1.250
5          341.3       0.167        13.3  1,500.0        1,300.0  6.00       4.50  0.625      88.0  0.01500   1.500
6         failed

Network fidelity: closed, exact
)");
}

TEST_CASE("what rows need of a document is read from its text, whatever stands in the rest") {
  OrderedJson run = document("ethernet-1g", 0.25);
  run["context"] = {{"host", R"(a "{[,]}" \\)"}, {"lists", {{1, "]"}, {}}}};
  run["scenario"]["name"] = R"("quoted": {)";
  run["notes"] = {R"(a note, with "metrics": {})"};
  const OrderedJson read = shortened_for_rows(run.dump());
  CHECK(read.size() == 4);
  for (const char* part : {"metrics", "fidelity", "notes"}) CHECK(read.at(part) == run.at(part));
  CHECK(read.at("scenario") == OrderedJson::parse(R"({
    "name": "\"quoted\": {", "cluster": {"workers": 8, "device": {"name": "V100"}, "name": "ethernet-1g"},
    "workload": {"name": "resnet50", "batch": 64},
    "learner": {"model": {"name": "mlp"}, "data": {"name": "fashion_mnist"}, "batch": 32},
    "algorithm": {"name": "allreduce_sgd"}})"));
}

TEST_CASE("rows leave out long coordinates that follow from another one, as in zipped axes") {
  const OrderedJson run = shortened_for_rows(document("ethernet-1g", 0.25).dump());
  std::vector<SummaryColumn> columns;
  for (int i = 0; i < 7; ++i)
    columns.push_back({"",
                       &run,
                       {{"name", i < 4 ? "none" : "one slow worker"},
                        {"stragglers", i < 4 ? "[]" : R"([{"name":"constant","factor":1.5}])"},
                        {"seed", std::to_string(i)}}});
  const std::string table = summary_table(columns);
  CHECK(table.find("name             seed  throughput") != std::string::npos);
  CHECK(table.find("stragglers") == std::string::npos);
  CHECK(table.find("one slow worker  6") != std::string::npos);
}

TEST_CASE("the slowest worker and the busiest link have names, and the network's fidelity is told") {
  OrderedJson run = document("ethernet-1g", 0.25), even = document("infiniband-100g", 0.25);
  run["workers"] = even["workers"] = OrderedJson::array();
  for (int rank = 0; rank < 4; ++rank) {
    const double straggle_s = rank == 2 ? 0.4 : 0;  // of 4 steps: 0.3 s instead of 0.2 s each
    for (OrderedJson* each : {&run, &even})
      (*each)["workers"].push_back(
          {{"rank", rank},
           {"steps", 4},
           {"time_by_activity", {{"compute_s", 0.8}, {"straggle_s", each == &run ? straggle_s : 0}}}});
  }
  run["links"] = {{{"name", "node3.nic0.up"}, {"utilisation", 0.853}}, {{"name", "b"}, {"utilisation", 0.1}}};
  even["fidelity"].push_back({{"operation", "broadcast by tree among 8"},
                              {"fidelity", "flows"},
                              {"reason", "shared links"},
                              {"exact", false}});
  const std::string text = summary_table({column(run), column(even)});
  const auto cells = [&text](const std::string& label) {
    const std::size_t begin = text.find("\n" + label) + 1;
    std::string line = text.substr(begin, text.find('\n', begin) - begin), words;
    for (const char letter : line)
      if (letter != ' ' || (!words.empty() && words.back() != ' ')) words += letter;
    return words;
  };
  CHECK(cells("Slowest worker") == "Slowest worker rank 2, +50 % -");
  CHECK(cells("Busiest link") == "Busiest link node3.nic0.up, 85 % -");
  CHECK(cells("Network fidelity") == "Network fidelity closed, exact closed + flows, approximate");
  // Of two workers the other one is what the slower is compared with.
  for (const int rank : {1, 0}) run["workers"].erase(static_cast<std::size_t>(rank));
  CHECK(summary_table({column(run)}).find("rank 2, +50 %") != std::string::npos);
}

TEST_CASE("what an algorithm decided is shown as tables, numbers with separators") {
  const auto document = OrderedJson::parse(R"({"tables": {"factor_groups": {
    "columns": ["group", "first", "elements"], "rows": [[1, "A 1", 62348671], [2, "G 54", 0.25]]}}})");
  CHECK(decided_tables(document) ==
        "\n"
        "factor groups (2)\n"
        "group  first    elements\n"
        "------------------------\n"
        "1        A 1  62,348,671\n"
        "2       G 54        0.25\n");
}

TEST_CASE("of a long table the first rows are shown, and how many more there are") {
  OrderedJson document;
  document["tables"]["t"] = {{"columns", {"n"}}, {"rows", OrderedJson::array()}};
  for (int row = 1; row <= 20; ++row) document["tables"]["t"]["rows"].push_back(OrderedJson::array({row}));
  const std::string text = decided_tables(document);
  CHECK(text.find("\n16\n... and 4 more: --json has them all\n") != std::string::npos);
  CHECK(text.find("\n17\n") == std::string::npos);
}

TEST_CASE("nothing is shown of an algorithm that decides nothing") {
  CHECK(decided_tables(OrderedJson::object()).empty());
  CHECK(decided_tables({{"tables", OrderedJson::object()}}).empty());
}

TEST_CASE("columns are as wide as their widest cell, in characters and not in bytes") {
  const TextTable table{.left = 1, .rows = {{"name", "value"}, {"-"}, {"é", "1"}, {}, {"four", "12"}}};
  CHECK(table.text() ==
        "name  value\n"
        "-----------\n"
        "é         1\n"
        "\n"
        "four     12\n");
}

TEST_CASE("thousands are separated") {
  CHECK(grouped(1729.49, 1) == "1,729.5");
  CHECK(grouped(1234567, 0) == "1,234,567");
  CHECK(grouped(999.94, 1) == "999.9");
  CHECK(grouped(-1000, 0) == "-1,000");
  CHECK(grouped(-0.0, 1) == "0.0");
}

TEST_CASE("values to be compared share the unit in which the smallest is at least one") {
  const CommonUnit step = common_time_unit({1.7295, 0.2554});
  CHECK(step.name == "ms");
  CHECK(step.show(1.7295) == "1,729.5");
  CHECK(step.show(0.2554) == "255.4");
  CHECK(common_time_unit({3459, 511}).name == "min");
  CHECK(common_time_unit({3459, 90}).name == "s");
  CHECK(common_time_unit({0, 2e-6}).show(2e-6) == "2.00");
  CHECK(common_bytes_unit({178899224}).name == "MB");
  CHECK(common_unit("kWh", 3.6e6, {1720237.9}).show(1720237.9) == "0.478");
}

TEST_CASE("a value below every unit, and none at all, are still shown") {
  CHECK(common_time_unit({1e-12}).show(1e-12) == "0.00100");
  CHECK(common_time_unit({}).show(0) == "0.0");
  for (const std::vector<double>& nothing : {std::vector<double>{}, {0}, {0, 0}}) {
    CHECK(common_time_unit(nothing).name == "s");
    CHECK(common_bytes_unit(nothing).name == "B");
  }
}

TEST_CASE("a share is 0 % or 100 % only where it is nothing or all") {
  for (int of_2000 = -100; of_2000 <= 2000; ++of_2000) {
    CAPTURE(of_2000);
    const std::string shown = shown_share(of_2000 / 2000.0);
    CHECK((shown == "100 %") == (of_2000 == 2000));
    if (of_2000 >= 0) CHECK((shown == "0 %") == (of_2000 == 0));
    CHECK(shown.find("-0 ") == std::string::npos);
  }
}

TEST_CASE("a summary tells no fidelity of one worker, which has sent nothing") {
  OrderedJson alone = document("any", 1);
  CHECK(summary_table({column(alone)}).find("Network fidelity") != std::string::npos);
  alone["scenario"]["cluster"]["workers"] = 1;
  CHECK(summary_table({column(alone)}).find("Network fidelity") == std::string::npos);
}

}  // namespace simsgd::test::results_summary
