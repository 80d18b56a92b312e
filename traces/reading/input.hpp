// What an importer reads: a file, plain or compressed (gzip), or a pipe, line by line, piece by piece
// or whole. Memory is that of a few lines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace simsgd {

/// No line, and nothing that is read whole, is longer: JSON that is to be held in memory takes ten times as
/// much.
inline constexpr std::size_t kLongestLine_bytes = std::size_t{1} << 26;

class Input {
 public:
  /// "-" is standard input, which errors call "<stdin>". Throws ConfigError where there is nothing to read.
  explicit Input(const std::string& path);
  /// A text in memory; errors call it `name`.
  Input(std::string name, std::string text);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const std::string& name() const { return name_; }
  /// The path of a plain file, which another library may open by itself; "" where there is none.
  const std::string& plain_path() const { return plain_path_; }
  /// A text in memory.
  bool in_memory() const { return source_ == nullptr; }
  /// The first 64 KiB, as often as asked for: what the format is told by.
  std::string_view head();
  /// The next line, without its end ("\n" or "\r\n"); false after the last. Good until the next call.
  bool line(std::string_view& text);
  /// The number of the line that was read last, from 1.
  std::size_t line_number() const { return line_number_; }
  /// Whether that line had an end; the last one of a file that is being written, or was cut, may have none.
  bool line_ended() const { return line_ended_; }
  /// What comes next, a MiB or so (of a text in memory: all); false after the last. Good until the next call.
  bool piece(std::string_view& text);
  /// All that is left. Throws ConfigError beyond 512 MiB.
  std::string rest();
  /// How much of a plain file was read, from 0 to 1; 0 where that is not known.
  double fraction_read() const;
  /// After the end: whether a compressed file ended too early.
  bool cut() const { return cut_; }

 private:
  bool fill();  // false: there is no more

  struct Source;
  std::string name_, plain_path_;
  std::unique_ptr<Source> source_;  // none: a text in memory
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is not read yet
  std::size_t line_number_ = 0, filled_ = 0, size_ = 0;
  bool line_ended_ = true, at_end_ = false, cut_ = false;
};

// Words, numbers and units of a line of text, read without a copy.

/// Blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);
bool is_digit(char c);
/// ASCII alone.
std::string small_letters(std::string_view text);
bool holds(std::string_view text, std::string_view part);
/// The first character of a file that is not a blank; 0 where there is none.
char first_character(std::string_view head);
/// Replaces `words` by what stands between blanks and tabs.
void split_words(std::string_view line, std::vector<std::string_view>& words);
/// All of `text`, a finite number in decimal notation; false otherwise, and where it does not fit a double.
bool read_number(std::string_view text, double& value);
/// The same, a whole number from `least` to 2^31 - 1.
bool read_count(std::string_view text, int least, int& value);
/// All of `text`: a number, or several as "[a; b]" or with another separator; replaces `values`. False
/// otherwise.
bool read_list(std::string_view text, std::vector<double>& values, char separator = ';');
/// The number that follows `after` in `text` (blanks between); false where there is none.
bool number_after(std::string_view text, std::string_view after, double& value);
/// The word that follows `after` and blanks; empty where there is none.
std::string_view word_after(std::string_view text, std::string_view after);

/// A line of a program that ran in several processes, without what names the process: mpirun's
/// "[1,0]<stdout>:", srun's "0: ".
std::string_view without_process(std::string_view line);

/// How many SI units one `unit` is ("us": 1e-6), also "1" and "%" (0.01) of a plain number and "1/s",
/// "samples/s" and so on of a rate without a unit in sim/base/units; false where it is not a unit of the
/// dimension.
bool unit_scale(std::string_view unit, Dimension dimension, double& scale);

/// `value` units of that scale in SI, rounded once: 332.4 us are 0.0003324 s, and not a bit less.
double in_si(double value, double scale);

}  // namespace simsgd
