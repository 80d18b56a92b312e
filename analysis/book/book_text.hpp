// The book for people and programs: a line for each set, the worst cells, how much the intervals hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/book/book.hpp"
#include "analysis/faces/table.hpp"
#include "analysis/questions/study_report.hpp"

namespace simsgd::book {

std::string book_text(const JudgedBook& judged);
/// docs/accuracy.md; `command` made it.
std::string book_markdown(const JudgedBook& judged, const std::string& command);
/// The same in short, a line for each machine: README.md has it.
std::string book_by_machine(const JudgedBook& judged);
nlohmann::ordered_json book_json(const JudgedBook& judged);

// The book as a report: one chart with a dot for each cell, and the table.

/// `command`: what makes it again. Of sets that were not judged now there is the line alone.
questions::Report book_report(const JudgedBook& judged, const std::string& command);

}  // namespace simsgd::book
