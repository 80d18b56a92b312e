// Why N GPUs are not N times one, and what would help: answered from a few numbers. A scenario is made of
// them, with layers of equal size and the cluster files that are shipped, and `run` simulates it with one
// thing changed at a time: nothing here has a model of its own.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/parameter_draws.hpp"

namespace simsgd {

struct ScalingQuestion {
  double parameters = 0;
  double step_s = 0;  ///< forward and backward pass on one GPU
  int gpus = 0;
  std::string network;  ///< "10gbe", "ib100", or a cluster file
  std::string
      framework;  ///< one of scaling_frameworks(); "": the first, on a cluster file with the file's stack
  std::optional<int> gpus_per_node;
};

/// "ddp", "fsdp", "horovod", ...: what `framework` may be.
std::vector<std::string> scaling_frameworks();

/// The efficiency that a bandwidth is looked for; where an endless network keeps less, this share of that.
inline constexpr double kWantedEfficiency = 0.9;

/// So many GPUs with one thing changed, or nothing.
struct ScalingCase {
  std::string name, label;  ///< of a remedy
  std::string caveat;       ///< what it costs elsewhere
  int gpus = 0, nodes = 0;
  double step_s = 0;         ///< for as much computing as a step of the question has
  double efficiency = 0;     ///< computing time of one GPU over step_s
  std::string impossible{};  ///< why it cannot run; empty where it has times
};

struct TimeShare {
  std::string metric, label;
  double seconds = 0;
};

struct ScalingAnswer {
  ScalingQuestion question;
  std::string cluster;
  int gpus_per_node = 1;
  ScalingCase asked;
  std::vector<Interval> step_intervals;  ///< of its step
  std::vector<TimeShare> parts;          ///< of its step: they sum to it
  double hidden_s = 0;                   ///< communication behind computing, beside them
  double sent_bytes = 0;                 ///< by a worker in a step
  double nic_Bps = 0;                    ///< nominal, of a node
  std::vector<ScalingCase> sizes;        ///< 1, 2, 4, ... GPUs up to what is asked
  std::optional<double> wanted_Bps;      ///< of a node, that keeps `wanted`; nothing where all GPUs share one
  bool wanted_is_least = false;          ///< slower ones, which were not tried, may keep it too
  double wanted = kWantedEfficiency;
  double limit = 1;                   ///< efficiency with a network of endless bandwidth
  std::vector<ScalingCase> remedies;  ///< fastest first; impossible ones last
  std::vector<std::string> notes;
  nlohmann::ordered_json scenario;  ///< that `run` takes
};

struct ScalingSettings {
  int jobs = 1;  ///< children at a time; answers do not depend on it
  std::function<bool()> interrupted{};
  std::function<void(std::size_t done)> progress{};  ///< may be empty
};

/// Throws ConfigError with all that is wrong with the question, named by the options of `simsgd explain`.
ScalingAnswer answer(const ScalingQuestion& question, const ScalingSettings& settings);

/// What it comes to, in a few sentences; the whole for people, with a picture; and as JSON.
std::string sentences(const ScalingAnswer& answer);
/// `width`: columns of the terminal that it is for; 0: any.
std::string scaling_text(const ScalingAnswer& answer, std::size_t width = 0);
nlohmann::ordered_json scaling_json(const ScalingAnswer& answer);

}  // namespace simsgd
