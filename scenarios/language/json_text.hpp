// JSON with // and /* */ comments as text: where each key and value stands, for edits that leave everything
// else as it is written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace simsgd {

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// A value; as a member of an object with its key.
struct TextNode {
  enum class Kind { object, list, text, other } kind = Kind::other;
  std::size_t begin = 0, end = 0;          ///< of the value
  std::size_t key_begin = 0, key_end = 0;  ///< of the key, with its quotation marks
  std::size_t comma = kNowhere;            ///< that follows it
  std::string key;
  std::vector<TextNode> below;  ///< members or elements

  /// The member with that key, or null.
  const TextNode* member(const std::string& name) const;
};

/// `text` is known to be right (parse_json).
TextNode read_text(const std::string& text);

/// The comments between two positions, without the ends of their lines.
std::vector<std::string> comments_in(const std::string& text, std::size_t begin, std::size_t end);

struct TextEdit {
  std::size_t begin = 0, end = 0;
  std::string replacement;
};
/// Edits do not overlap; those at one place are made in their order.
std::string edited(const std::string& text, std::vector<TextEdit> edits);

/// What takes the members with these indices out of an object, with their commas, and leaves the comments in
/// them; a line that held nothing else goes too.
std::vector<TextEdit> without_members(const std::string& text, const TextNode& object,
                                      const std::vector<std::size_t>& indices);

/// What adds members (`"key": value`) at the end of an object, each on a line of its own where the others
/// are.
TextEdit with_members(const std::string& text, const TextNode& object,
                      const std::vector<std::string>& members);

/// What separates members that are written as `node` is: a comma, and a space or a line's indentation.
std::string separator_like(const std::string& text, const TextNode& node);

}  // namespace simsgd
