#include "traces/reading/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

bool quotes_open(std::string_view text, bool open) {
  return (std::ranges::count(text, '"') % 2 == 1) != open;
}

}  // namespace

bool CsvReader::record(std::vector<std::string>& fields) {
  for (std::string_view text; input_.line(text);) {
    line_ = input_.line_number();
    if (line_ == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
    if (trimmed(text).empty() || (comment_ != 0 && text.starts_with(comment_))) continue;
    open_quotes_ = separator_ != 0 && quotes_open(text, false);
    if (!open_quotes_) {
      split(text, fields);
      return true;
    }
    joined_ = text;
    while (open_quotes_ && joined_.size() < kLongestLine_bytes && input_.line(text)) {
      open_quotes_ = quotes_open(text, true);
      joined_ += '\n';
      joined_ += text;
    }
    split(joined_, fields);
    return true;
  }
  return false;
}

void CsvReader::split(std::string_view text, std::vector<std::string>& fields) {
  std::size_t count = 0;
  const auto next = [&]() -> std::string& {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    return field;
  };
  if (separator_ == 0) {
    std::vector<std::string_view> words;
    split_words(text, words);
    for (const std::string_view word : words) next() = word;
    fields.resize(count);
    return;
  }
  for (std::size_t at = 0; at <= text.size();) {
    std::string& field = next();
    bool quoted = false;
    for (; at < text.size() && (quoted || text[at] != separator_); ++at) {
      if (text[at] != '"') {
        field += text[at];
      } else if (quoted && at + 1 < text.size() && text[at + 1] == '"') {
        field += text[++at];
      } else {
        quoted = !quoted;
      }
    }
    ++at;  // the separator
  }
  fields.resize(count);
}

CsvColumns::CsvColumns(const std::vector<std::string>& names) : width_(names.size()) {
  for (std::size_t i = 0; i < names.size(); ++i) at_.emplace(std::string(trimmed(names[i])), i);
}

void CsvColumns::require(std::span<const char* const> needed, const std::string& file,
                         const std::string& found, const std::string& remedy) const {
  std::vector<InputError> errors;
  for (const char* name : needed)
    if (!has(name)) errors.push_back({file, "", fmt::format("has no column \"{}\"", name), found, remedy});
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

std::string_view CsvColumns::of(const std::vector<std::string>& record, std::string_view name) const {
  const auto found = at_.find(name);
  return found == at_.end() || found->second >= record.size() ? "" : trimmed(record[found->second]);
}

std::optional<double> CsvColumns::number(const std::vector<std::string>& record, std::string_view name,
                                         double otherwise) const {
  const std::string_view cell = of(record, name);
  double value = otherwise;
  return cell.empty() || read_number(cell, value) ? std::optional(value) : std::nullopt;
}

void append_csv(std::string& out, std::string_view field) {
  const bool plain =
      std::ranges::none_of(field, [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; }) &&
      (field.empty() || (field.front() != ' ' && field.back() != ' '));
  if (plain) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace simsgd
