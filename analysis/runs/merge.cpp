#include "analysis/runs/merge.hpp"

#include "analysis/runs/spool.hpp"
#include "analysis/runs/store.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void reject(const fs::path& file, const std::string& problem) {
  throw ConfigError({file.string(), "", problem, "",
                     "Name files that simsgd sweep run -o made, or spool files (.jsonl) of its shards"});
}

bool is_spool(const fs::path& file) { return file.extension() == ".jsonl"; }

void put(ResultStore& into, const RunRow& run) {
  const std::optional<RunStatus> known = into.status(run.key);
  const bool better = known && *known != RunStatus::ok && run.status == RunStatus::ok;
  const bool fuller = known == RunStatus::ok && run.whole && !into.is_whole(run.key);
  // Of two failures either may have come first: a rule that does not depend on it.
  const bool before =
      known && *known != RunStatus::ok && run.status != RunStatus::ok && run.error < into.run(run.key)->error;
  if (!known || better || fuller || before) into.put(run);
}

void merge_store(const ResultStore& from, ResultStore& into) {
  for (const ResultStudy& sweep : from.studies()) into.put(sweep);
  for (const auto& [key, unused] : from.statuses()) put(into, from.run(key).value());
}

void check(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none)) reject(file, "does not exist");
  if (is_spool(file)) {
    read_spool(file, {[](const RunRow&, std::uint64_t) {}, [](const ResultStudy&) {}});
    return;
  }
  if (!ResultStore::read_only(file)) reject(file, "holds no study");
}

SpoolLines lines_into(ResultStore& store) {
  return {[&store](const RunRow& run, std::uint64_t) { put(store, run); },
          [&store](const ResultStudy& sweep) { store.put(sweep); }};
}

void merge_one(const fs::path& file, ResultStore& into) {
  if (is_spool(file)) {
    read_spool(file, lines_into(into));
    return;
  }
  merge_store(*ResultStore::read_only(file), into);
  for (const fs::path& spool : spool_files(file)) read_spool(spool, lines_into(into));
}

}  // namespace

void merge_stores(const std::vector<fs::path>& inputs, const fs::path& output) {
  for (const fs::path& input : inputs) check(input);
  ResultStore store(output);
  std::error_code none;
  for (const fs::path& input : inputs)
    if (!fs::equivalent(input, output, none)) merge_one(input, store);
  merge_spool(output, store);
}

}  // namespace simsgd
