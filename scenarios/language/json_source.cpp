#include "scenarios/language/json_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/errors.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/base/this_program.hpp"

namespace simsgd {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDeepest = 100;  // what reads scenarios calls itself once per level

/// Follows the parser through objects and arrays to find keys written twice: the library would keep the last
/// one.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(std::string file) : file_(std::move(file)) {}

  void see(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_end || event == Event::array_end) {
      levels_.pop_back();
    } else if (event == Event::key) {
      const std::string key = parsed.get<std::string>();
      if (!levels_.back().keys.insert(key).second)
        errors_.push_back({file_, child(pointer(levels_.size() - 1), key), "is written twice in one object",
                           "", "Keep one of the two"});
      levels_.back().key = key;
    } else {
      if (!levels_.empty() && levels_.back().is_array) ++levels_.back().index;
      if (event != Event::value) levels_.push_back({event == Event::array_start, 0, "", {}});
      if (levels_.size() > kDeepest)
        throw ConfigError({file_, "", fmt::format("is nested deeper than {} levels", kDeepest), "",
                           "Check its brackets and braces"});
    }
  }

  void throw_if_any() const {
    if (!errors_.empty()) throw ConfigError(errors_);
  }

 private:
  struct Level {
    bool is_array = false;
    std::size_t index = 0;  // of the current element, from 1
    std::string key;
    std::set<std::string> keys;
  };

  std::string pointer(std::size_t depth) const {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i)
      text = levels_[i].is_array ? child(text, levels_[i].index - 1) : child(text, levels_[i].key);
    return text;
  }

  std::string file_;
  std::vector<Level> levels_;
  std::vector<InputError> errors_;
};

/// Also what a shell puts in the place of a command's output: `simsgd run <(...)`.
bool can_be_read(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::is_regular_file(status) || fs::is_fifo(status) || fs::is_character_file(status);
}

/// "line 3, column 7: unexpected end of input; expected '}'" out of the library's sentence, which begins with
/// the name of its exception and holds a guess at what was being read.
std::string where_and_what(const std::string& sentence) {
  std::string text = sentence.substr(sentence.find("] ") + 2);
  const std::string prefix = "parse error at ";
  if (text.starts_with(prefix)) text = text.substr(prefix.size());
  const std::size_t colon = text.find(": ");
  const std::size_t what = text.rfind(" - ");
  if (colon == std::string::npos || what == std::string::npos || what < colon) return text;
  return text.substr(0, colon) + ": " + text.substr(what + 3);
}

constexpr std::size_t kLargestFile_bytes = std::size_t{1} << 26;

/// All of it; a device or a pipe need not end by itself.
std::string all_of(std::istream& stream, const std::string& name) {
  const EndsAtInterrupts guard(name);
  std::string text;
  for (std::size_t size = 0; stream; text.resize(size += static_cast<std::size_t>(stream.gcount()))) {
    if (size > kLargestFile_bytes)
      throw ConfigError({name, "", fmt::format("is larger than {} MiB", kLargestFile_bytes >> 20), "",
                         "Name a scenario, a study or a part of one"});
    text.resize(size + (std::size_t{1} << 16));
    stream.read(text.data() + size, static_cast<std::streamsize>(text.size() - size));
  }
  return text;
}

std::string files_like_it_in(const fs::path& directory, const std::string& name, std::string& guess) {
  const std::string extension = fs::path(name).extension() == ".csv" ? ".csv" : ".json";
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().extension() == extension) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  if (guess.empty()) guess = nearest(fs::path(name).filename().string(), names);
  return one_of(names);
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  DuplicateKeys duplicates(file);
  const auto follow = [&duplicates](int, Json::parse_event_t event, Json& parsed) {
    duplicates.see(event, parsed);
    return true;
  };
  try {
    Json value = Json::parse(text, follow, true, true);
    duplicates.throw_if_any();
    return value;
  } catch (const Json::parse_error& error) {
    const std::string what = where_and_what(error.what());
    const bool truncated = what.find("unexpected end of input") != std::string::npos;
    throw ConfigError({file, "", "is not valid JSON, " + what, "",
                       truncated
                           ? "The file ends too early: close every brace, bracket and quotation mark"
                           : "Correct the text there; // comments are allowed, trailing commas are not"});
  } catch (const Json::out_of_range& error) {
    throw ConfigError({file, "", "holds a number that is too large, " + where_and_what(error.what()), "",
                       "Write numbers below 1.8e308"});
  }
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw ConfigError({path, "", "is a directory", "", "Name a JSON file in it"});
  const EndsAtInterrupts guard(path);  // a FIFO without a writer does not open
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw ConfigError({path, "", "cannot be read", "", "Check that it exists and may be read"});
  return all_of(stream, path);
}

const Json& JsonFiles::read(const std::string& path,
                            Json (*parse)(const std::string& text, const std::string& file)) {
  const std::string name = shown_name(path);
  const auto known = read_.find(name);
  if (known != read_.end()) return known->second;
  return read_[name] = parse(path == "-" ? all_of(std::cin, name) : read_file(path), name);
}

std::string shown_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::vector<std::string> search_path(const std::string& name, const std::string& from) {
  if (fs::path(name).is_absolute()) return {name};
  std::vector<std::string> paths;
  // In a folder "scenarios" the file scenarios/a.json is a.json.
  const std::string own = "scenarios/", below = name.starts_with(own) ? name.substr(own.size()) : name;
  const auto look_in = [&](const fs::path& directory) {
    const std::string path =
        (directory / (directory.filename() == "scenarios" ? below : name)).lexically_normal().string();
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  };
  const fs::path beside = fs::path(from).parent_path();
  look_in(beside);
  fs::path above = fs::current_path();
  if (!beside.empty()) above = (above / beside).lexically_normal();
  for (fs::path shown = beside; above.has_relative_path(); above = above.parent_path(), shown /= "..")
    if (above.filename() == "scenarios") look_in(shown);
  look_in("");
  look_in("scenarios");
  const fs::path executable = this_program().parent_path();
  if (!executable.empty()) {
    look_in(executable / "../share/simsgd/scenarios");
    look_in(executable / "../../scenarios");
  }
  return paths;
}

FoundFile find_file(const std::string& name, const std::string& from) {
  const std::vector<std::string> paths = search_path(name, from);
  for (const std::string& path : paths)
    if (can_be_read(path)) return {path, ""};
  std::string guess;
  std::string there;
  for (const std::string& path : paths) {
    const std::string names = files_like_it_in(fs::path(path).parent_path(), name, guess);
    if (there.empty()) there = names;
  }
  std::string remedy;
  if (!guess.empty())
    remedy = "Did you mean \"" + (fs::path(name).parent_path() / guess).string() + "\"? ";
  else if (!there.empty())
    remedy = "There is " + there + ". ";
  remedy += "Looked for ";
  for (std::size_t i = 0; i < paths.size(); ++i) remedy += (i > 0 ? ", " : "") + paths[i];
  return {"", remedy};
}

}  // namespace simsgd
