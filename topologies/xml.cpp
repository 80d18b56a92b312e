#include "topologies/xml.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <vector>

namespace simsgd {

namespace {

constexpr std::size_t kDeepestXml = 64;

struct XmlReading {
  XML_Parser parser;
  const XmlEvents& events;
  FileErrors& errors;
  std::vector<std::pair<std::string, std::string>> open;  ///< name and text
  std::exception_ptr thrown;                              ///< Expat is C: nothing is thrown through it

  int line() const { return static_cast<int>(XML_GetCurrentLineNumber(parser)); }
  template <class Body>
  void guarded(Body body) {
    if (thrown) return;
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
      XML_StopParser(parser, XML_FALSE);
    }
  }
  [[noreturn]] void refuse(const std::string& problem, const std::string& remedy) {
    errors.refuse(line(), problem, remedy);
  }
};

XmlReading& reading(void* user) { return *static_cast<XmlReading*>(user); }

std::string local(const char* name) {
  const std::string whole = name;
  const std::size_t colon = whole.rfind(':');
  return colon == std::string::npos ? whole : whole.substr(colon + 1);
}

void xml_begin(void* user, const char* name, const char** attributes) {
  reading(user).guarded([&] {
    XmlReading& all = reading(user);
    if (all.open.size() == kDeepestXml)
      all.refuse(fmt::format("nests elements deeper than {}", kDeepestXml), "Write a network, which is flat");
    XmlElement element{.name = local(name), .attributes = {}, .line = all.line()};
    for (; *attributes != nullptr; attributes += 2) element.attributes[attributes[0]] = attributes[1];
    all.open.emplace_back(element.name, "");
    all.events.begin(element);
  });
}

void xml_end(void* user, const char*) {
  reading(user).guarded([&] {
    const auto [name, text] = std::move(reading(user).open.back());
    reading(user).open.pop_back();
    reading(user).events.end(name, text);
  });
}

void xml_text(void* user, const char* text, int length) {
  reading(user).guarded(
      [&] { reading(user).open.back().second.append(text, static_cast<std::size_t>(length)); });
}

// A document type that is only named, as in every platform of SimGrid, is not fetched; what one declares
// could blow up (entities of entities) or read files.
void xml_doctype(void* user, const char*, const char*, const char*, int declares) {
  reading(user).guarded([&] {
    if (declares != 0)
      reading(user).refuse("declares a document type of its own",
                           "Remove what stands in <!DOCTYPE ... [ ... ]>");
  });
}

void xml_skipped_entity(void* user, const char*, int) {
  reading(user).guarded([&] {
    reading(user).refuse("has an entity that XML does not define", "Write the text itself, or &#NUMBER;");
  });
}

}  // namespace

void read_xml(const std::string& text, const XmlEvents& events, FileErrors& errors) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            XML_ParserFree);
  XmlReading state{.parser = parser.get(), .events = events, .errors = errors, .open = {}, .thrown = {}};
  XML_SetUserData(parser.get(), &state);
  XML_SetElementHandler(parser.get(), xml_begin, xml_end);
  XML_SetCharacterDataHandler(parser.get(), xml_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), xml_doctype);
  XML_SetSkippedEntityHandler(parser.get(), xml_skipped_entity);
  const auto status = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (state.thrown) std::rethrow_exception(state.thrown);
  if (status != XML_STATUS_ERROR) return;
  errors.refuse(state.line(), fmt::format("is not XML: {}", XML_ErrorString(XML_GetErrorCode(parser.get()))),
                "Write a whole, well-formed file");
}

}  // namespace simsgd
