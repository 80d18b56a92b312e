// Chakra execution traces as they lie in a file: a varint of 32 bits with a length before each message, first
// the file's metadata, then a node each; plain or gzip. chakra.proto says which fields are known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "traces/reading/input.hpp"

namespace simsgd {

/// Kinds of nodes that are read and written; others keep their number.
inline constexpr int kChakraComp = 4, kChakraSend = 5, kChakraReceive = 6, kChakraCollective = 7;

using ChakraValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<double>>;
using ChakraAttributes = std::map<std::string, ChakraValue>;

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  int type = 0;
  std::vector<std::uint64_t> ctrl_deps, data_deps;  ///< ids
  std::uint64_t start_us = 0, duration_us = 0;
  ChakraAttributes attributes;

  bool operator==(const ChakraNode&) const = default;
};

struct ChakraMetadata {
  std::string version;
  ChakraAttributes attributes;
};

/// A number, of whatever type; kNotGiven where there is none of that name.
double chakra_number(const ChakraAttributes& attributes, const std::string& name);
/// A text; "" where there is none of that name.
std::string chakra_text(const ChakraAttributes& attributes, const std::string& name);

/// Our name of a collective by CollectiveCommType's number, 0 ALL_REDUCE, ...; "" where it is none.
std::string chakra_operation(double comm_type);
/// The other way round; -1 where Chakra has none.
int chakra_comm_type(const std::string& operation);

/// A message with its length before it.
std::string chakra_message(const ChakraMetadata& metadata);
std::string chakra_message(const ChakraNode& node);

/// Reads one file, message by message; memory is that of one.
class ChakraReader {
 public:
  /// Reads the metadata. Throws ConfigError where there are none: it is no such file.
  explicit ChakraReader(Input& input);
  ~ChakraReader();

  const ChakraMetadata& metadata() const { return metadata_; }
  /// The next one; false after the last. A node that is damaged in itself is skipped. Throws ConfigError
  /// where lengths make no sense.
  bool next(ChakraNode& node);
  /// Nodes that could not be read.
  std::size_t damaged() const { return damaged_; }
  /// After the end: whether the last one is not whole.
  bool cut() const { return cut_; }

 private:
  struct Stream;
  bool message(std::string& bytes);

  std::string name_;
  std::unique_ptr<Stream> stream_;
  std::string bytes_;  // of one message
  ChakraMetadata metadata_;
  std::size_t damaged_ = 0, messages_ = 0;
  bool cut_ = false;
};

}  // namespace simsgd

// What we write into Chakra traces beside what everybody understands, so that a job that is read back is the
// same: names of attributes, all of which other programs skip. Times of the schema are whole microseconds;
// ours are exact.
namespace simsgd::chakra {

// Attributes of a file.
inline constexpr const char *kNetwork = "simsgd.network", *kRank = "simsgd.rank",
                            *kWorkers = "simsgd.workers", *kBatch = "simsgd.batch",
                            *kMicroBatches = "simsgd.micro_batches", *kDevice = "simsgd.device";
// Attributes of every node.
inline constexpr const char *kStep = "simsgd.step", *kSeconds = "simsgd.seconds";
// Attributes of computing: forward, backward, micro_batches (those before the last one), straggle or other;
// and the layer's number.
inline constexpr const char *kPass = "simsgd.pass", *kLayer = "simsgd.layer";
// Attributes of a layer's forward pass in the first step: name, type, sides of its tensors (rows, columns or
// 0, ...), per sample.
inline constexpr const char *kLayerName = "simsgd.layer_name", *kType = "simsgd.type",
                            *kTensors = "simsgd.tensors", *kFlop = "simsgd.forward_flop",
                            *kActivations = "simsgd.activations";
// Attributes of a collective: the bytes of the whole array, and its channel.
inline constexpr const char *kBytes = "simsgd.bytes", *kChannel = "simsgd.channel";

}  // namespace simsgd::chakra
