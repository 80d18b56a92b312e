// A file of a test, removed afterwards, and what a topology says of it.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "graph.hpp"
#include "sim/base/errors.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test {

class NetworkFile {
 public:
  NetworkFile(const std::string& ending, const std::string& text) {
    std::string pattern = "/tmp/simsgd-network-XXXXXX" + ending;
    close(mkstemps(pattern.data(), static_cast<int>(ending.size())));
    path_ = pattern;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~NetworkFile() { std::remove(path_.c_str()); }
  NetworkFile(const NetworkFile&) = delete;
  NetworkFile& operator=(const NetworkFile&) = delete;
  const std::string& path() const { return path_; }
  Json options() const { return {{"path", path_}}; }

 private:
  std::string path_;
};

/// The text of the errors that a file causes, one a line; empty if there is none.
inline std::string file_refusal(const std::string& topology, int nodes, const NetworkFile& file) {
  return refusal_of<ConfigError>([&] { make(topology, plain_nodes(nodes), file.options()); });
}

}  // namespace simsgd::test
