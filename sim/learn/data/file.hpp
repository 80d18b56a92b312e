// Reading a data file, plain or compressed with gzip (zlib tells them apart by their first bytes). Every
// failure is a ParameterError under the key of the parameter that led to the file, and names the file and the
// remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace simsgd {

struct FileSource {
  std::filesystem::path path;
  std::string key;     ///< the parameter that named it, without "/"
  std::string remedy;  ///< what to do if it cannot be used, such as "Install the Debian package x"
};

/// Throws "the file X <problem>".
[[noreturn]] void reject_file(const FileSource& source, const std::string& problem);

class DataFile {
 public:
  explicit DataFile(FileSource source);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  /// Fills `to` as far as the file reaches; the number of bytes read. Bytes count uncompressed.
  std::size_t read(std::span<std::uint8_t> to);
  /// Bytes read so far.
  std::size_t position() const { return position_; }
  [[noreturn]] void fail(const std::string& problem) const { reject_file(source_, problem); }

 private:
  FileSource source_;
  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::size_t position_ = 0;
};

/// The whole file; fails where it is empty or has 2^31 bytes and more.
std::vector<std::uint8_t> read_whole(const FileSource& source);

/// How many of a file's samples are used: those that option `key` asks for, or all.
std::int64_t samples_to_use(const std::string& key, std::optional<std::int64_t> asked, std::int64_t available,
                            const std::filesystem::path& path);

/// With commas where it is large.
std::string with_commas(std::int64_t value);

}  // namespace simsgd
