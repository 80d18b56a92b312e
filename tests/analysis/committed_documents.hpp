// Documents that are made from the program's own tables and committed: tests/analysis/reference.cpp fails
// where one is stale, and writes it anew.
#pragma once

#include <map>
#include <string>

namespace simsgd::test::committed {

/// docs/results.md: every name in what comes out of a run. Metrics, keys of the document, columns of the
/// curves, tables of the result store.
std::string results_reference();

/// docs/reference.md and docs/reference/: every key of what goes into a run. Path from docs/, contents.
std::map<std::string, std::string> key_reference();

/// All of them, and the schemas of files: path from the root of the source tree, contents.
std::map<std::string, std::string> committed_documents();

}  // namespace simsgd::test::committed
