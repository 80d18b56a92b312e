// text: any text, cut into tokens: its bytes, or the characters of UTF-8 (vocabulary: those that occur, by
// code point). A sample is `context` tokens in a row and, as labels, the token after each. Training samples
// begin at every token of the first part of the file; test samples lie side by side in what is left. The file
// that is there without a path is the Jargon File, 1.6 MB of English in the public domain.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/learn/data/file.hpp"
#include "sim/learn/data/registry.hpp"

namespace simsgd::data_sources {

namespace {

constexpr std::size_t kMostKinds = 65536;  // that a token of 16 bits can be

enum class TokenKind : std::uint8_t { character, byte };

struct TextOptions {
  std::string path = "/usr/share/doc/jargon-text/jargon.txt.gz";
  TokenKind tokens = TokenKind::character;
  std::int64_t context = 64;
  double test_fraction = 0.1;
  std::optional<std::int64_t> test_samples;

  void fields(Fields& f) {
    f.text("path", path, "The text, plain or .gz").at_least(1);
    f.choice("tokens", tokens, {{"character", TokenKind::character}, {"byte", TokenKind::byte}},
             "What a token is: a character of UTF-8, or a byte of any file");
    f.whole("context", context,
            "Tokens of a sample: each token is predicted from at most this many before it")
        .at_least(1)
        .at_most(65536);
    f.number("test_fraction", test_fraction,
             "Share of the text, at its end, that is the test set; 0 for none")
        .at_least(0)
        .below(1);
    f.whole("test_samples", test_samples, "This many samples of the test text are used, evenly spread")
        .at_least(1)
        .by_rule("all");
  }
};

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: there is none
};

/// The character that begins at `at`: RFC 3629, so neither the longer of two forms nor a surrogate.
CodePoint code_point(std::span<const std::uint8_t> text, std::size_t at) {
  const std::uint32_t first = text[at];
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return {};
  std::uint32_t value = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((text[at + i] & 0xc0u) != 0x80) return {};
    value = value << 6 | (text[at + i] & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (value < kLeast[bytes] || value > 0x10ffff || surrogate) return {};
  return {value, bytes};
}

struct Tokens {
  std::vector<std::uint16_t> all;
  std::vector<std::uint8_t> bytes_of_kind;
};

Tokens characters_of(std::span<const std::uint8_t> text, const FileSource& source) {
  const FileSource as_bytes{source.path, source.key, "Use \"tokens\": \"byte\", or name another text"};
  std::vector<std::uint32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point(text, at);
    if (point.bytes == 0)
      reject_file(as_bytes,
                  fmt::format("is not UTF-8: byte {} (0x{:02x}) begins no character", at, text[at]));
    points.push_back(point.value);
    at += point.bytes;
  }
  std::vector<std::uint32_t> kinds = points;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  if (kinds.size() > kMostKinds)
    reject_file(as_bytes, fmt::format("has {} different characters, and at most {} can be tokens",
                                      kinds.size(), kMostKinds));
  std::vector<std::uint16_t> token_of(kinds.back() + 1);
  Tokens tokens;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    token_of[kinds[k]] = static_cast<std::uint16_t>(k);
    tokens.bytes_of_kind.push_back(kinds[k] < 0x80 ? 1 : kinds[k] < 0x800 ? 2 : kinds[k] < 0x10000 ? 3 : 4);
  }
  for (const std::uint32_t point : points) tokens.all.push_back(token_of[point]);
  return tokens;
}

/// Tokens [begin, end) as a data set whose samples are `stride` apart.
std::shared_ptr<const DataSet> part_of_text(const Tokens& tokens, std::int64_t begin, std::int64_t end,
                                            std::int64_t context, std::int64_t stride) {
  auto data = std::make_shared<DataSet>();
  data->name = "text";
  data->features = context;
  data->classes = static_cast<int>(tokens.bytes_of_kind.size());
  data->stride = stride;
  data->tokens.assign(tokens.all.begin() + begin, tokens.all.begin() + end);
  double bytes = 0;
  for (const std::uint16_t token : data->tokens) bytes += tokens.bytes_of_kind[token];
  data->bytes_per_token = bytes / static_cast<double>(end - begin);
  data->count = (end - begin - context - 1) / stride + 1;
  return data;
}

/// Throws if `size` tokens have no room for a sample.
void check_room(const TextOptions& options, const char* which, std::int64_t size) {
  if (size > options.context) return;
  const std::string remedy =
      std::string_view(which) == "test"
          ? "Use a shorter context, a longer text, a larger \"test_fraction\", or 0 for no test set"
          : "Use a shorter context or a longer text";
  reject("context",
         fmt::format("is {}, which with the next token is longer than the {} tokens of the {} text",
                     options.context, size, which),
         remedy);
}

DataSets load_text(const TextOptions& options, const DataContext& context) {
  const FileSource source{
      context.resolve(options.path), "path",
      "Name a text, or install the Debian package jargon-text (slim images leave out /usr/share/doc)"};
  const std::vector<std::uint8_t> text = read_whole(source);
  const Tokens tokens = options.tokens == TokenKind::character
                            ? characters_of(text, source)
                            : Tokens{{text.begin(), text.end()}, std::vector<std::uint8_t>(256, 1)};
  const auto size = static_cast<std::int64_t>(tokens.all.size());
  const auto cut = size - std::llround(static_cast<double>(size) * options.test_fraction);
  check_room(options, "training", cut);
  DataSets sets;
  sets.train = part_of_text(tokens, 0, cut, options.context, 1);
  if (options.test_fraction == 0) return sets;
  check_room(options, "test", size - cut);
  const std::int64_t most = (size - cut - 1) / options.context;  // samples that lie side by side
  if (options.test_samples && *options.test_samples > most)
    reject("test_samples",
           fmt::format("is more than the {} samples that fit into the test text without overlap", most),
           "Use fewer, a shorter \"context\" or a larger \"test_fraction\"");
  const std::int64_t apart = most / options.test_samples.value_or(most);
  auto test =
      std::make_shared<DataSet>(*part_of_text(tokens, cut, size, options.context, apart * options.context));
  test->count = options.test_samples.value_or(most);
  sets.test = std::move(test);
  return sets;
}

}  // namespace

std::vector<DataPlugin> text() {
  return {{{.name = "text",
            .summary = "A text, by character or byte, whose next token is to be predicted",
            .citation = ""},
           load_text}};
}

}  // namespace simsgd::data_sources
