#include "traces/recorders/torch_names.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "traces/collective_names.hpp"

namespace simsgd {

namespace {

constexpr std::pair<std::string_view, int> kTypes[] = {
    {"float", 4},        {"double", 8},         {"half", 2},   {"bfloat16", 2}, {"long", 8},
    {"int", 4},          {"short", 2},          {"char", 1},   {"byte", 1},     {"bool", 1},
    {"complexfloat", 8}, {"complexdouble", 16}, {"uint16", 2}, {"uint32", 4},   {"uint64", 8}};
constexpr std::pair<std::string_view, std::string_view> kOtherTypeNames[] = {
    {"float32", "float"}, {"float64", "double"},    {"float16", "half"}, {"int64", "long"},
    {"int32", "int"},     {"int16", "short"},       {"int8", "char"},    {"uint8", "byte"},
    {"long int", "long"}, {"unsigned char", "byte"}};

std::string small_letters(std::string_view text) {
  std::string letters(text);
  for (char& c : letters)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return letters;
}

}  // namespace

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

}  // namespace simsgd
