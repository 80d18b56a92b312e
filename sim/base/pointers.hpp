// JSON pointers (RFC 6901) as text.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace simsgd {

/// `pointer` extended by one key, escaped.
std::string child(const std::string& pointer, const std::string& key);
std::string child(const std::string& pointer, std::size_t index);
/// Without its last token; "" for a top-level one.
std::string parent(const std::string& pointer);
/// The last token, unescaped.
std::string last_key(const std::string& pointer);
/// All tokens, unescaped. `pointer` is empty or begins with "/".
std::vector<std::string> tokens(const std::string& pointer);
/// True for `pointer` itself and for what lies below it.
bool within(const std::string& inner, const std::string& pointer);

/// The index that a token of a pointer is; nothing where it is none.
std::optional<std::size_t> list_index(const std::string& token);

/// The value at `pointer`, or null where there is none.
const nlohmann::json* value_at(const nlohmann::json& document, const std::string& pointer);

}  // namespace simsgd
