// What a store holds as text that depends on nothing but what was asked and what came out: the same bytes for
// any --jobs, any shards in any order, and after any number of interruptions.
#pragma once

#include <filesystem>
#include <iosfwd>

namespace simsgd {

class StoredResults;

/// JSON lines. One for each study, by name and id: {"study", "id", "axes", "points"}; then one for each of
/// its points, in its order: {"study", "point", "label", "coordinates", "seed", "key", "status", "error",
/// "metrics", "intervals", "curves", "workers", "links"}; intervals are null of a result that was kept
/// without any. Numbers are SI and have the shortest text that reads back as the same double. Nothing of
/// machine, date or duration. Throws ConfigError where there is no store, RunError where it is damaged or
/// `out` cannot be written. Returns how many results have no intervals.
std::size_t export_results(const std::filesystem::path& store, std::ostream& out);

}  // namespace simsgd
