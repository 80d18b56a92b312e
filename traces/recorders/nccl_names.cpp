#include "traces/recorders/nccl_names.hpp"

#include <algorithm>
#include <vector>

#include "traces/collective_names.hpp"
#include "traces/recorders/torch_names.hpp"

namespace simsgd {

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
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
  const auto protocol = std::find_if(words.begin(), words.end(), is_protocol);
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

}  // namespace

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

}  // namespace simsgd
