#include "traces/reading/json_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kBlock_bytes = std::size_t{1} << 16;
constexpr std::size_t kLongestCharacter = 4;
constexpr std::size_t kMostMended = std::size_t{1} << 20;  // before a file is looked at as a whole: /dev/zero

// RFC 3629: what the second byte may be after the first.
std::pair<unsigned char, unsigned char> second_bytes(unsigned char first) {
  if (first == 0xE0) return {0xA0, 0xBF};
  if (first == 0xED) return {0x80, 0x9F};
  if (first == 0xF0) return {0x90, 0xBF};
  if (first == 0xF4) return {0x80, 0x8F};
  return {0x80, 0xBF};
}

// Bytes of the character that begins there; 0: none does; more than there are: the rest is missing.
std::size_t character_length(const unsigned char* at, std::size_t available) {
  const unsigned char first = at[0];
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2U
                             : first >= 0xE0 && first <= 0xEF ? 3U
                             : first >= 0xF0 && first <= 0xF4 ? 4U
                                                              : 0U;
  for (std::size_t i = 1; i < std::min(length, available); ++i) {
    const auto [least, most] =
        i == 1 ? second_bytes(first) : std::pair<unsigned char, unsigned char>{0x80, 0xBF};
    if (at[i] < least || at[i] > most) return 0;
  }
  return length;
}

// Plain ASCII that needs no look.
constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> plain = {};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = true;
  plain['\n'] = plain['\r'] = true;
  return plain;
}
constexpr std::array<bool, 256> kPlain = plain_bytes();

// Without a branch per byte, so that many are looked at together.
constexpr std::size_t kGroup = 64;
bool plain_group(const unsigned char* bytes) {
  unsigned char other = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const auto below = static_cast<unsigned char>(static_cast<unsigned char>(bytes[i] - 0x20U) >= 0x60U);
    const auto line = static_cast<unsigned char>((bytes[i] == '\n') | (bytes[i] == '\r'));
    other |= static_cast<unsigned char>(below & (line ^ 1U));
  }
  return other == 0;
}

}  // namespace

JsonBuffer::int_type JsonBuffer::underflow() {
  char *at = nullptr, *stop = nullptr;
  if (!bytes_.next(at, stop)) return traits_type::eof();
  setg(at, at, stop);
  return traits_type::to_int_type(*at);
}

bool JsonBytes::next(char*& at, char*& stop) {
  if (block_.empty()) block_.resize(kBlock_bytes + kLongestCharacter);
  do {
    const std::size_t kept = end_ - good_;  // the beginning of a character
    std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(good_), kept, block_.begin());
    if (piece_.empty() && !at_end_) at_end_ = !input_.piece(piece_);
    const std::size_t taken = at_end_ ? 0 : std::min(piece_.size(), kBlock_bytes);
    if (taken > 0) std::memcpy(block_.data() + kept, piece_.data(), taken);
    if (taken > 0) piece_.remove_prefix(taken);
    taken_ += taken;
    end_ = kept + taken;
    good_ = 0;
    if (end_ == 0) {
      exhausted_ = true;
      return false;
    }
    mend(at_end_);
  } while (good_ == 0);
  at = block_.data();
  stop = at + good_;
  return true;
}

void JsonBytes::mend(bool last) {
  auto* const bytes = reinterpret_cast<unsigned char*>(block_.data());
  while (good_ < end_) {
    while (good_ + kGroup <= end_ && plain_group(bytes + good_)) good_ += kGroup;
    if (good_ == end_) return;
    if (kPlain[bytes[good_]]) {
      ++good_;
      continue;
    }
    const std::size_t length = bytes[good_] < 0x80 ? 0 : character_length(bytes + good_, end_ - good_);
    if (length > end_ - good_ && !last) return;
    if (length > 0 && length <= end_ - good_) {
      good_ += length;
      continue;
    }
    mended_ += bytes[good_] == '\t' ? 0 : 1;
    if (mended_ > kMostMended && 2 * mended_ > taken_)
      throw ConfigError({input_.name(), "", "is no text: most of it is no UTF-8, or control characters", "",
                         "Name a file of JSON, compressed by gzip or not"});
    bytes[good_] = bytes[good_] < 0x20 ? ' ' : '?';
    ++good_;
  }
}

JsonEnd json_end(const JsonHandler& handler, const JsonBytes& bytes, const std::string& name) {
  if (handler.too_deep)
    throw ConfigError({name, "", fmt::format("is nested deeper than {} levels", kDeepestJson), "",
                       "Check its brackets and braces"});
  if (bytes.exhausted()) return {.cut = true, .mended = bytes.mended()};
  const JsonProblem problem = json_problem(handler.problem);
  throw ConfigError({name, "", problem.problem, "", problem.remedy});
}

namespace {

class ElementReader final : public JsonHandler {
 public:
  explicit ElementReader(const JsonElements& wanted) : wanted_(wanted) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t number) { return put(number); }
  bool number_unsigned(number_unsigned_t number) { return put(number); }
  bool number_float(number_float_t number, const string_t&) { return put(number); }
  bool string(string_t& text) { return put(std::move(text)); }

  bool key(string_t& name) {
    if (depth == 1) top_key_ = name;
    key_ = name;
    return true;
  }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

 private:
  bool in_list() const { return in_list_ && depth == 2; }
  // Whether a value that begins here is one of those wanted.
  bool begins() const { return in_list() || (depth == 1 && wanted_.other.contains(top_key_)); }

  nlohmann::json* insert(nlohmann::json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    nlohmann::json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }

  bool put(nlohmann::json value) {
    if (open_.empty() && !begins()) return true;
    insert(std::move(value));
    if (open_.empty()) give();
    return true;
  }

  bool open(nlohmann::json value) {
    if (!open_.empty() || begins())
      open_.push_back(insert(std::move(value)));
    else if (depth == 1 && top_key_ == wanted_.list && value.is_array())
      in_list_ = true;
    return enter();
  }

  bool close() {
    --depth;
    if (!open_.empty()) {
      open_.pop_back();
      if (open_.empty()) give();
    } else if (depth == 1) {
      in_list_ = false;
    }
    return true;
  }

  void give() {
    if (in_list_)
      wanted_.element(root_);
    else
      wanted_.value(top_key_, root_);
    root_ = nullptr;
  }

  const JsonElements& wanted_;
  std::string top_key_, key_;
  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;  // only the last one grows, so that those before it stay where they are
  bool in_list_ = false;
};

}  // namespace

void read_json_elements(Input& input, ImportedFile& file, const JsonElements& wanted) {
  ElementReader reader(wanted);
  const JsonEnd end = read_json(input, reader);
  if (end.cut) file.ignore("files that end too early; what came before was read");
  if (end.mended > 0) file.ignore("bytes that are no UTF-8, or control characters; replaced", end.mended);
}

}  // namespace simsgd
