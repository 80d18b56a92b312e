// Parts of the shipped methods, for methods in Python: what would take them pages, or has to run on other
// threads.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/buckets.hpp"
#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "sim/cluster/cluster.hpp"

namespace simsgd::python {

/// What a method keeps of its context, which ends before the run.
struct Parts {
  Cluster cluster;
  bool has_cluster = false;
  /// By density and what is put back: one object for all ranks.
  mutable std::map<std::pair<double, std::string>, std::shared_ptr<const Schedule>> merges{};
  /// The same of messages of the method's own: by stages, bytes, and whether all wait for all.
  mutable std::map<std::tuple<std::vector<std::vector<long long>>, double, bool>,
                   std::shared_ptr<const Schedule>>
      messages{};
};

/// Those of one worker.
class ShippedParts {
 public:
  ShippedParts(Worker& worker, const Parts& parts) : worker_(worker), parts_(parts) {}

  /// Throws RunError where the stages do not fit the group.
  std::shared_ptr<const Schedule> messages(const std::vector<std::vector<long long>>& stages, double bytes,
                                           bool together) const;
  double kernel_s(const std::string& kernel, double a, double b, double c) const;

  /// One of `count` parts of consecutive layers: its parameters (of the workload).
  std::vector<double> fragment(long long index, long long count);
  Tensor own_part(long long index, long long count);
  void set_own_part(long long index, long long count, const Tensor& part);

  /// gTop-k: a number for what follows.
  long long sparsifier(double density, const std::string& put_back);
  Sparsifier::Choice choose(long long sparsifier, const Tensor& gradient);
  Tensor merge(long long sparsifier, const Tensor& selected);
  void keep(long long sparsifier, const Tensor& accumulated, const Tensor& selected, const Tensor& merged);
  Tensor dense(long long sparsifier, const Tensor& merged);
  void note_merges(long long sparsifier);

  std::deque<std::unique_ptr<WaitAvoiding>> services;

 private:
  struct Sparse;
  const Bucket& bucket(long long index, long long count);
  Sparse& sparse(long long number);

  Worker& worker_;
  const Parts& parts_;
  std::vector<std::vector<Bucket>> fragments_;  // by their count
  std::deque<std::shared_ptr<Sparse>> sparse_;  // shared with nobody; complete in parts.cpp alone
};

}  // namespace simsgd::python
