#include "analysis/runs/store_schema.hpp"

#include <fmt/format.h>

namespace simsgd {

const std::vector<StoreTable>& store_tables() {
  static const std::vector<StoreTable> tables = {
      {"sweeps",
       "Studies that were run",
       {{"id", "TEXT PRIMARY KEY", "", "Key of the name and of the keys of all points", ""},
        {"name", "TEXT NOT NULL", "", "Name of the study", ""},
        {"file", "TEXT NOT NULL", "", "The study's file as it was named", ""},
        {"axes", "TEXT NOT NULL", "", "JSON list of the pointers that vary", ""},
        {"points", "INTEGER NOT NULL", "1", "Number of points", ""},
        {"date", "TEXT NOT NULL", "", "When it was first begun, UTC, ISO 8601", ""}},
       ""},
      {"points",
       "The points of each sweep, in the study's order",
       {{"sweep", "TEXT NOT NULL", "", "id of the sweep", ""},
        {"position", "INTEGER NOT NULL", "1", "Place in the study, from 0", ""},
        {"label", "TEXT NOT NULL", "", "What distinguishes the point, for people", ""},
        {"coordinates", "TEXT NOT NULL", "", "JSON list of the pointers and values that are set there", ""},
        {"run", "TEXT NOT NULL", "", "key of its run, which has no row before it ends; sweeps may share it",
         ""}},
       "sweep, position"},
      {"runs",
       "Runs that ended, one row for each scenario, seed and model version",
       {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
        {"key", "TEXT NOT NULL UNIQUE", "", "UUID (version 5) of model version and resolved scenario", ""},
        {"status", "TEXT NOT NULL", "", "ok, failed or timeout", ""},
        {"error", "TEXT", "", "Why there is no result, a sentence", "status is ok"},
        {"model_version", "INTEGER NOT NULL", "1", "Version of what is computed", ""},
        {"notes", "TEXT", "", "JSON list of what its document notes", "there is nothing to note"},
        {"whole", "INTEGER NOT NULL", "1", "1 where its document has a row for every worker, else 0", ""},
        {"base", "INTEGER NOT NULL", "",
         "id of the text whose beginning is zlib's dictionary for its document", ""},
        {"document", "BLOB NOT NULL", "",
         "JSON of its document, scenario and context within; of a run without result those two; compressed with zlib",
         ""}},
       ""},
      {"metrics",
       "Numbers of a run",
       {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
        {"name", "TEXT NOT NULL", "", "Name of the metric; no row where it has no value for the run", ""},
        {"value", "REAL NOT NULL", "see metric_info", "The value, SI", ""}},
       "run, name"},
      {"bases",
       "Texts that documents are much like",
       {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
        {"text", "BLOB NOT NULL", "", "JSON, compressed with zlib", ""}},
       ""},
      {"metric_info",
       "What the metrics mean",
       {{"name", "TEXT NOT NULL PRIMARY KEY", "", "Name of the metric", ""},
        {"unit", "TEXT NOT NULL", "", "Its unit, SI", ""},
        {"definition", "TEXT NOT NULL", "", "What it is, and when it has no value", ""}},
       ""},
      {"column_info",
       "What the columns of this file mean",
       {{"table_name", "TEXT NOT NULL", "", "Name of the table", ""},
        {"column_name", "TEXT NOT NULL", "", "Name of the column", ""},
        {"unit", "TEXT NOT NULL", "", "Its unit; empty where it has none", ""},
        {"definition", "TEXT NOT NULL", "", "What it is", ""},
        {"when_empty", "TEXT", "", "When it is NULL", "the column is never NULL"}},
       "table_name, column_name"},
      {"processes",
       "Sweeps that are writing this file, or were when they were killed",
       {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
        {"host", "TEXT NOT NULL", "", "Where it runs", ""},
        {"pid", "INTEGER NOT NULL", "", "Its number there", ""},
        {"started", "TEXT NOT NULL", "",
         "When the system started it, which tells it from a later process of the same number", ""},
        {"beat", "INTEGER NOT NULL", "s", "When it last said that it lives, since 1970", ""}},
       ""},
      {"claims",
       "Runs that a process has begun, so that no other one does",
       {{"run", "TEXT NOT NULL PRIMARY KEY", "", "key of the run", ""},
        {"process", "INTEGER NOT NULL", "", "id of the process", ""},
        {"ended", "INTEGER NOT NULL", "1", "1 once the run has ended, else 0", ""}},
       ""}};
  return tables;
}

std::string store_ddl() {
  std::string ddl;
  for (const StoreTable& table : store_tables()) {
    std::string columns;
    for (const StoreColumn& column : table.columns)
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", column.name, column.type);
    if (!table.key.empty()) columns += fmt::format(", PRIMARY KEY ({})", table.key);
    ddl += fmt::format("CREATE TABLE {} ({}){};\n", table.name, columns,
                       table.key.empty() ? "" : " WITHOUT ROWID");
  }
  return ddl;
}

}  // namespace simsgd
