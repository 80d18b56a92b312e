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

StoreTable scenarios_table() {
  return {"scenarios",
          "Scenarios that those of runs are much like",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
           {"text", "BLOB NOT NULL", "", "JSON, compressed with zlib", ""}},
          ""};
}

StoreTable facts_table() {
  return {"facts",
          "What documents of several runs say alike",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
           {"text", "TEXT NOT NULL UNIQUE", "",
            "JSON: those members of the document that have no table and no column of their own", ""}},
          ""};
}

StoreTable runs_table() {
  return {"runs",
          "Runs that ended, one row for each scenario, seed and model version",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
           {"key", "TEXT NOT NULL UNIQUE", "", "UUID (version 5) of model version and resolved scenario", ""},
           {"status", "TEXT NOT NULL", "", "ok, failed or timeout", ""},
           {"error", "TEXT", "", "Why there is no result, a sentence", "status is ok"},
           {"model_version", "INTEGER NOT NULL", "1", "Version of what is computed", ""},
           {"base", "INTEGER NOT NULL", "", "id of the scenario whose text is zlib's dictionary for this one",
            ""},
           {"scenario", "BLOB NOT NULL", "",
            "JSON of the resolved scenario, a scenario file in itself; compressed with zlib", ""},
           {"context", "TEXT NOT NULL", "",
            "JSON: program, commit, machine, date, wall time, memory; all that is not reproducible", ""},
           {"facts", "INTEGER", "", "id of what its document says as others do", "status is not ok"},
           {"own", "TEXT", "", "JSON: intervals and other members of its document that others do not share",
            "there are none, or status is not ok"},
           {"document", "BLOB", "",
            "JSON of the whole document, with null for context and scenario, compressed with zlib",
            "it was not asked for (sweep run --documents), or status is not ok"}},
          ""};
}

StoreTable metric_values_table() {
  return {
      "metric_values",
      "Numbers of a run; metrics has them with names",
      {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
       {"metric", "INTEGER NOT NULL", "", "id of the metric; no row where it has no value for the run", ""},
       {"value", "REAL NOT NULL", "see metric_info", "The value, SI", ""}},
      "run, metric"};
}

StoreTable names_table() {
  return {"names",
          "Names that other tables have numbers for",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the name in this file", ""},
           {"name", "TEXT NOT NULL UNIQUE", "", "Of a curve, of what workers have, of a link", ""}},
          ""};
}

StoreTable curve_values_table() {
  return {
      "curve_values",
      "Curves of a run; series has them with names",
      {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
       {"curve", "INTEGER NOT NULL", "",
        "id of the name: train_loss (of every step), test_loss, test_accuracy or consensus_distance (of every evaluation); no row where it has no value",
        ""},
       {"step", "INTEGER NOT NULL", "1",
        "Steps completed by every worker; where workers do not need each other, on average", ""},
       {"time_s", "REAL NOT NULL", "s", "When the last worker completed it, or instant of the evaluation",
        ""},
       {"value", "REAL NOT NULL", "1", "The value", ""}},
      "run, curve, step, time_s"};
}

std::vector<StoreColumn> spread_columns() {
  const std::string unit = "of the name";
  return {{"least", "REAL NOT NULL", unit, "Of the worker with the least", ""},
          {"low_quartile", "REAL NOT NULL", unit, "A quarter of the workers have less", ""},
          {"median", "REAL NOT NULL", unit, "Half of them have less", ""},
          {"high_quartile", "REAL NOT NULL", unit, "Three quarters have less", ""},
          {"most", "REAL NOT NULL", unit, "Of the worker with the most", ""}};
}

StoreTable worker_values_table() {
  StoreTable table{
      "worker_values",
      "Quantiles over the workers of a run; workers has them with names",
      {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
       {"quantity", "INTEGER NOT NULL", "",
        "id of the name, as the document's workers have it: steps, time_s, compute_s, bytes_sent/gradient, ...",
        ""}},
      "run, quantity"};
  for (StoreColumn& each : spread_columns()) table.columns.push_back(std::move(each));
  return table;
}

