#include <algorithm>

#include "traces/reading/text.hpp"
#include "traces/reading/units_of_text.hpp"
#include "traces/tables/nccl_tests.hpp"

namespace simsgd {

namespace {

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

void words_after_hash(std::string_view line, std::vector<std::string_view>& words) {
  split_words(line, words);
  if (!words.empty() && words[0] == "#") words.erase(words.begin());
}

}  // namespace

bool NcclColumns::read_names(std::string_view line) {
  std::vector<std::string_view> words;
  words_after_hash(line, words);
  NcclColumns found;
  int half = -1;
  for (const std::string_view word : words) {
    const std::string_view name = word.substr(0, word.find('('));
    const int column = static_cast<int>(found.count++);
    found.ends_.push_back(static_cast<std::size_t>(word.data() + word.size() - line.data()));
    if (name == "time") ++half;
    if (half > 1) return false;
    Half* const of_half = half < 0 ? nullptr : &found.halves[half];
    if (name == "size")
      found.size = column;
    else if (name == "type")
      found.type = column;
    else if (name == "redop")
      found.redop = column;
    else if (name == "root")
      found.root = column;
    else if (of_half != nullptr && name == "time")
      of_half->time = column;
    else if (of_half != nullptr && name == "algbw")
      of_half->algbw = column;
    else if (of_half != nullptr && name == "busbw")
      of_half->busbw = column;
    else if (of_half != nullptr && name == "#wrong")
      of_half->wrong = column;
    else if (of_half != nullptr && name == "i_cv%")
      of_half->cv = column;
    if (word.size() > name.size() + 1 && word.ends_with(')'))
      found.set_unit(found.count - 1, word.substr(name.size() + 1, word.size() - name.size() - 2));
  }
  if (found.size < 0 || half < 0) return false;
  *this = std::move(found);
  return true;
}

void NcclColumns::set_unit(std::size_t column, std::string_view unit) {
  const int at = static_cast<int>(column);
  double scale = 0;
  if (at == size && unit_scale(unit, Dimension::bytes, scale)) size_bytes = scale;
  for (Half& half : halves) {
    if (at == half.time && unit_scale(unit, Dimension::time_s, scale)) half.time_s = scale;
    if (at == half.algbw && unit_scale(unit, Dimension::rate_Bps, scale)) half.bandwidth_Bps = scale;
  }
}

bool NcclColumns::read_units(std::string_view line) {
  std::vector<std::string_view> words;
  words_after_hash(line, words);
  if (count == 0 || words.empty() || !std::all_of(words.begin(), words.end(), [](std::string_view word) {
        return word.starts_with('(') && word.ends_with(')');
      }))
    return false;
  for (const std::string_view word : words) {
    const auto end = static_cast<std::size_t>(word.data() + word.size() - line.data());
    const auto nearest_end =
        std::min_element(ends_.begin(), ends_.end(),
                         [end](std::size_t a, std::size_t b) { return distance(a, end) < distance(b, end); });
    set_unit(static_cast<std::size_t>(nearest_end - ends_.begin()), word.substr(1, word.size() - 2));
  }
  return true;
}

bool NcclColumns::usable() const { return size >= 0 && size_bytes > 0 && halves[0].time_s > 0; }

void NcclDevices::clear() {
  hosts_.clear();
  groups_.clear();
}

bool NcclDevices::read(std::string_view line) {
  double group = 0;
  int rank = 0;
  if (!read_count(word_after(line, " Rank "), 0, rank) || line.find(" device ") == std::string_view::npos)
    return false;
  hosts_[rank] = word_after(line, " on ");
  if (number_after(line, " Group ", group) && group >= 0 && group < 1e9)
    groups_.insert(static_cast<int>(group));
  return true;
}

int NcclDevices::workers() const {
  const std::size_t groups = std::max<std::size_t>(1, groups_.size());
  return static_cast<int>(hosts_.size() % groups == 0 ? hosts_.size() / groups : hosts_.size());
}

int NcclDevices::nodes() const {
  std::set<std::string> names;
  for (const auto& [rank, host] : hosts_) names.insert(host);
  return static_cast<int>(names.size());
}

}  // namespace simsgd
