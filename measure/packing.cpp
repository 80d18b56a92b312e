#include "measure/packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

struct Header {
  std::uint64_t numbers = 0, scalars = 0, values = 0, indices = 0;
  double bytes = 0;
  std::uint32_t traffic = 0;
  std::uint32_t has_values = 0;
};

template <class T>
void append(Bytes& bytes, const std::vector<T>& entries) {
  const auto* data = reinterpret_cast<const std::byte*>(entries.data());
  bytes.insert(bytes.end(), data, data + entries.size() * sizeof(T));
}

template <class T>
std::vector<T> take(std::span<const std::byte>& bytes, std::uint64_t count) {
  CHECK(count * sizeof(T) <= bytes.size(), "a message is shorter than its header says");
  std::vector<T> entries(count);
  if (count > 0) std::memcpy(entries.data(), bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return entries;
}

}  // namespace

Bytes pack(Executor& executor, const Message& message, PackedSizes sizes) {
  static const TensorData kNothing;
  const TensorData& tensor = message.values ? executor.get(message.values) : kNothing;
  const Header header{message.numbers.size(),  tensor.scalars.size(),
                      tensor.values.size(),    tensor.indices.size(),
                      message.bytes,           static_cast<std::uint32_t>(message.traffic),
                      message.values ? 1U : 0U};
  const auto asked = static_cast<std::size_t>(message.bytes);
  const std::size_t held = 4 * (header.values + header.indices);
  const bool fills = !message.values || sizes == PackedSizes::workload;
  const std::size_t filler = fills ? asked - std::min(asked, held) : 0;
  Bytes bytes;
  bytes.reserve(sizeof header + 8 * (header.numbers + header.scalars) + 4 * (header.values + header.indices) +
                filler);
  append(bytes, std::vector<Header>{header});
  append(bytes, message.numbers);
  append(bytes, tensor.scalars);
  append(bytes, tensor.values);
  append(bytes, tensor.indices);
  bytes.resize(bytes.size() + filler);
  return bytes;
}

Message unpack(Executor& executor, std::span<const std::byte> bytes) {
  const Header header = take<Header>(bytes, 1).front();
  Message message;
  message.bytes = header.bytes;
  message.traffic = static_cast<Traffic>(header.traffic);
  message.numbers = take<double>(bytes, header.numbers);
  TensorData tensor;
  tensor.scalars = take<double>(bytes, header.scalars);
  tensor.values = take<float>(bytes, header.values);
  tensor.indices = take<std::int32_t>(bytes, header.indices);
  if (header.has_values != 0) message.values = executor.constant(std::move(tensor));
  return message;
}

int mpi_count(std::size_t count) {
  if (count <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return static_cast<int>(count);
  throw RunError(fmt::format(
      "A message of {} entries is more than MPI carries at once (2^31 - 1). Use a smaller model or more buckets.",
      count));
}

}  // namespace simsgd
