#include "traces/chakra/chakra_nodes.hpp"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>
#include <utility>

#include "sim/base/errors.hpp"
#include "traces/chakra.pb.h"
#include "traces/measurements.hpp"

namespace simsgd {

namespace {

namespace wire = chakra_wire;

constexpr std::size_t kLongestMessage_bytes = std::size_t{1} << 24;
constexpr const char* kVersion = "0.0.4";

// CollectiveCommType: et_def.proto of version 0.0.4.
constexpr std::pair<std::string_view, int> kCommTypes[] = {
    {"all_reduce", 0}, {"reduce", 1},     {"all_gather", 2},     {"gather", 3}, {"scatter", 4},
    {"broadcast", 5},  {"all_to_all", 6}, {"reduce_scatter", 7}, {"barrier", 9}};
constexpr int kReduceScatterBlock = 8;

ChakraValue value_of(const wire::Attribute& attribute) {
  if (attribute.has_double_val()) return attribute.double_val();
  if (attribute.has_float_val()) return double{attribute.float_val()};
  if (attribute.has_int32_val()) return std::int64_t{attribute.int32_val()};
  if (attribute.has_int64_val()) return std::int64_t{attribute.int64_val()};
  if (attribute.has_uint32_val()) return std::uint64_t{attribute.uint32_val()};
  if (attribute.has_uint64_val()) return std::uint64_t{attribute.uint64_val()};
  if (attribute.has_sint32_val()) return std::int64_t{attribute.sint32_val()};
  if (attribute.has_sint64_val()) return std::int64_t{attribute.sint64_val()};
  if (attribute.has_fixed32_val()) return std::uint64_t{attribute.fixed32_val()};
  if (attribute.has_fixed64_val()) return std::uint64_t{attribute.fixed64_val()};
  if (attribute.has_sfixed32_val()) return std::int64_t{attribute.sfixed32_val()};
  if (attribute.has_sfixed64_val()) return std::int64_t{attribute.sfixed64_val()};
  if (attribute.has_bool_val()) return attribute.bool_val();
  if (attribute.has_bytes_val()) return attribute.bytes_val();
  if (!attribute.has_double_list()) return attribute.string_val();  // "" where there is none
  const auto& values = attribute.double_list().values();
  return std::vector<double>(values.begin(), values.end());
}

void put(wire::Attribute& attribute, const ChakraValue& value) {
  std::visit(
      [&attribute](const auto& v) {
        using Value = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Value, bool>)
          attribute.set_bool_val(v);
        else if constexpr (std::is_same_v<Value, std::int64_t>)
          attribute.set_int64_val(v);
        else if constexpr (std::is_same_v<Value, std::uint64_t>)
          attribute.set_uint64_val(v);
        else if constexpr (std::is_same_v<Value, double>)
          attribute.set_double_val(v);
        else if constexpr (std::is_same_v<Value, std::string>)
          attribute.set_string_val(v);
        else
          *attribute.mutable_double_list()->mutable_values() = {v.begin(), v.end()};
      },
      value);
}

template <class Message>
void put_all(Message& message, const ChakraAttributes& attributes) {
  for (const auto& [name, value] : attributes) {
    wire::Attribute* attribute = message.add_attr();
    attribute->set_name(name);
    put(*attribute, value);
  }
}

template <class Message>
void take_all(const Message& message, ChakraAttributes& attributes) {
  attributes.clear();
  for (const wire::Attribute& attribute : message.attr()) attributes[attribute.name()] = value_of(attribute);
}

template <class Message>
std::string delimited(const Message& message) {
  std::string text;
  std::size_t length = message.ByteSizeLong();
  for (; length >= 128; length >>= 7U) text += static_cast<char>((length & 127U) | 128U);
  text += static_cast<char>(length);
  message.AppendToString(&text);
  return text;
}

}  // namespace

double chakra_number(const ChakraAttributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return kNotGiven;
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
          return static_cast<double>(value);
        else
          return kNotGiven;
      },
      found->second);
}

std::string chakra_text(const ChakraAttributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  const auto* const text = found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? "" : *text;
}

std::string chakra_operation(double comm_type) {
  if (comm_type == kReduceScatterBlock) return "reduce_scatter";
  for (const auto& [name, number] : kCommTypes)
    if (comm_type == number) return std::string(name);
  return "";
}

int chakra_comm_type(const std::string& operation) {
  for (const auto& [name, number] : kCommTypes)
    if (name == operation) return number;
  return -1;
}

std::string chakra_message(const ChakraMetadata& metadata) {
  wire::GlobalMetadata message;
  message.set_version(metadata.version.empty() ? kVersion : metadata.version);
  put_all(message, metadata.attributes);
  return delimited(message);
}

std::string chakra_message(const ChakraNode& node) {
  wire::Node message;
  message.set_id(node.id);
  message.set_name(node.name);
  message.set_type(node.type);
  *message.mutable_ctrl_deps() = {node.ctrl_deps.begin(), node.ctrl_deps.end()};
  *message.mutable_data_deps() = {node.data_deps.begin(), node.data_deps.end()};
  message.set_start_time_micros(node.start_us);
  message.set_duration_micros(node.duration_us);
  put_all(message, node.attributes);
  return delimited(message);
}

// Bytes of an input, whatever pieces it comes in.
struct ChakraReader::Stream {
  Input& input;
  std::string_view piece{};

  bool more() {
    while (piece.empty())
      if (!input.piece(piece)) return false;
    return true;
  }
};

ChakraReader::ChakraReader(Input& input) : name_(input.name()), stream_(new Stream{input}) {
  wire::GlobalMetadata read;
  if (!message(bytes_) || !read.ParseFromString(bytes_))
    throw ConfigError({name_, "", "is not a Chakra execution trace, which begins with metadata", "",
                       "Name a .et file of schema 0.0.4, or its format with --format"});
  metadata_.version = read.version();
  take_all(read, metadata_.attributes);
}

ChakraReader::~ChakraReader() = default;

bool ChakraReader::message(std::string& bytes) {
  bytes.clear();
  if (!stream_->more()) return false;
  const auto senseless = [this] {
    return ConfigError(
        {name_, "", fmt::format("has an impossible length for message {}", messages_ + 1), "",
         "Record the file again: the length of a message stands before it, a varint of 32 bits"});
  };
  std::uint64_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (!stream_->more()) {
      cut_ = true;
      return false;
    }
    const auto byte = static_cast<unsigned char>(stream_->piece.front());
    stream_->piece.remove_prefix(1);
    if (shift > 28) throw senseless();
    length |= static_cast<std::uint64_t>(byte & 127U) << shift;
    if (byte < 128) break;
  }
  if (length > kLongestMessage_bytes) throw senseless();
  ++messages_;
  while (bytes.size() < length) {
    if (!stream_->more()) {
      cut_ = true;
      return false;
    }
    const std::string_view part = stream_->piece.substr(0, length - bytes.size());
    bytes += part;
    stream_->piece.remove_prefix(part.size());
  }
  return true;
}

bool ChakraReader::next(ChakraNode& node) {
  wire::Node read;
  for (;;) {
    if (!message(bytes_)) return false;
    if (read.ParseFromString(bytes_)) break;
    ++damaged_;
  }
  node.id = read.id();
  node.name = read.name();
  node.type = read.type();
  node.ctrl_deps.assign(read.ctrl_deps().begin(), read.ctrl_deps().end());
  node.data_deps.assign(read.data_deps().begin(), read.data_deps().end());
  node.start_us = read.start_time_micros();
  node.duration_us = read.duration_micros();
  take_all(read, node.attributes);
  return true;
}

}  // namespace simsgd
