// What an importer reads: a file, plain or compressed (gzip), or a pipe, line by line, piece by piece
// or whole. Memory is that of a few lines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simsgd {

/// No line, and nothing that is read whole, is longer: JSON that is to be held in memory takes ten times as
/// much.
inline constexpr std::size_t kLongestLine_bytes = std::size_t{1} << 26;
inline constexpr std::size_t kLargestDocument_bytes = std::size_t{1} << 29;

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
  /// All that is left. Throws ConfigError beyond kLargestDocument_bytes.
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

}  // namespace simsgd
