#include "oracle.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "tests/support/contents.hpp"
#include "tests/support/temporary_folder.hpp"

namespace simsgd::test {

namespace {

// Two links of 2.5 us on every route, one up and one down.
void write_platform(const TemporaryFolder& folder, int hosts) {
  std::ofstream(folder.path("platform.xml")) << fmt::format(
      R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node" suffix="" radical="0-{}" speed="1Gf" bw="25GBps" lat="2.5us"
           sharing_policy="SPLITDUPLEX"/>
</platform>
)",
      hosts - 1);
  std::ofstream names(folder.path("hosts"));
  for (int i = 0; i < hosts; ++i) names << "node" << i << "\n";
}

std::string command(const TemporaryFolder& folder, const SmpiRun& run) {
  std::string calls;
  for (const SmpiCall& call : run.calls) calls += fmt::format(" {} {}", call.count, call.skew_us);
  return fmt::format(
      "cd {0} && {1} -np {2} -platform platform.xml -hostfile hosts --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/allreduce:{3} {4}{5} 2>errors",
      folder.path(""), SIMSGD_SMPIRUN, run.ranks, run.algorithm, SIMSGD_SMPI_PROGRAM, calls);
}

}  // namespace

std::vector<SmpiTimes> smpi_times(const SmpiRun& run) {
  const TemporaryFolder folder;
  write_platform(folder, run.ranks);
  const std::string line = command(folder, run);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("smpirun cannot be started");
  const std::vector<double> none(static_cast<std::size_t>(run.ranks), -1);
  std::vector<SmpiTimes> times(run.calls.size(), {none, none});
  std::size_t call = 0, told = 0;
  int rank = 0;
  double begin = 0, end = 0;
  for (; std::fscanf(pipe.get(), "%zu %d %lf %lf", &call, &rank, &begin, &end) == 4; ++told) {
    times.at(call).begins.at(static_cast<std::size_t>(rank)) = begin;
    times.at(call).ends.at(static_cast<std::size_t>(rank)) = end;
  }
  if (told != times.size() * none.size())
    throw std::runtime_error("smpirun failed: " + line + "\n" + contents(folder.path("errors")));
  return times;
}

}  // namespace simsgd::test
