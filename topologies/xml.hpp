// XML as a stream of elements, for files from anywhere: Expat, nothing fetched, no entity of the file's own,
// no deep nesting.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "topologies/network_file.hpp"

namespace simsgd {

struct XmlElement {
  std::string name;  ///< without its namespace's prefix
  std::map<std::string, std::string> attributes;
  int line = 0;

  /// Empty where it is not there.
  std::string operator[](const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? "" : found->second;
  }
};

struct XmlEvents {
  std::function<void(const XmlElement&)> begin;
  std::function<void(const std::string& name, const std::string& text)> end;  ///< text directly inside it
};

/// Throws `errors` with the line where the text is not XML, or has a document type with declarations.
void read_xml(const std::string& text, const XmlEvents& events, FileErrors& errors);

}  // namespace simsgd
