#include "analysis/faces/reference.hpp"

#include <vector>

#include "analysis/markdown.hpp"
#include "analysis/runs/store_schema.hpp"
#include "results/curves.hpp"
#include "results/document.hpp"
#include "results/step_table.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

using markdown::code;
using markdown::heading;
using markdown::row_text;

std::string metrics_table_text() {
  std::string text = heading({"metric", "unit", "definition"});
  for (const Metric& metric : metrics())
    text += row_text({code(metric.name), metric.unit, metric.definition});
  return text;
}

std::string document_table_text() {
  std::string text = heading({"key", "unit", "definition"});
  for (const DocumentKey& key : document_keys())
    text += row_text({code(key.pointer), key.unit, key.definition});
  return text;
}

std::string curve_text(const Curve& curve) {
  std::string text = "\n### " + curve.file + "\n" + curve.definition + ".\n" +
                     heading({"column", "unit", "definition", "empty"});
  for (const CurveColumn& column : curve.columns)
    if (column.in_file)
      text += row_text({code(column.name), column.unit, column.definition,
                        column.when_empty.empty() ? "never" : column.when_empty});
  return text;
}

std::string store_text(const StoreTable& table) {
  std::string text = "\n### " + table.name + "\n" + table.definition + ".\n" +
                     heading({"column", "unit", "definition", "NULL"});
  for (const StoreColumn& column : table.columns)
    text += row_text({code(column.name), column.unit, column.definition,
                      column.when_empty.empty() ? "never" : "where " + column.when_empty});
  return text;
}

constexpr const char* kIntroduction =
    "# What comes out of a run\n"
    "<!-- Made from the program's tables. Where it is stale a test fails, which writes it anew:\n"
    "     SIMSGD_WRITE_DOCS=1 build/release/tests/simsgd_tests --source-file='*analysis/reference.cpp' -->\n"
    "What a run writes, and what each of its numbers means. A run, simulated or real, gives one JSON document. In a directory it\n"
    "is `result.json`, with its curves as CSV and, where one was recorded, its timeline: `timeline.json` for Perfetto, and\n"
    "`kineto/rank<N>.json` in the shape of PyTorch's profiler. A sweep keeps its runs in an SQLite file. All numbers are in SI\n"
    "units; the unit of what has none is \"1\".\n\n"
    "A file that a command writes appears under its name whole or not at all, even where several commands write it at once. If the\n"
    "name is a link, the file that it leads to is replaced, and the link stays. A device, a FIFO or `/dev/stdout` is written into.\n";

}  // namespace

std::string results_reference() {
  std::string text = kIntroduction;
  text += "\n## Metrics\nPer step means: a worker's total over its steps, then the mean over workers.\n" +
          metrics_table_text();
  text += "\n## The document\nIn a key, `*` stands for any name or place.\n" + document_table_text();
  text += "\n## Curves\n";
  for (const Curve& curve : curves()) text += curve_text(curve);
  text += curve_text({"steps", kStepsFile,
                      "Every worker and step, where a run was asked for it (--steps); the first 2^20",
                      step_columns()});
  text += "\n## The result store\n";
  for (const StoreTable& table : store_tables()) text += store_text(table);
  return text;
}

}  // namespace simsgd
