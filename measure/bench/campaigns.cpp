#include "measure/bench/campaigns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "traces/reading/csv.hpp"

namespace simsgd {

const std::vector<SampleColumn>& sample_columns() {
  static const std::vector<SampleColumn> columns = {
      {"benchmark", "", "`network`, `collectives` or `compute`"},
      {"campaign", "", "from 1; campaigns are apart in time"},
      {"campaign_begun_unix_s", "s", "since 1970"},
      {"load_1min", "", "load average over the minute before the campaign"},
      {"cores", "", "cores of rank 0's machine that its ranks may use"},
      {"ranks_per_core", "", "on the fullest machine; above 1, ranks wait for their turn"},
      {"operation", "",
       "`ping_pong`, `exchange` (both ways), `exchanges` (of several pairs), a collective; empty for kernels"},
      {"schedule", "", "as in scenarios, or `mpi`: MPI's own choice; empty for messages and kernels"},
      {"workers", "", "ranks that took part"},
      {"nodes", "", "hosts that the ranks were on"},
      {"bytes", "B",
       "size of the message, or of the whole array; for an all-to-all, of one rank's contribution"},
      {"sample", "", "from 1; warm-up is left out"},
      {"time_s", "s",
       "half the round trip of a ping-pong; else from the common start until the last rank is done"}};
  return columns;
}

SampleTable::SampleTable(std::string benchmark, const BenchMachine& machine,
                         const std::vector<std::string>& labels)
    : benchmark_(std::move(benchmark)),
      cores_(machine.cores),
      ranks_per_core_(machine.ranks_per_core),
      labels_(labels.size()) {
  for (const SampleColumn& column : sample_columns())
    text_ += (text_.empty() ? "" : ",") + std::string(column.name);
  for (const std::string& label : labels) text_ += "," + label;
  text_ += "\n";
}

void SampleTable::add(const Campaign& campaign, const BenchPoint& point, const std::vector<double>& times_s) {
  CHECK(point.labels.size() == labels_, "a point has a cell for each label of its table");
  std::string labels;
  for (const std::string& label : point.labels) append_csv(labels += ',', label);
  const std::string front = fmt::format(
      "{},{},{:.0f},{},{},{:.4g},{},{},{},{},{}", benchmark_, campaign.number, campaign.begun_unix_s,
      std::isnan(campaign.load) ? std::string() : fmt::format("{:.2f}", campaign.load), cores_,
      ranks_per_core_, point.operation, point.schedule, point.workers, point.nodes,
      point.bytes > 0 ? fmt::format("{:.0f}", point.bytes) : std::string());
  for (std::size_t s = 0; s < times_s.size(); ++s)
    text_ += fmt::format("{},{},{:.9g}{}\n", front, s + 1, times_s[s], labels);
}

namespace {

constexpr int kWarmUp = 3;
constexpr int kLeastSamples = 3;

double unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

int samples_for(const BenchOptions& options, double once_s) {
  const double fit = once_s > 0 ? options.point_s / once_s : options.samples;
  return static_cast<int>(std::clamp<double>(fit, std::min(kLeastSamples, options.samples), options.samples));
}

std::vector<double> sizes_of(const BenchOptions& options, bool between) {
  std::vector<double> sizes;
  const auto add = [&](double bytes) {
    if (bytes >= options.min_bytes && bytes <= options.max_bytes) sizes.push_back(bytes);
  };
  constexpr int kOctaves = 31;
  for (int octave = 0; octave < kOctaves; ++octave) {
    const double power = std::exp2(octave);
    constexpr double kBetween = 1.5;
    add(power);
    if (between && octave > 0) add(kBetween * power);
  }
  return sizes;
}

std::vector<std::size_t> random_order(std::size_t n, std::uint64_t seed, int campaign) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Stream stream({seed, Purpose::resampling, 0, static_cast<std::uint64_t>(campaign)});
  for (std::size_t i = n; i > 1; --i)
    std::swap(order[i - 1], order[stream.below(static_cast<std::uint32_t>(i))]);
  return order;
}

void quiet_barrier(MPI_Comm comm) {
  constexpr double kNap_s = 1e-3;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  int complete = 0;
  while (MPI_Test(&request, &complete, MPI_STATUS_IGNORE), complete == 0) nap(kNap_s);
}

void run_campaigns(const Bench& bench, std::size_t points,
                   const std::function<void(const Campaign&, std::size_t)>& measure) {
  const bool speaks = bench.machine.rank == 0;
  for (int number = 1; number <= bench.options.campaigns; ++number) {
    if (number > 1) nap(bench.options.apart_s);
    const Campaign campaign{number, unix_s(), load_of_last_minute()};
    if (speaks)
      fmt::print(stderr, "Campaign {} of {}: {} points, load {:.2f}.\n{}", number, bench.options.campaigns,
                 points, campaign.load, doubt_about(bench.machine, campaign.load));
    quiet_barrier(bench.world);
    for (const std::size_t point : random_order(points, bench.options.seed, number)) measure(campaign, point);
    quiet_barrier(bench.world);
  }
}

Together::Together(const Bench& bench, MPI_Comm comm) : bench_(bench), comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

double Together::agree(double own) const {
  double largest = own;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, comm_, &request);
  bench_.waiting.all({&request, 1});
  return largest;
}

// The instant at which the operation begins. It lies so far ahead that everybody has heard of it.
double Together::start() const {
  constexpr double kPolled_s = 300e-6, kSlept_s = 2e-3;
  if (!bench_.machine.one_clock) {
    agree(0);
    return seconds_now();
  }
  const double start_s = agree(seconds_now()) + (bench_.waiting.sleeps() ? kSlept_s : kPolled_s);
  bench_.waiting.until(start_s);
  return start_s;
}

double Together::once(const std::function<void()>& operation) const {
  const double start_s = start();
  operation();
  return seconds_now() - start_s;
}

std::vector<double> Together::times(const std::function<void()>& operation) {
  double warm_s = 0;
  for (int i = 0; i < kWarmUp; ++i) {
    warm_s = agree(once(operation));
    if (i == 0) bench_.waiting.look_for_sockets();
    if (i == 0 && warm_s > bench_.options.point_s) break;
  }
  std::vector<double> own(static_cast<std::size_t>(samples_for(bench_.options, warm_s)));
  for (double& sample : own) sample = once(operation);
  std::vector<double> last(own.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ireduce(own.data(), last.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_MAX, 0, comm_, &request);
  bench_.waiting.all({&request, 1});
  return rank_ == 0 ? last : std::vector<double>();
}

}  // namespace simsgd
