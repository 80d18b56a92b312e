#include "traces/reading/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kLargestDocument_bytes = std::size_t{1} << 29;

constexpr std::size_t kChunk_bytes = std::size_t{1} << 20;
constexpr std::size_t kHead_bytes = std::size_t{1} << 16;

}  // namespace

// zlib gives what is not compressed as it is.
struct Input::Source {
  gzFile file = nullptr;
  ~Source() {
    if (file != nullptr) gzclose(file);
  }
};

Input::Input(const std::string& path)
    : name_(path == "-" ? "<stdin>" : path), source_(std::make_unique<Source>()) {
  const EndsAtInterrupts guard(name_);  // a FIFO without a writer does not open
  const int descriptor = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const std::string why = std::strerror(errno);
    if (descriptor >= 0) close(descriptor);
    throw ConfigError(
        {name_, "", "cannot be read (" + why + ")", "", "Check that it exists and that you may read it"});
  }
  if (S_ISDIR(status.st_mode)) {
    close(descriptor);
    throw ConfigError({name_, "", "is a directory", "", "Name the files in it"});
  }
  source_->file = gzdopen(descriptor, "rb");
  if (source_->file == nullptr) {
    close(descriptor);
    throw ConfigError({name_, "", "cannot be read", "", "Try again with more memory"});
  }
  gzbuffer(source_->file, kChunk_bytes / 4);
  if (!S_ISREG(status.st_mode) || gzdirect(source_->file) == 0) return;
  size_ = static_cast<std::size_t>(status.st_size);
  if (path != "-") plain_path_ = path;
}

Input::Input(std::string name, std::string text)
    : name_(std::move(name)), buffer_(text.begin(), text.end()), end_(buffer_.size()), at_end_(true) {}

Input::~Input() = default;

bool Input::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kChunk_bytes) buffer_.resize(std::max(2 * buffer_.size(), end_ + kChunk_bytes));
  const EndsAtInterrupts guard(name_);
  const int got = gzread(source_->file, buffer_.data() + end_, static_cast<unsigned>(kChunk_bytes));
  int code = Z_OK;
  const std::string why = gzerror(source_->file, &code);
  if (got > 0) {
    end_ += static_cast<std::size_t>(got);
    filled_ += static_cast<std::size_t>(got);
    return true;
  }
  at_end_ = true;
  cut_ = code == Z_BUF_ERROR;
  if (code != Z_OK && !cut_)
    throw ConfigError({name_, "",
                       code == Z_DATA_ERROR ? "is a damaged gzip file" : "cannot be read (" + why + ")", "",
                       code == Z_DATA_ERROR ? "Copy it again: gzip -t says whether it is whole"
                                            : "Check that you may read it"});
  return false;
}

std::string_view Input::head() {
  while (end_ - begin_ < kHead_bytes && fill()) {
  }
  return {buffer_.data() + begin_, std::min(end_ - begin_, kHead_bytes)};
}

double Input::fraction_read() const {
  if (size_ == 0) return 0;
  return static_cast<double>(filled_ - (end_ - begin_)) / static_cast<double>(size_);
}

bool Input::line(std::string_view& text) {
  const char* found = nullptr;
  for (std::size_t searched = 0;;) {
    const char* from = buffer_.data() + begin_;
    const std::size_t length = end_ - begin_;
    if (length > searched)
      found = static_cast<const char*>(std::memchr(from + searched, '\n', length - searched));
    if (found != nullptr) break;
    searched = length;
    if (searched > kLongestLine_bytes)
      throw ConfigError({name_, "",
                         fmt::format("has a line, number {}, that is longer than {} MiB", line_number_ + 1,
                                     kLongestLine_bytes >> 20),
                         "", "Name a text file of measurements"});
    if (!fill()) break;
  }
  const char* from = buffer_.data() + begin_;
  line_ended_ = found != nullptr;
  if (!line_ended_ && begin_ == end_) return false;
  text = {from, line_ended_ ? static_cast<std::size_t>(found - from) : end_ - begin_};
  begin_ += text.size() + (line_ended_ ? 1 : 0);
  if (text.ends_with('\r')) text.remove_suffix(1);
  ++line_number_;
  return true;
}

bool Input::piece(std::string_view& text) {
  if (begin_ == end_ && !fill()) return false;
  text = {buffer_.data() + begin_, end_ - begin_};
  begin_ = end_;
  return true;
}

std::string Input::rest() {
  while (fill())
    if (end_ - begin_ > kLargestDocument_bytes)
      throw ConfigError({name_, "", fmt::format("is larger than {} MiB", kLargestDocument_bytes >> 20), "",
                         "Split it into several files, or write one JSON document per line"});
  std::string all(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  return all;
}

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string small_letters(std::string_view text) {
  std::string letters(text);
  for (char& c : letters)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return letters;
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

char first_character(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? '\0' : head[first];
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) return;
    const char* const begin = at;
    while (at != end && !is_blank(*at)) ++at;
    words.emplace_back(begin, static_cast<std::size_t>(at - begin));
  }
}

bool read_number(std::string_view text, double& value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && std::isfinite(value);
}

bool read_count(std::string_view text, int least, int& value) {
  double number = 0;
  if (!read_number(text, number) || number < least || number > 2147483647 || std::trunc(number) != number)
    return false;
  value = static_cast<int>(number);
  return true;
}

bool read_list(std::string_view text, std::vector<double>& values, char separator) {
  values.clear();
  text = trimmed(text);
  const bool list = text.starts_with('[') && text.ends_with(']') && text.size() > 1;
  if (list) text = text.substr(1, text.size() - 2);
  if (list && trimmed(text).empty()) return true;
  for (;;) {
    const std::size_t end = list ? text.find(separator) : std::string_view::npos;
    double value = 0;
    if (!read_number(trimmed(text.substr(0, end)), value)) return false;
    values.push_back(value);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

std::string_view word_after(std::string_view text, std::string_view after) {
  const std::size_t at = text.find(after);
  if (at == std::string_view::npos) return {};
  text = trimmed(text.substr(at + after.size()));
  return text.substr(0, std::min(text.find(' '), text.find('\t')));
}

bool number_after(std::string_view text, std::string_view after, double& value) {
  return read_number(word_after(text, after), value);
}

std::string_view without_process(std::string_view line) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < line.size() && is_digit(line[at])) ++at;
    return at > from;
  };
  const auto literal = [&](std::string_view text) {
    if (!line.substr(at).starts_with(text)) return false;
    at += text.size();
    return true;
  };
  if (line.starts_with('[')) {
    at = 1;
    if (digits() && literal(",") && digits() && literal("]<std") && (literal("out") || literal("err")) &&
        literal(">:"))
      return line.substr(at);
    return line;
  }
  while (at < line.size() && line[at] == ' ') ++at;
  return digits() && literal(": ") ? line.substr(at) : line;
}

bool unit_scale(std::string_view unit, Dimension dimension, double& scale) {
  if (dimension == Dimension::number) {
    scale = unit == "%" ? 0.01 : 1;
    return unit == "%" || unit == "1" || (unit.ends_with("/s") && unit.size() > 2);
  }
  const ParsedQuantity parsed =
      unit.empty() ? ParsedQuantity{} : parse_quantity("1 " + std::string(unit), dimension);
  scale = parsed.value;
  return parsed.ok && parsed.value > 0;
}

// 1e-6 is not a double, 1e6 is one.
double in_si(double value, double scale) {
  const double parts = std::round(1 / scale);
  return scale < 1 && 1 / parts == scale ? value / parts : value * scale;
}

}  // namespace simsgd
