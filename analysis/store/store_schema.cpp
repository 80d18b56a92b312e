#include "analysis/store/store_schema.hpp"

#include <fmt/format.h>

namespace simsgd {

namespace {

StoreTable sweeps_table() {
  return {"sweeps",
          "Studies that were run",
          {{"id", "TEXT PRIMARY KEY", "", "Key of the name and of the keys of all points", ""},
           {"name", "TEXT NOT NULL", "", "Name of the study", ""},
           {"file", "TEXT NOT NULL", "", "The study's file as it was named", ""},
           {"axes", "TEXT NOT NULL", "", "JSON list of the pointers that vary", ""},
           {"points", "INTEGER NOT NULL", "1", "Number of points", ""},
           {"date", "TEXT NOT NULL", "", "When it was first begun, UTC, ISO 8601", ""}},
          ""};
}

StoreTable points_table() {
  return {
      "points",
      "The points of each sweep, in the study's order",
      {{"sweep", "TEXT NOT NULL", "", "id of the sweep", ""},
       {"position", "INTEGER NOT NULL", "1", "Place in the study, from 0", ""},
       {"label", "TEXT NOT NULL", "", "What distinguishes the point, for people", ""},
       {"coordinates", "TEXT NOT NULL", "", "JSON list of the pointers and values that are set there", ""},
       {"run", "TEXT NOT NULL", "", "key of its run, which has no row before it ends; sweeps may share it",
        ""}},
      "sweep, position"};
}

StoreTable runs_table() {
  return {"runs",
          "Runs that ended, one row for each scenario, seed and model version",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
           {"key", "TEXT NOT NULL UNIQUE", "", "UUID (version 5) of model version and resolved scenario", ""},
           {"status", "TEXT NOT NULL", "", "ok, failed or timeout", ""},
           {"error", "TEXT", "", "Why there is no result, a sentence", "status is ok"},
           {"model_version", "INTEGER NOT NULL", "1", "Version of what is computed", ""},
           {"scenario", "TEXT NOT NULL", "", "JSON of the resolved scenario; a scenario file in itself", ""},
           {"context", "TEXT NOT NULL", "",
            "JSON: program, commit, machine, date, wall time, memory; all that is not reproducible", ""},
           {"document", "TEXT", "", "JSON document of the run, with null for context and scenario",
            "status is not ok"}},
          ""};
}

StoreTable metrics_table() {
  return {"metrics",
          "Numbers of a run",
          {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
           {"name", "TEXT NOT NULL", "", "See metric_info; no row where it has no value for the run", ""},
           {"value", "REAL NOT NULL", "see metric_info", "The value, SI", ""}},
          "run, name"};
}

StoreTable series_table() {
  return {"series",
          "Curves of a run",
          {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
           {"name", "TEXT NOT NULL", "",
            "train_loss (of every step), test_loss, test_accuracy or consensus_distance (of every "
            "evaluation); no "
            "row where it has no value",
            ""},
           {"step", "INTEGER NOT NULL", "1",
            "Steps completed by every worker; where workers do not need each other, on average", ""},
           {"time_s", "REAL NOT NULL", "s", "When the last worker completed it, or instant of the evaluation",
            ""},
           {"value", "REAL NOT NULL", "1", "The value", ""}},
          "run, name, step, time_s"};
}

StoreTable metric_info_table() {
  return {"metric_info",
          "What the metrics mean",
          {{"name", "TEXT PRIMARY KEY", "", "Name of the metric", ""},
           {"unit", "TEXT NOT NULL", "", "Its unit, SI", ""},
           {"definition", "TEXT NOT NULL", "", "What it is, and when it has no value", ""}},
          ""};
}

StoreTable column_info_table() {
  return {"column_info",
          "What the columns of this file mean",
          {{"table_name", "TEXT NOT NULL", "", "Name of the table", ""},
           {"column_name", "TEXT NOT NULL", "", "Name of the column", ""},
           {"unit", "TEXT NOT NULL", "", "Its unit; empty where it has none", ""},
           {"definition", "TEXT NOT NULL", "", "What it is", ""},
           {"when_empty", "TEXT", "", "When it is NULL", "the column is never NULL"}},
          "table_name, column_name"};
}

}  // namespace

const std::vector<StoreTable>& store_tables() {
  static const std::vector<StoreTable> tables = {sweeps_table(),     points_table(), runs_table(),
                                                 metrics_table(),    series_table(), metric_info_table(),
                                                 column_info_table()};
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
