#include "traces/torch_names.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "traces/collective_names.hpp"

namespace simsgd {

namespace {

constexpr std::pair<std::string_view, int> kTypes[] = {
    {"float", 4},        {"double", 8},         {"half", 2},   {"bfloat16", 2}, {"long", 8},
    {"int", 4},          {"short", 2},          {"char", 1},   {"byte", 1},     {"bool", 1},
    {"complexfloat", 8}, {"complexdouble", 16}, {"uint16", 2}, {"uint32", 4},   {"uint64", 8}};
constexpr std::pair<std::string_view, std::string_view> kOtherTypeNames[] = {
    {"float32", "float"}, {"float64", "double"}, {"float16", "half"}, {"int64", "long"},
    {"int32", "int"},     {"int16", "short"},    {"int8", "char"},    {"uint8", "byte"}};

std::string small_letters(std::string_view text) {
  std::string letters(text);
  for (char& c : letters)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return letters;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_protocol(std::string_view word) { return is_one_of(word, {"LL", "LL128", "SIMPLE"}); }

// Reductions and types, which stand between operation and algorithm since NCCL 2.19.
bool is_reduction_or_type(std::string_view word) {
  return is_one_of(word, {"Sum", "Prod", "Max", "Min", "MinMax", "PreMulSum", "SumPostDiv", "f16", "f32",
                          "f64", "bf16", "i8", "i32", "i64", "u8", "u32", "u64", "f8e4m3", "f8e5m2"});
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

}  // namespace

std::string torch_operation(std::string_view name) {
  std::string letters = small_letters(name);
  if (letters.starts_with("nccl:")) letters.erase(0, 5);
  while (letters.starts_with('_')) letters.erase(0, 1);
  for (const char* suffix : {"_coalesced", "_sparse", "_into_tensor", "_tensor", "_base"})
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

bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("nccl") && name.find("Kernel") != std::string_view::npos;
}

NcclKernelName nccl_kernel_name(std::string_view name) {
  name = name.substr(0, std::min({name.find('('), name.find('<'), name.size()}));
  const std::size_t kernel = name.find("Kernel");
  if (!name.starts_with("nccl") || kernel == std::string_view::npos) return {};
  const std::string_view kind = name.substr(4, kernel - 4);
  if (!is_one_of(kind, {"", "Dev", "SymDev", "SymkDev"})) return old_kernel_name(kind);
  const std::string_view rest = name.substr(kernel + 6);
  const std::vector<std::string_view> words = words_between_underscores(rest.substr(rest.starts_with('_')));
  NcclKernelName known;
  if (words.empty()) return known;
  known.operation = operation_from(words[0]);
  const auto protocol = std::find_if(words.begin(), words.end(), is_protocol);
  if (protocol == words.end()) return known;
  known.protocol = std::string(*protocol);
  for (auto word = words.begin() + (protocol == words.begin() ? 0 : 1); word != protocol; ++word)
    if (!is_reduction_or_type(*word))
      known.algorithm += (known.algorithm.empty() ? "" : "_") + std::string(*word);
  return known;
}

}  // namespace simsgd
