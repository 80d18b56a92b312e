#include "traces/recorders/collective_records.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/printable.hpp"
#include "sim/base/quantiles.hpp"

namespace simsgd {

namespace {

// assumed: clocks that differ by less are one clock, and ends that do are one end.
constexpr double kSameInstant_s = 1e-3;

// Ranks may give and get different shares there.
bool equal_on_all_ranks(const std::string& operation) {
  return operation != "all_to_all" && operation != "gather" && operation != "scatter" &&
         operation != "send_receive";
}

// [p]: for how many places the list, read from its end, equals itself p places on (the Z function).
std::vector<std::size_t> matches_from_end(const std::vector<std::string>& what) {
  const std::size_t count = what.size();
  const auto at = [&](std::size_t i) -> const std::string& { return what[count - 1 - i]; };
  std::vector<std::size_t> matches(count, 0);
  std::size_t left = 0, right = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (i < right) matches[i] = std::min(right - i, matches[i - left]);
    while (i + matches[i] < count && at(matches[i]) == at(i + matches[i])) ++matches[i];
    if (i + matches[i] > right) left = i, right = i + matches[i];
  }
  return matches;
}

}  // namespace

void RankFiles::finish() const {
  if (!files.empty() && workers > static_cast<int>(ranks.size()))
    files.front()->ignore("ranks of the job whose files are missing",
                          static_cast<std::size_t>(workers) - ranks.size());
  if (std::ranges::none_of(files, [](const ImportedFile* file) { return !file->empty(); }))
    for (ImportedFile* file : files) file->need_row();
}

void CollectiveRecords::add(CollectiveRecord record) {
  const double sequence = std::isnan(record.sequence) ? -1 : record.sequence;
  const std::uint64_t step = sequence < 0 && record.in_step ? record.step + 1 : 0;
  const std::uint64_t place = places_[{record.rank, record.group, sequence, step}]++;
  Operation& operation = operations_[{record.group, sequence, step, place}];
  if (record.exact_end) operation.ends_s.emplace_back(record.rank, record.end_s);
  ++operation.records;
  operation.longest_s = std::max(operation.longest_s, record.time_s);
  CollectiveRecord& best = operation.best;
  if (best.file == nullptr) {
    best = std::move(record);
    return;
  }
  if (best.operation != record.operation ||
      (equal_on_all_ranks(best.operation) && best.bytes != record.bytes &&
       !(std::isnan(best.bytes) && std::isnan(record.bytes))))
    operation.contradictory = true;
  const bool later_starter = record.time_s < best.time_s;
  (later_starter ? best : record).file->understand("records replaced by that of the rank that started last");
  if (later_starter) best = std::move(record);
}

// By how much a rank's clock differs from that of an operation's first rank: the median over operations.
CollectiveRecords::Offsets CollectiveRecords::clock_offsets() const {
  std::map<std::pair<int, int>, std::vector<double>> differences_s;
  for (const auto& [key, operation] : operations_) {
    const auto first = std::ranges::min_element(operation.ends_s);
    for (const auto& [rank, end_s] : operation.ends_s)
      if (!operation.contradictory) differences_s[{first->first, rank}].push_back(end_s - first->second);
  }
  Offsets offsets_s;
  for (const auto& [ranks, all] : differences_s) offsets_s[ranks] = median(all);
  return offsets_s;
}

// assumed: an operation ends on all its ranks within the longest time that one of them was in it.
bool CollectiveRecords::ends_agree(const Operation& operation, const Offsets& offsets_s) {
  const auto first = std::ranges::min_element(operation.ends_s);
  return std::ranges::all_of(operation.ends_s, [&](const auto& end) {
    const auto offset = offsets_s.find({first->first, end.first});
    return offset == offsets_s.end() || std::fabs(end.second - first->second - offset->second) <=
                                            std::max(kSameInstant_s, operation.longest_s);
  });
}

void CollectiveRecords::measure(CollectiveRecord record, std::size_t ranks) {
  Measurement row{.quantity = "time_s",
                  .operation = record.operation,
                  .workers = record.group_size,
                  .bytes = record.bytes,
                  .value = record.time_s};
  for (const auto& [label, text] :
       {std::pair{"algorithm", &record.algorithm}, {"protocol", &record.protocol}, {"type", &record.type}})
    if (!text->empty()) row.labels[label] = printable(*text);
  if (record.in_step) row.labels["step"] = std::to_string(record.step);
  if (record.group_size > 0 && ranks < static_cast<std::size_t>(record.group_size))
    record.file->understand(
        "operations that lack the files of some ranks, so their times may include waiting");
  record.file->add(std::move(row));
}

void CollectiveRecords::finish() {
  const Offsets offsets_s = clock_offsets();
  std::map<int, ImportedFile*> files;
  std::vector<std::pair<CollectiveRecord, std::size_t>> chosen;
  for (auto& [key, operation] : operations_) {
    ImportedFile& file = *operation.best.file;
    for (const auto& [rank, end_s] : operation.ends_s) files.emplace(rank, &file);
    if (operation.contradictory)
      file.ignore("operations that differ between the ranks' files, left out");
    else if (!ends_agree(operation, offsets_s))
      file.ignore("operations whose ends differ between ranks even with aligned clocks, left out");
    else
      chosen.emplace_back(std::move(operation.best), operation.records);
  }
  for (const auto& [ranks, offset_s] : offsets_s)
    if (std::fabs(offset_s) > kSameInstant_s && files.contains(ranks.second))
      files[ranks.second]->understand(
          "clocks that differ from the first rank's, aligned on the ends of operations");
  std::ranges::stable_sort(chosen, [](const auto& a, const auto& b) {
    return std::tie(a.first.rank, a.first.end_s) < std::tie(b.first.rank, b.first.end_s);
  });
  for (auto& [record, ranks] : chosen) measure(std::move(record), ranks);
  operations_.clear();
}

std::vector<std::size_t> beginnings_of_periods(const std::vector<std::string>& what,
                                               const std::vector<double>& at_s) {
  const std::size_t count = what.size();
  const std::vector<std::size_t> matches = matches_from_end(what);
  std::size_t period = 1;
  while (period < count && (matches[period] < period || 2 * (matches[period] + period) < count)) ++period;
  if (period >= count || period == 1) return {};
  const std::size_t first = count - (matches[period] + period);
  std::vector<double> pause_s(period, 0);
  std::vector<std::size_t> pauses(period, 0);
  for (std::size_t i = std::max<std::size_t>(first, 1); i < count; ++i) {
    pause_s[i % period] += at_s[i] - at_s[i - 1];
    ++pauses[i % period];
  }
  std::size_t longest = 0;
  const auto mean = [&](std::size_t place) {
    return pauses[place] == 0 ? 0 : pause_s[place] / static_cast<double>(pauses[place]);
  };
  for (std::size_t place = 1; place < period; ++place)
    if (mean(place) > mean(longest)) longest = place;
  std::vector<std::size_t> begins;
  for (std::size_t i = first; i < count; ++i)
    if (i % period == longest) begins.push_back(i);
  return begins;
}

}  // namespace simsgd
