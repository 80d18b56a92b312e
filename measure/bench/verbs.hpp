// The verbs network, collectives and compute of simsgd-measure.
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace simsgd {

class BenchVerbs {
 public:
  /// Adds the verbs to the program.
  explicit BenchVerbs(CLI::App& app);
  ~BenchVerbs();
  BenchVerbs(const BenchVerbs&) = delete;
  BenchVerbs& operator=(const BenchVerbs&) = delete;

  bool chosen() const;  ///< after parsing
  /// Collective over MPI_COMM_WORLD. The exit code; rank 0 speaks for all.
  int run() const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace simsgd
