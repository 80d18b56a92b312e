// What the keys of a document mean.
#include "results/curves.hpp"
#include "results/document.hpp"

namespace simsgd {

namespace {

std::vector<DocumentKey> run_keys() {
  return {
      {"/schema_version", "1", "Version of this layout"},
      {"/context", "",
       "Program, version, commit, machine, date, wall time and peak memory: all that is not reproducible"},
      {"/scenario", "", "The scenario with everything it uses and every default; a scenario file in itself"},
      {"/clock", "", "\"simulated\", or \"wall\" for a real run"},
      {"/one_device/step_s", "s", "A step of the workload on one device, the baseline of scaling_efficiency"},
      {"/one_device/source", "", "Where that time comes from"},
      {"/metrics/*", "", "See the table of metrics; one that has no value is left out"},
      {"/intervals/*/*/level", "1",
       "Of each metric that goes with time, intervals in which it lies with this probability: from the cluster's calibration, else from what data sheets were off by (docs/calibration.md)"},
      {"/intervals/*/*/low", "", "Lower end, in the metric's unit"},
      {"/intervals/*/*/high", "", "Upper end"},
      {"/uncertainty/draws", "1",
       "How many draws of parameters and seeds together the intervals are made of"},
      {"/uncertainty/seeds_matter", "",
       "Whether anything is drawn by the seed: else parameters alone are drawn"},
      {"/uncertainty/least_reach/half", "1",
       "How far intervals of one half reach at least on both sides, a logarithm: as far as cells that were left out of the calibration were off, and further where nothing like this run was fitted"},
      {"/uncertainty/least_reach/nine_tenths", "1", "The same of nine tenths"},
      {"/uncertainty/deviations/*/deviation", "", "Standard deviation of the metric over the draws"},
      {"/uncertainty/deviations/*/of_seeds", "", "The same where seeds alone are drawn"},
      {"/uncertainty/deviations/*/of_parameters", "", "What is left: that of the parameters"},
      {"/uncertainty/data_sheets/*/*/level", "1",
       "Of computing, kernels and communication that follow from data sheets: of these shares of published cells"},
      {"/uncertainty/data_sheets/*/*/low", "1", "The least that was measured over what was predicted"},
      {"/uncertainty/data_sheets/*/*/high", "1", "The most"},
      {"/memory/*/part", "", "What the algorithm keeps on each GPU: parameters, activations, ..."},
      {"/memory/*/bytes", "B", "Its size, the most of any GPU; together they are memory_bytes_per_gpu"},
      {"/workers/*/rank", "1", "Rank of the worker"},
      {"/workers/*/node", "1", "Node that it runs on"},
      {"/workers/*/steps", "1", "Steps that it completed"},
      {"/workers/*/samples", "1", "Training samples whose gradient was used"},
      {"/workers/*/end_s", "s", "When its last step ended"},
      {"/workers/*/time_s", "s", "Sum of time_by_activity"},
      {"/workers/*/time_by_activity/*", "s", "Its whole time, by what it did"},
      {"/workers/*/communication_s/*", "s", "Communication in progress, exposed or hidden, by kind"},
      {"/workers/*/communication_exposed_s/*", "s", "Communication that it waited for, by kind"},
      {"/workers/*/communication_overhead_s/*", "s",
       "What it lost to collectives, by kind: exposed communication and host work"},
      {"/workers/*/bytes_sent/*", "B", "Bytes sent, by kind"},
      {"/workers/*/staleness/*", "1", "Ages in steps of what was applied; 0 where nothing has an age"},
      {"/workers/*/distributions/*/zero", "1", "Steps in which it waited, or straggled, less than 1 ns"},
      {"/workers/*/distributions/*/bins", "s",
       "Steps by how long it waited or straggled in them: lists of from, to (excluded) and number of steps"},
      {"/workers/*/distributions/staleness", "1", "Lists of an age in steps, and how often it occurred"},
      {"/links/*/name", "", "The busiest links, at most 64, by utilisation"},
      {"/links/*/bandwidth_Bps", "B/s", "Bandwidth of one direction"},
      {"/links/*/bytes", "B", "Bytes carried"},
      {"/links/*/utilisation", "1", "Bytes over what it could have carried in the run"},
      {"/links_total", "1", "Links that carried anything"},
      {"/fidelity/*", "",
       "How each kind of collective was costed, why, whether that is exact, and how many there were"},
      {"/tables/*/columns", "", "What the algorithm decided, such as fusion groups: names of the columns"},
      {"/tables/*/rows", "", "One list for each row, a cell for each column"},
  };
}

}  // namespace

const std::vector<DocumentKey>& document_keys() {
  static const std::vector<DocumentKey> keys = [] {
    std::vector<DocumentKey> all = run_keys();
    for (const Curve& curve : curves())
      for (const CurveColumn& column : curve.columns)
        all.push_back({"/series/" + curve.series + "/*/" + column.name, column.unit,
                       column.definition + (column.when_empty.empty() ? "" : ". Null " + column.when_empty)});
    all.push_back(
        {"/notes/*", "",
         "What the result leaves out or assumes; of a real run, also what it does not take from its scenario"});
    return all;
  }();
  return keys;
}

}  // namespace simsgd
