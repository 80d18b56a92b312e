// JSON that others wrote: with limits, and with errors in our words. JSON of any size is read once from front
// to back by nlohmann's SAX parser: memory is that of a piece. Bytes that are not UTF-8, and control
// characters, would stop the parser; they are replaced on the way, and counted.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <set>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "traces/imported_file.hpp"
#include "traces/reading/input.hpp"

namespace simsgd {

/// Deeper documents are refused: what looks at them calls itself once per level.
inline constexpr int kDeepestJson = 100;

/// What the library says of a text that it cannot read, in our words.
struct JsonProblem {
  std::string problem, remedy;
};

/// A document. `comments`: // may stand in it. Throws ConfigError, which calls it `name`.
nlohmann::json parse_document(std::string_view text, const std::string& name, bool comments = false);

/// A line of JSON lines; discarded (is_discarded()) where it is not JSON.
nlohmann::json parse_line(std::string_view text);

/// The member of an object, null where it is none or has no such member.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
/// As text: what is a text; "" otherwise.
std::string text_of(const nlohmann::json& value);
/// A number, also where it is written as text; kNotGiven otherwise.
double number_of(const nlohmann::json& value);
/// A whole number of at least `least`, else `otherwise`.
int count_of(const nlohmann::json& value, int least, int otherwise);

/// The bytes of an input, mended.
class JsonBytes {
 public:
  explicit JsonBytes(Input& input) : input_(input) {}
  JsonBytes(const JsonBytes&) = delete;
  JsonBytes& operator=(const JsonBytes&) = delete;

  /// The next bytes, [at, stop); false after the last. Good until the next call.
  bool next(char*& at, char*& stop);
  std::size_t mended() const { return mended_; }
  /// The parser has asked for more than there is.
  bool exhausted() const { return exhausted_; }

 private:
  void mend(bool last);

  Input& input_;
  std::vector<char> block_;
  std::string_view piece_;
  std::size_t end_ = 0, good_ = 0;  // of the block: bytes in it, and those that are whole characters
  std::size_t mended_ = 0, taken_ = 0;
  bool at_end_ = false, exhausted_ = false;
};

/// The same for the parser, which is fastest with a stream.
class JsonBuffer final : public std::streambuf {
 public:
  explicit JsonBuffer(JsonBytes& bytes) : bytes_(bytes) {}

 private:
  int_type underflow() override;

  JsonBytes& bytes_;
};

/// How reading ended.
struct JsonEnd {
  bool cut = false;        ///< too early; what came before is as it would be otherwise
  std::size_t mended = 0;  ///< bytes that were replaced
};

/// Levels and errors, for handlers to inherit from: those add what they do with values.
struct JsonHandler {
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  bool binary(binary_t&) { return true; }
  /// One level deeper; false where that is too deep.
  bool enter() {
    too_deep = ++depth > kDeepestJson;
    return !too_deep;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    problem = error.what();
    return false;
  }

  int depth = 0;
  bool too_deep = false;
  std::string problem;  // the library's sentence
};

/// How a document ended that was not read whole. Throws ConfigError unless the bytes ended too early.
JsonEnd json_end(const JsonHandler& handler, const JsonBytes& bytes, const std::string& name);

/// Reads all of `input` into `handler`. Throws ConfigError where it is not JSON.
template <class Handler>
JsonEnd read_json(Input& input, Handler& handler) {
  JsonBytes bytes(input);
  JsonBuffer buffer(bytes);
  std::istream stream(&buffer);
  const bool whole = nlohmann::json::sax_parse(stream, &handler);
  return whole ? JsonEnd{.mended = bytes.mended()} : json_end(handler, bytes, input.name());
}

struct JsonElements {
  std::string list;             ///< the key of the list, in the document's object
  std::set<std::string> other;  ///< keys of it whose values are wanted, too
  std::function<void(const nlohmann::json& element)> element;
  std::function<void(const std::string& key, const nlohmann::json& value)> value;
};

/// Reads all of `input`; what was mended or is missing is counted in `file`. Other keys are passed over.
/// Throws ConfigError where it is not JSON.
void read_json_elements(Input& input, ImportedFile& file, const JsonElements& wanted);

}  // namespace simsgd
