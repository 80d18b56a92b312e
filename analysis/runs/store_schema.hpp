// The tables of a result file: the one place that names, defines and creates them.
#pragma once

#include <string>
#include <vector>

namespace simsgd {

struct StoreColumn {
  std::string name;
  std::string type;        ///< of SQLite, with its constraints
  std::string unit;        ///< empty where it has none
  std::string definition;  ///< a sentence without full stop
  std::string when_empty;  ///< when the value is NULL; empty: never
};

struct StoreTable {
  std::string name;
  std::string definition;
  std::vector<StoreColumn> columns;
  std::string key;  ///< columns of the primary key, where it is more than one
};

const std::vector<StoreTable>& store_tables();

/// Raised when the tables change; files of other versions are refused.
inline constexpr int kStoreVersion = 4;
/// The earlier layout that can be converted (merge.hpp).
inline constexpr int kConvertedVersion = 3;
/// SQLite's application_id of our files: "SGDr".
inline constexpr int kStoreApplication = 0x53474472;

/// CREATE TABLE statements of all tables.
std::string store_ddl();

}  // namespace simsgd