StoreTable link_values_table() {
  return {"link_values",
          "The ten busiest links of a run; links has them with names",
          {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
           {"place", "INTEGER NOT NULL", "1", "0 for the busiest, 1 for the next, ...", ""},
           {"link", "INTEGER NOT NULL", "", "id of its name", ""},
           {"bandwidth_Bps", "REAL NOT NULL", "B/s", "Bandwidth of one direction", ""},
           {"bytes", "REAL NOT NULL", "B", "Bytes carried", ""},
           {"utilisation", "REAL NOT NULL", "1", "Bytes over what it could have carried in the run", ""}},
          "run, place"};
}

StoreTable processes_table() {
  return {"processes",
          "Sweeps that are writing this file, or were when they were killed",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
           {"host", "TEXT NOT NULL", "", "Where it runs", ""},
           {"pid", "INTEGER NOT NULL", "", "Its number there", ""},
           {"started", "TEXT NOT NULL", "",
            "When the system started it, which tells it from a later process of the same number", ""},
           {"beat", "INTEGER NOT NULL", "s", "When it last said that it lives, since 1970", ""}},
          ""};
}

StoreTable claims_table() {
  return {"claims",
          "Runs that a process has begun, so that no other one does",
          {{"run", "TEXT NOT NULL PRIMARY KEY", "", "key of the run", ""},
           {"process", "INTEGER NOT NULL", "", "id of the process", ""},
           {"ended", "INTEGER NOT NULL", "1", "1 once the run has ended, else 0", ""}},
          ""};
}

StoreTable view(const std::string& name, const std::string& definition, std::vector<StoreColumn> columns,
                const std::string& select) {
  StoreTable table{name, definition, std::move(columns), ""};
  table.select = select;
  return table;
}

std::vector<StoreTable> views() {
  const StoreColumn run{"run", "INTEGER NOT NULL", "", "id of the run", ""};
  const StoreColumn name{"name", "TEXT NOT NULL", "", "The name", ""};
  const auto named = [&](const StoreTable& table, const std::string& skipped) {
    std::vector<StoreColumn> columns = {run, name};
    for (const StoreColumn& each : table.columns)
      if (each.name != "run" && each.name != skipped) columns.push_back(each);
    return columns;
  };
  const auto joined = [](const std::string& what, const std::string& values, const std::string& id) {
    return "SELECT v.run, n.name, " + what + " FROM " + values + " v JOIN names n ON n.id = v." + id;
  };
  return {
      view("metrics", "View: numbers of a run by name", named(metric_values_table(), "metric"),
           "SELECT v.run, n.name, v.value FROM metric_values v JOIN metric_info n ON n.id = v.metric"),
      view("series", "View: curves of a run by name", named(curve_values_table(), "curve"),
           joined("v.step, v.time_s, v.value", "curve_values", "curve")),
      view("workers", "View: quantiles over the workers of a run by name",
           named(worker_values_table(), "quantity"),
           joined("v.least, v.low_quartile, v.median, v.high_quartile, v.most", "worker_values", "quantity")),
      view("links", "View: the busiest links of a run by name", named(link_values_table(), "link"),
           joined("v.place, v.bandwidth_Bps, v.bytes, v.utilisation", "link_values", "link"))};
}

StoreTable metric_info_table() {
  return {"metric_info",
          "What the metrics mean",
          {{"id", "INTEGER PRIMARY KEY", "", "Number of the metric in this file", ""},
           {"name", "TEXT NOT NULL UNIQUE", "", "Name of the metric", ""},
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
  static const std::vector<StoreTable> tables = [] {
    std::vector<StoreTable> all = {sweeps_table(),       points_table(),        runs_table(),
                                   scenarios_table(),    facts_table(),         metric_values_table(),
                                   curve_values_table(), worker_values_table(), link_values_table(),
                                   names_table(),        metric_info_table(),   column_info_table(),
                                   processes_table(),    claims_table()};
    for (StoreTable& each : views()) all.push_back(std::move(each));
    return all;
  }();
  return tables;
}

std::string store_ddl() {
  std::string ddl;
  for (const StoreTable& table : store_tables()) {
    if (!table.select.empty()) {
      ddl += fmt::format("CREATE VIEW {} AS {};\n", table.name, table.select);
      continue;
    }
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
