// The book as a report: one chart with a dot for each cell, and the table.
#pragma once

#include "analysis/book/judge_book.hpp"
#include "analysis/questions/study_report.hpp"

namespace simsgd::book {

/// `command`: what makes it again. Of sets that were not judged now there is the line alone.
questions::Report book_report(const JudgedBook& judged, const std::string& command);

}  // namespace simsgd::book
