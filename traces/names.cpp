#include "traces/names.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "traces/reading/input.hpp"

namespace simsgd {

namespace {

// Without case, "_", "-" and what is around the name.
constexpr std::pair<std::string_view, std::string_view> kOperations[] = {
    {"allreduce", "all_reduce"}, {"allgather", "all_gather"},  {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},  {"broadcast", "broadcast"},   {"bcast", "broadcast"},
    {"reduce", "reduce"},        {"barrier", "barrier"},       {"gather", "gather"},
    {"scatter", "scatter"},      {"sendrecv", "send_receive"}, {"hypercube", "hypercube"}};

constexpr std::pair<std::string_view, int> kTypes[] = {
    {"float", 4},        {"double", 8},         {"half", 2},   {"bfloat16", 2}, {"long", 8},
    {"int", 4},          {"short", 2},          {"char", 1},   {"byte", 1},     {"bool", 1},
    {"complexfloat", 8}, {"complexdouble", 16}, {"uint16", 2}, {"uint32", 4},   {"uint64", 8}};
constexpr std::pair<std::string_view, std::string_view> kOtherTypeNames[] = {
    {"float32", "float"}, {"float64", "double"},    {"float16", "half"}, {"int64", "long"},
    {"int32", "int"},     {"int16", "short"},       {"int8", "char"},    {"uint8", "byte"},
    {"long int", "long"}, {"unsigned char", "byte"}};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_protocol(std::string_view word) { return is_one_of(word, {"LL", "LL128", "SIMPLE"}); }

bool is_reduction(std::string_view word) {
  return is_one_of(word, {"Sum", "Prod", "Max", "Min", "MinMax", "PreMulSum", "SumPostDiv"});
}

bool is_type(std::string_view word) {
  return is_one_of(word,
                   {"f16", "f32", "f64", "bf16", "i8", "i32", "i64", "u8", "u32", "u64", "f8e4m3", "f8e5m2"});
}

std::vector<std::string_view> words_between_underscores(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('_'), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Until NCCL 2.6: ncclAllReduceRingLLKernel_sum_f32.
NcclKernelName old_kernel_name(std::string_view joined) {
  NcclKernelName known;
  for (const char* algorithm : {"Ring", "Tree", "CollNet"}) {
    const std::size_t at = joined.find(algorithm);
    if (at == std::string_view::npos) continue;
    known.operation = operation_from(joined.substr(0, at));
    known.algorithm = algorithm;
    std::transform(known.algorithm.begin(), known.algorithm.end(), known.algorithm.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    const std::string_view protocol = joined.substr(at + std::string_view(algorithm).size());
    known.protocol = protocol.empty() ? "SIMPLE" : std::string(protocol);
    if (!is_protocol(known.protocol)) known.protocol.clear();
  }
  return known;
}

// "AllReduce_Sum_f32_RING_LL", or as it was until NCCL 2.18 "AllReduce_RING_LL_Sum_float".
NcclKernelName kernel_name_of(const std::vector<std::string_view>& words) {
  NcclKernelName known;
  if (words.empty()) return known;
  known.operation = operation_from(words[0]);
  const auto protocol = std::ranges::find_if(words, is_protocol);
  if (protocol == words.end()) return known;
  known.protocol = std::string(*protocol);
  const auto add = [](std::string& text, std::string_view word) {
    text += (text.empty() ? "" : "_") + std::string(word);
  };
  for (auto word = words.begin() + (protocol == words.begin() ? 0 : 1); word != protocol; ++word)
    if (!is_reduction(*word)) add(is_type(*word) ? known.type : known.algorithm, *word);
  for (auto word = protocol + 1; word != words.end(); ++word)
    if (!is_reduction(*word)) add(known.type, *word);
  return known;
}

std::string_view without_digits(std::string_view text) {
  while (!text.empty() && is_digit(text.back())) text.remove_suffix(1);
  return text;
}

/// Bus bandwidth over algorithm bandwidth in nccl-tests (doc/PERFORMANCE.md there): 2 (n-1)/n for an
/// all-reduce, (n-1)/n for a reduce-scatter, an all-gather and an all-to-all, else 1. 0 where the operation
/// is unknown.
double bus_over_algorithm(std::string_view operation, int ranks) {
  if (operation.empty() || ranks < 1) return 0;
  const double others = (ranks - 1.0) / ranks;
  if (operation == "all_reduce") return 2 * others;
  if (operation == "reduce_scatter" || operation == "all_gather" || operation == "all_to_all") return others;
  return 1;
}

}  // namespace

std::string operation_from(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  std::string letters = small_letters(name);
  std::erase_if(letters, [](char c) { return c == '_' || c == '-' || c == ' '; });
  if (letters.starts_with("nccl")) letters.erase(0, 4);
  if (letters.ends_with("perf")) letters.resize(letters.size() - 4);
  for (const auto& [theirs, ours] : kOperations)
    if (letters == theirs) return std::string(ours);
  return "";
}

std::string operation_of_program(std::string_view line) {
  for (std::size_t end = line.find("_perf"); end != std::string_view::npos;
       end = line.find("_perf", end + 1)) {
    std::size_t begin = end;
    while (begin > 0 && (line[begin - 1] == '_' || (line[begin - 1] >= 'a' && line[begin - 1] <= 'z')))
      --begin;
    if (std::string found = operation_from(line.substr(begin, end - begin)); !found.empty()) return found;
  }
  return "";
}

void PrintedBandwidths::see(const Measurement& row, double unit_Bps, double algbw, double busbw,
                            ImportedFile& file) {
  const double ours = row.bytes / row.value / unit_Bps;
  if (std::fabs(ours - algbw) > 0.006 + 0.01 * ours)
    file.ignore("values of algbw that contradict size / time");
  if (!(algbw > best_algbw_) || std::isnan(busbw)) return;
  best_algbw_ = algbw;
  best_busbw_ = busbw;
}

std::string PrintedBandwidths::shown_operation(const Measurement& row) const {
  if (!(best_algbw_ > 0)) return "";
  const auto as_of = [&](const char* operation) {
    return std::fabs(best_busbw_ / best_algbw_ / bus_over_algorithm(operation, row.workers) - 1) < 0.02;
  };
  const bool adds = row.labels.contains("redop") && !row.labels.contains("root");
  if (row.workers >= (adds ? 2 : 3) && as_of("all_reduce")) return "all_reduce";
  return row.workers >= 2 && adds && as_of("reduce_scatter") ? "reduce_scatter" : "";
}

void PrintedBandwidths::settle_operation(std::size_t first, ImportedFile& file) {
  const auto from = file.rows.begin() + static_cast<std::ptrdiff_t>(first);
  const auto untold = [](const Measurement& row) { return row.operation.empty(); };
  if (std::none_of(from, file.rows.end(), untold)) return;
  const std::string shown = shown_operation(file.rows[first]);
  if (shown.empty()) return file.ignore("tables that do not name their operation; use --set operation=NAME");
  for (auto row = from; row != file.rows.end(); ++row)
    if (untold(*row)) row->operation = shown;
  file.understand("tables whose operation follows from busbw / algbw");
}

std::string torch_operation(std::string_view name) {
  std::string letters = small_letters(name);
  if (letters.starts_with("nccl:")) letters.erase(0, 5);
  while (letters.starts_with('_')) letters.erase(0, 1);
  if (letters.ends_with("_barrier")) return "barrier";  // all_reduce_barrier
  for (const char* suffix : {"_coalesced", "_sparse", "_into_tensor", "_tensor", "_base", "_oop"})
    if (letters.ends_with(suffix)) letters.resize(letters.size() - std::string_view(suffix).size());
  if (letters == "all_to_allv" || letters == "alltoallv") letters.pop_back();
  if (letters.starts_with("send") || letters.starts_with("recv")) return "send_receive";
  return operation_from(letters);
}

std::string type_name(std::string_view name) {
  for (const std::string_view prefix : {"c10::", "torch.", "at::"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const std::string letters = small_letters(name);
  for (const auto& [theirs, ours] : kOtherTypeNames)
    if (letters == theirs) return std::string(ours);
  return letters;
}

int type_bytes(std::string_view name) {
  const std::string letters = type_name(name);
  for (const auto& [type, bytes] : kTypes)
    if (letters == type) return bytes;
  return letters.starts_with("float8") ? 1 : 0;
}

double whole_array(std::string_view operation, double in_elements, double out_elements) {
  if (operation == "all_to_all" || operation == "reduce" || operation == "all_reduce")
    return std::isnan(in_elements) ? out_elements : in_elements;
  return std::fmax(in_elements, out_elements);  // a number beats one that is not given
}

std::optional<NcclKernelName> nccl_kernel_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.starts_with("nccl:")) return NcclKernelName{torch_operation(name), "", "", ""};
  name = name.substr(0, std::min({name.find('('), name.find('<'), name.size()}));
  const std::size_t kernel = name.find("Kernel");
  if (!name.starts_with("nccl") || kernel == std::string_view::npos) return std::nullopt;
  const std::string_view kind = name.substr(4, kernel - 4);
  if (!is_one_of(kind, {"", "Dev", "SymDev", "SymkDev"})) return old_kernel_name(kind);
  const std::string_view rest = name.substr(kernel + 6);
  return kernel_name_of(words_between_underscores(rest.substr(rest.starts_with('_'))));
}

int rank_in_file_name(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".json", ".et"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  if (const std::size_t at = name.rfind("rank"); at != std::string_view::npos) {
    name.remove_prefix(at + 4);
    name.remove_prefix(std::min(name.size(), name.find_first_not_of("_-.")));
    name = name.substr(0, name.find_first_not_of("0123456789"));
  } else {
    const std::string_view before = without_digits(name);
    if (before.empty() || std::string_view("_-.").find(before.back()) == std::string_view::npos) return -1;
    name.remove_prefix(before.size());
  }
  int rank = -1;
  return read_count(name, 0, rank) ? rank : -1;
}

std::optional<StepName> step_name(std::string_view text) {
  const std::string lower = small_letters(text.substr(0, 64));
  const std::string_view whole = trimmed(lower), words = without_digits(whole);
  std::string_view stem = words;
  while (!stem.empty() && std::string_view(" _#:=-").find(stem.back()) != std::string_view::npos)
    stem.remove_suffix(1);
  constexpr std::string_view kStems[] = {"step",          "iteration",    "iter",           "train_step",
                                         "training_step", "trainstep",    "training step",  "train iteration",
                                         "train step",    "profilerstep", "train_iteration"};
  if (std::find(std::begin(kStems), std::end(kStems), stem) == std::end(kStems)) return std::nullopt;
  StepName name;
  const std::string_view digits = whole.substr(words.size());
  std::uint64_t number = 0;
  if (!digits.empty() &&
      std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc() &&
      number < (1ULL << 53U))
    name.number = number;
  return name;
}

std::optional<double> nccl_bytes(std::string_view text) {
  const std::string lower = small_letters(text.substr(0, 256));
  if (lower.find("nccl") == std::string::npos) return std::nullopt;
  const std::size_t at = lower.find("bytes");
  if (at == std::string::npos) return std::nullopt;
  const auto number_in = [](std::string_view part) -> std::optional<double> {
    double value = 0;
    return read_number(part, value) && value >= 0 ? std::optional(value) : std::nullopt;
  };
  std::string_view before = trimmed(std::string_view(lower).substr(0, at));
  before.remove_prefix(without_digits(before).size());
  if (!before.empty()) return number_in(before);
  std::string_view after = std::string_view(lower).substr(at + 5);
  after.remove_prefix(std::min(after.size(), after.find_first_not_of(" =:]")));
  return number_in(after.substr(0, after.find_first_not_of("0123456789")));
}

}  // namespace simsgd
