// Reading JSON: from a file or standard input, with // comments, and with errors that say where the text goes
// wrong.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

/// JSON text with comments. Throws ConfigError with line, column and what was expected; a key that is written
/// twice in one object is an error too. `file` is the name under which errors speak of it.
Json parse_json(const std::string& text, const std::string& file);

/// All of a file. Throws ConfigError.
std::string read_file(const std::string& path);

/// The files that a scenario is made of; each is read once.
class JsonFiles {
 public:
  /// "-" is standard input, which errors call "<stdin>". `parse` makes an object of the text, and is given
  /// the name under which errors speak of it. Throws ConfigError.
  const Json& read(const std::string& path,
                   Json (*parse)(const std::string& text, const std::string& file) = parse_json);
  /// A document that is not in a file; errors call it `name`.
  void put(const std::string& name, Json value) { read_[name] = std::move(value); }

 private:
  std::map<std::string, Json> read_;
};

/// How errors speak of a path given on the command line.
std::string shown_name(const std::string& path);

/// Where `name`, as written in the file `from`, is looked for: itself if it is absolute; beside `from`; in
/// each directory above `from` that is called "scenarios"; the current directory and its scenarios/; the
/// scenario directory of the installation of this executable, or of its build tree.
std::vector<std::string> search_path(const std::string& name, const std::string& from);

struct FoundFile {
  std::string path;    ///< empty where there is none
  std::string remedy;  ///< then: where it was looked for, and what is there
};
FoundFile find_file(const std::string& name, const std::string& from);

}  // namespace simsgd
