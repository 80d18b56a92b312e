// Workers that train alone for H steps, tell a server how far they went, and go on from what it answers: what
// methods with servers of differences share. The server lives on one of the ranks, whose own differences need
// no message; what it does with a difference takes no time there.
#pragma once

#include <functional>

#include "algorithms/plugin.hpp"

namespace simsgd {

/// What a server answers to a difference.
struct ServedModel {
  Tensor model;             ///< empty where nothing is learned
  std::uint64_t taken = 0;  ///< differences that it has taken over, this one among them
};

/// All steps of a run. `server`: the rank that this one tells how far it went, theta - x after H steps from
/// theta; on that rank `take` is called for every difference that comes, in the order in which they come.
/// Staleness: the differences of others that the server took over meanwhile. Uses the tags 0x616c and 0x616d.
void run_served(Worker& worker, int inner_steps, int server,
                const std::function<ServedModel(const Tensor& difference)>& take);

/// A message as long as the model.
Message model_sized(const Worker& worker, Tensor values, std::vector<double> numbers = {});
/// The same of how far a model went.
Message difference_of(const Worker& worker, Tensor values);

}  // namespace simsgd
