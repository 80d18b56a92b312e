// IDX files, the format of MNIST and its relatives: two zero bytes, a type (8: unsigned byte, the only one
// read here), the number of dimensions, each dimension as a big-endian 32-bit number, then the entries, last
// dimension fastest. http://yann.lecun.com/exdb/mnist/. Plain or compressed with gzip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/learn/data/file.hpp"
#include "sim/learn/dataset.hpp"

namespace simsgd {

struct IdxFile {
  std::vector<std::int64_t> shape;  ///< as the header says
  std::vector<std::uint8_t> bytes;  ///< all entries, or the first items of the first dimension
};

/// Where a data set of images and labels comes from.
struct IdxPair {
  std::string name;
  FileSource images, labels;
  std::optional<std::int64_t> samples;  ///< use the first so many; all if absent
  std::string samples_key;              ///< the parameter that says so
  int classes = 0;                      ///< 0: the largest label plus one
};

/// Images of (count, features), (count, height, width) or (count, channels, height, width) and their labels.
/// Bytes are scaled to [0, 1] when read. Throws ParameterError.
DataSet load_idx_pair(const IdxPair& pair);

}  // namespace simsgd
