#include "scenarios/language/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

constexpr const char* kBlanks = " \t\r\n";

/// After the comment that begins at `at`.
std::size_t after_comment(const std::string& text, std::size_t at) {
  const bool line = text[at + 1] == '/';
  const std::size_t found = text.find(line ? "\n" : "*/", at + 2);
  if (found == std::string::npos) return text.size();
  return line ? found : found + 2;
}

/// After blanks and comments.
std::size_t skip(const std::string& text, std::size_t at) {
  while (true) {
    at = std::min(text.find_first_not_of(kBlanks, at), text.size());
    if (at + 1 >= text.size() || text[at] != '/') return at;
    at = after_comment(text, at);
  }
}

/// After the text in quotation marks that begins at `at`.
std::size_t after_string(const std::string& text, std::size_t at) {
  for (++at; text.at(at) != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

TextNode read_value(const std::string& text, std::size_t at);

/// Members or elements; the position after the closing bracket.
std::size_t read_below(const std::string& text, TextNode& node) {
  const char closing = node.kind == TextNode::Kind::object ? '}' : ']';
  std::size_t at = skip(text, node.begin + 1);
  while (text.at(at) != closing) {
    TextNode next;
    if (node.kind == TextNode::Kind::object) {
      const std::size_t key_end = after_string(text, at);
      next = read_value(text, skip(text, skip(text, key_end) + 1));
      next.key_begin = at;
      next.key_end = key_end;
      next.key = nlohmann::json::parse(text.substr(at, key_end - at)).get<std::string>();
    } else {
      next = read_value(text, at);
    }
    at = skip(text, next.end);
    if (text.at(at) == ',') {
      next.comma = at;
      at = skip(text, at + 1);
    }
    node.below.push_back(std::move(next));
  }
  return at + 1;
}

TextNode read_value(const std::string& text, std::size_t at) {
  TextNode node;
  node.begin = at;
  switch (text.at(at)) {
    case '{':
      node.kind = TextNode::Kind::object;
      node.end = read_below(text, node);
      break;
    case '[':
      node.kind = TextNode::Kind::list;
      node.end = read_below(text, node);
      break;
    case '"':
      node.kind = TextNode::Kind::text;
      node.end = after_string(text, at);
      break;
    default:
      node.end = std::min(text.find_first_of(" \t\r\n,]}/", at), text.size());
  }
  return node;
}

bool only_blanks(const std::string& text, std::size_t begin, std::size_t end) {
  return text.find_first_not_of(" \t\r", begin) >= end;
}

std::size_t line_begin(const std::string& text, std::size_t at) {
  const std::size_t before = at == 0 ? kNowhere : text.rfind('\n', at - 1);
  return before == kNowhere ? 0 : before + 1;
}

/// The edit that takes out a range, but for comments in it: with its lines where nothing else is on them,
/// else with the blanks after it, or with those before it where an object's end follows.
TextEdit without(const std::string& text, std::size_t begin, std::size_t end, bool ends_object) {
  const std::vector<std::string> comments = comments_in(text, begin, end);
  const std::size_t line = line_begin(text, begin);
  const std::size_t next = std::min(text.find('\n', end), text.size());
  const bool lines = only_blanks(text, line, begin) && only_blanks(text, end, next);
  std::string kept;
  for (const std::string& comment : comments)
    kept += (lines ? text.substr(line, begin - line) : "") + comment +
            (lines || comment.starts_with("//") ? "\n" : " ");
  if (lines) return {line, std::min(next + 1, text.size()), kept};
  const std::size_t before = text.find_last_not_of(" \t", begin - 1);
  if (ends_object && comments.empty() && before != kNowhere && text[before] != '\n') begin = before + 1;
  const std::size_t after = std::min(text.find_first_not_of(" \t", end), text.size());
  const bool last = after == text.size() || text[after] == '}' || text[after] == '\n';
  return {begin, last ? end : after, kept};
}

}  // namespace

const TextNode* TextNode::member(const std::string& name) const {
  const auto found =
      std::find_if(below.begin(), below.end(), [&name](const TextNode& each) { return each.key == name; });
  return kind != Kind::object || found == below.end() ? nullptr : &*found;
}

TextNode read_text(const std::string& text) {
  const bool mark = text.starts_with("\xEF\xBB\xBF");
  return read_value(text, skip(text, mark ? 3 : 0));
}

std::vector<std::string> comments_in(const std::string& text, std::size_t begin, std::size_t end) {
  std::vector<std::string> all;
  for (std::size_t at = begin; at < end;) {
    if (text[at] == '"') {
      at = after_string(text, at);
    } else if (text[at] == '/') {
      const std::size_t after = after_comment(text, at);
      all.push_back(text.substr(at, after - at));
      all.back().erase(all.back().find_last_not_of(kBlanks) + 1);
      at = after;
    } else {
      ++at;
    }
  }
  return all;
}

std::string edited(const std::string& text, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.begin < b.begin; });
  std::string made;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    CHECK(edit.begin >= at, "two edits of a text overlap");
    made += text.substr(at, edit.begin - at) + edit.replacement;
    at = edit.end;
  }
  return made + text.substr(at);
}

std::vector<TextEdit> without_members(const std::string& text, const TextNode& object,
                                      const std::vector<std::size_t>& indices) {
  std::vector<TextEdit> edits;
  const auto goes = [&indices](std::size_t i) {
    return std::find(indices.begin(), indices.end(), i) != indices.end();
  };
  std::size_t kept = object.below.size();  // members before those that go at the end
  while (kept > 0 && goes(kept - 1)) --kept;
  if (kept > 0 && kept < object.below.size()) {
    const std::size_t comma = object.below[kept - 1].comma;
    edits.push_back({comma, comma + 1, ""});
  }
  for (const std::size_t i : indices) {
    const TextNode& member = object.below[i];
    const std::size_t end = member.comma == kNowhere ? member.end : member.comma + 1;
    edits.push_back(without(text, member.key_begin, end, i == kept));
  }
  return edits;
}

std::string separator_like(const std::string& text, const TextNode& node) {
  const std::size_t line = line_begin(text, node.key_begin);
  if (!only_blanks(text, line, node.key_begin)) return ", ";
  return ",\n" + text.substr(line, node.key_begin - line);
}

TextEdit with_members(const std::string& text, const TextNode& object,
                      const std::vector<std::string>& members) {
  if (object.below.empty())
    return {object.begin + 1, object.begin + 1, fmt::format("{}", fmt::join(members, ", "))};
  const TextNode& last = object.below.back();
  const std::string separator = separator_like(text, last);
  std::string added;
  for (const std::string& each : members) added += separator + each;
  return {last.end, last.end, added};
}

}  // namespace simsgd
