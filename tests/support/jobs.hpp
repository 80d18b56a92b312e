// Small jobs made by hand, so that a test shows every number it needs.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "sim/base/fields.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/worker.hpp"

namespace simsgd::test {

/// A non-blocking switch: each of `ports` GPUs has a link up and a link down of `bandwidth_Bps`, half of
/// `alpha_s` each.
Network star(int ports, double alpha_s, double bandwidth_Bps);
/// A star whose port i has its own bandwidth and latency: a message i -> j takes up_alpha[i] + down_alpha[j]
/// and the narrower of the two links.
Network unequal_star(const std::vector<double>& port_alpha_s, const std::vector<double>& port_Bps);
/// As `star`, but all messages from the first half of the ports to the second half share one trunk, and back
/// another.
Network trunk(int ports, double alpha_s, double bandwidth_Bps, double trunk_Bps);

/// An algorithm made of one function that every rank runs.
class ScriptedAlgorithm final : public Algorithm {
 public:
  explicit ScriptedAlgorithm(std::function<void(Worker&)> body) : body_(std::move(body)) {}
  void run(Worker& worker) const override { body_(worker); }

 private:
  std::function<void(Worker&)> body_;
};

/// A job of time only: one layer of `parameters`, no computing, on `network`, running `body` on every rank.
Job scripted_job(Network network, std::function<void(Worker&)> body, double parameters = 1e6);

/// Gives a job `count` layers, each of one tensor of so many parameters; 0: of none.
void give_layers(Job& job, std::size_t count, double parameters, double forward_s, double backward_s);

/// Three, one of them without parameters: 36 x `scale` numbers.
void give_three_layers(Job& job, double scale, int micro_batches);

/// All-reduces, reduce-scatters and all-gathers go by rings.
void use_rings(Job& job);

/// A collective of `bytes` without values.
template <class Operation>
Operation timed(double bytes, const std::string& schedule, int root = 0) {
  Operation operation;
  operation.bytes = bytes;
  operation.schedule = schedule;
  if constexpr (requires { operation.root; }) operation.root = root;
  return operation;
}
/// The same where the operation is a parameter of the test; and waits for it.
AnyCollective timed_any(CollectiveOp op, double bytes, const std::string& schedule, int root = 0);
void run_any(Worker& worker, AnyCollective collective);

struct LearnerRequest {
  std::string data, model;  ///< by the names of their plug-ins
  Json data_parameters = Json::object(), model_parameters = Json::object();
  std::uint64_t data_seed = 1;
  int batch = 1;
  double learning_rate = 0.1, momentum = 0;
};
/// Gives a job that learner and SGD.
void give_learner(Job& job, const LearnerRequest& request);

/// Gives a job a learner: softmax regression (dimension 8, 4 classes) on a Gaussian mixture of `samples`
/// samples, and SGD with momentum 0.9.
void add_learner(Job& job, int batch, int samples = 4096, double learning_rate = 0.05);

/// Gives a job the algorithm of that name with `parameters`.
void use_algorithm(Job& job, const std::string& name, const Json& parameters = Json::object());

RunRecord simulate_job(const Job& job, int threads = 1, const std::vector<Observer*>& observers = {});

// Of a record: the training losses of all steps, the steps of all workers; what one worker sent, and where
// its time went.
std::vector<double> losses_of(const RunRecord& record);
std::vector<double> steps_of(const RunRecord& record);
double sent_bytes(const WorkerTotals& worker, Traffic traffic);
double spent_s(const WorkerTotals& worker, Activity activity);
/// Bytes of the part of that name; 0 where there is none.
double memory_of(const std::vector<MemoryPart>& parts, const std::string& name);

/// The largest difference of two entries, relative to that of `b`.
double worst_relative_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace simsgd::test
