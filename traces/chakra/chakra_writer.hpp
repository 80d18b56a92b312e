// A job of ours as Chakra execution traces, one file per rank, which ASTRA-sim runs: listens to a simulation
// and writes what each rank computed, layer by layer, its collectives, and what waited for what.
//
// Computing: one COMP_NODE after another (data dependencies). A layer's share of its pass is that of its
// nominal time; micro-batches before the last one, the optimizer and delays are nodes, too; waiting is none.
// Collectives: COMM_COLL_NODEs, with a data dependency on the computing that had ended when the rank started
// them and a control dependency on the one before it on its channel. Computing after a wait depends on the
// last operation of that channel that had ended then.
//
// Exact where everybody waits for everybody and no communication slows the computing beside it; else a
// layer's end within its pass is approximate, and operations that go on without late workers have no
// dependency that says so. Messages between two ranks, and an algorithm's own operations, have no counterpart
// that we write: problem() says so. Test: tests/traces/chakra.cpp plays the dependencies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/observer.hpp"
#include "sim/workload.hpp"
#include "traces/chakra/chakra_nodes.hpp"

namespace simsgd {

struct ChakraWriterSetup {
  std::string name;    ///< of the job
  std::string device;  ///< as the cluster calls it
  int workers = 1;
  std::uint64_t most_nodes = 1'000'000;  ///< of all ranks: whole steps are recorded until they are used up
};

class ChakraRecorder final : public Observer {
 public:
  ChakraRecorder(const Workload& workload, ChakraWriterSetup setup);

  void span(int rank, const char* name, double from_s, double to_s) override;
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override;
  void slowed(int rank, Traffic traffic, double seconds) override;
  void collective(const CollectiveSeen& seen) override;
  void message(int from, int to, double start_s, double end_s, double bytes) override;
  void step_began(int rank, std::uint64_t step, double now_s) override;
  void step_ended(const StepEnd& end) override;

  int workers() const { return setup_.workers; }
  /// Why the job cannot be written; "" where it can.
  std::string problem() const;
  /// How many whole steps every rank has, from the first one on.
  std::uint64_t steps() const;
  /// Communication slowed computing: see above.
  bool approximate() const { return approximate_; }

  ChakraMetadata metadata(int rank) const;
  /// In an order in which each comes after those that it depends on; ids from 1.
  std::vector<ChakraNode> nodes(int rank) const;
  /// Members of groups that are not everybody, by their name in the traces.
  const std::map<std::string, std::vector<int>>& groups() const { return groups_; }

 private:
  enum class Kind : std::uint8_t { forward, backward, micro_batches, other };
  struct Computing {
    double start_s = 0, end_s = 0, seconds = 0;
    std::uint64_t step = 0;
    Kind kind = Kind::other;
    std::uint32_t what = 0;  // a layer, or a label
  };
  struct Communication {
    double posted_s = 0, go_s = 0, end_s = 0, bytes = 0;
    std::uint64_t step = 0;
    CollectiveOp op = CollectiveOp::all_reduce;
    std::int32_t channel = 0, group = 0;
    std::uint32_t members = 0;
  };
  struct Wait {
    double to_s = 0;
    std::int32_t channel = 0;
  };
  struct Interval {
    double from_s = 0, to_s = 0;
  };
  struct Rank {
    std::vector<Computing> computing;
    std::vector<Communication> communication;
    std::vector<Wait> waits;
    std::vector<Interval> asides;  // of the step: when passes stood still
    std::vector<double> step_ends_s;
    std::uint64_t step = 0;
    bool full = false;
  };
  struct Links;

  bool records(int rank) const { return !ranks_[static_cast<std::size_t>(rank)].full; }
  std::uint32_t label(const std::string& text);
  void pass(Rank& rank, Kind kind, Interval interval);
  Links links_of(const Rank& rank, std::uint64_t steps) const;
  ChakraNode node_of(const Computing& computing) const;
  ChakraNode node_of(const Communication& communication) const;

  const Workload& workload_;
  ChakraWriterSetup setup_;
  std::vector<Rank> ranks_;
  std::vector<std::string> labels_;
  std::map<std::string, std::vector<int>> groups_;
  std::uint64_t messages_ = 0, custom_ = 0, passes_ = 0;
  bool approximate_ = false;
};

}  // namespace simsgd
