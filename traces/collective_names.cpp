#include "traces/collective_names.hpp"

#include <cmath>
#include <utility>

namespace simsgd {

namespace {

// Without case, "_", "-" and what is around the name.
constexpr std::pair<std::string_view, std::string_view> kOperations[] = {
    {"allreduce", "all_reduce"}, {"allgather", "all_gather"},  {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},  {"broadcast", "broadcast"},   {"bcast", "broadcast"},
    {"reduce", "reduce"},        {"barrier", "barrier"},       {"gather", "gather"},
    {"scatter", "scatter"},      {"sendrecv", "send_receive"}, {"hypercube", "hypercube"}};

std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

}  // namespace

std::string operation_from(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  std::string letters = plain(name);
  if (letters.starts_with("nccl")) letters.erase(0, 4);
  if (letters.ends_with("perf")) letters.resize(letters.size() - 4);
  for (const auto& [theirs, ours] : kOperations)
    if (letters == theirs) return std::string(ours);
  return "";
}

double bus_over_algorithm(std::string_view operation, int ranks) {
  if (operation.empty() || ranks < 1) return 0;
  const double others = (ranks - 1.0) / ranks;
  if (operation == "all_reduce") return 2 * others;
  if (operation == "reduce_scatter" || operation == "all_gather" || operation == "all_to_all") return others;
  return 1;
}

std::string operation_by_bandwidths(double busbw, double algbw, int ranks) {
  if (ranks < 3 || !(algbw > 0)) return "";
  return std::fabs(busbw / algbw / bus_over_algorithm("all_reduce", ranks) - 1) < 0.02 ? "all_reduce" : "";
}

}  // namespace simsgd
