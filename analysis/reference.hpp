// docs/results.md: every name in what comes out of a run, from the tables that the program works with.
#pragma once

#include <string>

namespace simsgd {

/// The page in Markdown: metrics, keys of the document, columns of the curves, tables of the result store.
std::string results_reference();

}  // namespace simsgd
