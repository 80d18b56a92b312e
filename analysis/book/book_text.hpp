// The book for people and programs: a line for each set, the worst cells, how much the intervals hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/book/judge_book.hpp"
#include "analysis/faces/table.hpp"

namespace simsgd::book {

Table book_table(const JudgedBook& judged);
std::string book_text(const JudgedBook& judged);
/// docs/accuracy.md; `command` made it.
std::string book_markdown(const JudgedBook& judged, const std::string& command);
/// The same in short, a line for each machine: README.md has it.
std::string book_by_machine(const JudgedBook& judged);
nlohmann::ordered_json book_json(const JudgedBook& judged);

}  // namespace simsgd::book
