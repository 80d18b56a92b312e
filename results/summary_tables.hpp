// What an algorithm decided (fusion groups, a placement), for people: the tables of a run's document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace simsgd {

/// Rows that are shown of a table; the document has all.
inline constexpr std::size_t kMostTableRows = 16;

/// "" where the algorithm noted nothing; else an empty line before each table.
std::string decided_tables(const nlohmann::ordered_json& document);

}  // namespace simsgd
