#include "measure/cargo.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

std::size_t whole_bytes(double bytes) { return static_cast<std::size_t>(std::ceil(bytes)); }

// The length of a message: at least what the schedule says, where messages are filled up.
std::size_t at_least(const CargoContext& context, std::size_t length, const Stage& stage) {
  const bool fills = context.sizes == PackedSizes::workload || !context.learns;
  return fills ? std::max(length, whole_bytes(stage.bytes)) : length;
}

// A message of zeros, with room for what is said behind it: else that would copy it.
Bytes zero_message(std::size_t length) {
  Bytes message;
  message.reserve(length + kBehindMessage_bytes);
  message.resize(length);
  return message;
}

// Calls `each` for the blocks of a message, in their order.
template <class Each>
void for_blocks(const BlockRange& range, int blocks, Each each) {
  for (std::int32_t i = 0; i < range.count; ++i) each(static_cast<std::size_t>((range.first + i) % blocks));
}

Bytes packed(Executor& executor, const Tensor& values) {
  Message message;
  message.values = values;
  return pack(executor, message);
}

/// Tensors of any length that are passed on as they are: each block by its length, then its bytes.
class Tensors final : public Cargo {
 public:
  Tensors(const CargoContext& context, const AnyCollective& collective, const Schedule& schedule)
      : context_(context),
        blocks_(op_of(collective) == CollectiveOp::custom ? std::max(schedule.blocks, context.members)
                                                          : schedule.blocks),
        held_(static_cast<std::size_t>(blocks_)) {
    const auto member = static_cast<std::size_t>(context.member);
    const bool broadcast = op_of(collective) == CollectiveOp::broadcast;
    if (broadcast && context.member != root_of(collective)) return;
    Bytes own = packed(context.executor, options_of(collective).contribution);
    if (!broadcast) {
      held_[member] = std::move(own);
      return;
    }
    const auto count = static_cast<std::size_t>(blocks_);
    for (std::size_t block = 0; block < count; ++block)
      held_[block] = Bytes(own.begin() + static_cast<std::ptrdiff_t>(own.size() * block / count),
                           own.begin() + static_cast<std::ptrdiff_t>(own.size() * (block + 1) / count));
  }

  Bytes give(const Stage& stage, int time) override {
    Bytes message;
    message.reserve(at_least(context_, 0, stage) + kBehindMessage_bytes);
    for_blocks(stage.carried_by(context_.member, time), blocks_, [&](std::size_t block) {
      CHECK(held_[block].has_value(), "a schedule sends a block that its sender does not have");
      const std::uint64_t size = held_[block]->size();
      const auto* data = reinterpret_cast<const std::byte*>(&size);
      message.insert(message.end(), data, data + sizeof size);
      message.insert(message.end(), held_[block]->begin(), held_[block]->end());
    });
    message.resize(at_least(context_, message.size(), stage));
    return message;
  }
  std::optional<std::size_t> length(const Stage&, int, std::int32_t) const override { return std::nullopt; }
  void take(const Stage& stage, int time, std::int32_t sender, std::span<const std::byte> message) override {
    for_blocks(stage.carried_by(sender, time), blocks_, [&](std::size_t block) {
      std::uint64_t size = 0;
      CHECK(message.size() >= sizeof size, "a message is shorter than its blocks");
      std::memcpy(&size, message.data(), sizeof size);
      message = message.subspan(sizeof size);
      CHECK(message.size() >= size, "a message is shorter than its blocks");
      held_[block] = Bytes(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
      message = message.subspan(size);
    });
  }
  void deliver(const AnyCollective& collective, const CollectiveSlot& slot) override {
    if (op_of(collective) == CollectiveOp::broadcast) return deliver_broadcast(collective, slot);
    const auto* custom = std::get_if<CustomCollective>(&collective);
    std::vector<Tensor> contributions(static_cast<std::size_t>(context_.members));
    for (std::size_t member = 0; member < contributions.size(); ++member) {
      CHECK(held_[member].has_value() || (custom && !custom->effect),
            "a schedule does not bring every contribution that its operation needs");
      if (held_[member]) contributions[member] = unpack(context_.executor, *held_[member]).values;
    }
    CollectiveResults().deliver(context_.executor, collective, contributions, true, context_.member, slot);
  }

 private:
  void deliver_broadcast(const AnyCollective& collective, const CollectiveSlot& slot) {
    if (context_.member == root_of(collective)) {
      *slot.value = options_of(collective).contribution;
      return;
    }
    Bytes whole;
    for (const std::optional<Bytes>& block : held_) {
      CHECK(block.has_value(), "a broadcast does not bring the whole vector");
      whole.insert(whole.end(), block->begin(), block->end());
    }
    *slot.value = unpack(context_.executor, whole).values;
  }

  CargoContext context_;
  int blocks_;
  std::vector<std::optional<Bytes>> held_;
};

/// A vector that is merged with others on its way.
class Merged final : public Cargo {
 public:
  Merged(const CargoContext& context, const CustomCollective& collective)
      : context_(context), merging_(collective.merging), held_(collective.contribution) {}

  Bytes give(const Stage& stage, int) override {
    Bytes message =
        packed(context_.executor, merging_.sent ? merging_.sent(context_.executor, held_) : held_);
    message.resize(at_least(context_, message.size(), stage));
    return message;
  }
  std::optional<std::size_t> length(const Stage&, int, std::int32_t) const override { return std::nullopt; }
  void take(const Stage& stage, int, std::int32_t sender, std::span<const std::byte> message) override {
    Tensor received = unpack(context_.executor, message).values;
    held_ = stage.carries.adds ? merging_.merge(context_.executor, context_.member, sender, held_, received)
                               : std::move(received);
  }
  void deliver(const AnyCollective&, const CollectiveSlot& slot) override {
    *slot.value = merging_.finish(context_.executor, context_.member, held_);
  }

 private:
  CargoContext context_;
  const Merging& merging_;
  Tensor held_;
};

/// What is reduced beside values takes its time too.
void add_filling(std::span<const std::byte> message, double bytes, std::vector<float>& sum) {
  const std::size_t count =
      std::min(message.size(), static_cast<std::size_t>(std::max(bytes, 0.0))) / sizeof(float);
  if (sum.size() < count) sum.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    float term = 0;
    std::memcpy(&term, message.data() + i * sizeof(float), sizeof term);
    sum[i] += term;
  }
}

/// Zeros of the schedule's sizes: of operations without values.
class Zeros final : public Cargo {
 public:
  Bytes give(const Stage& stage, int) override { return zero_message(whole_bytes(stage.bytes)); }
  std::optional<std::size_t> length(const Stage& stage, int, std::int32_t) const override {
    return whole_bytes(stage.bytes);
  }
  void take(const Stage& stage, int, std::int32_t, std::span<const std::byte> message) override {
    add_filling(message, stage.reduce_bytes, sum_);
  }
  void deliver(const AnyCollective&, const CollectiveSlot&) override {}

 private:
  std::vector<float> sum_;
};

/// Dense vectors of one length that are added up: all know how long a message is.
class Sums final : public Cargo {
 public:
  Sums(const CargoContext& context, const AnyCollective& collective, const Schedule& schedule)
      : context_(context), blocks_(static_cast<std::size_t>(schedule.blocks)) {
    const TensorData& tensor = context.executor.get(options_of(collective).contribution);
    CHECK(tensor.indices.empty(), "only dense vectors can be cut into blocks");
    sum_ = tensor.values;
  }

  Bytes give(const Stage& stage, int time) override {
    Bytes message = zero_message(*length(stage, time, context_.member));
    std::byte* at = message.data();
    walk(stage, time, context_.member, [&](std::size_t begin, std::size_t count) {
      if (count > 0) std::memcpy(at, sum_.data() + begin, count * sizeof(float));
      at += count * sizeof(float);
    });
    return message;
  }
  std::optional<std::size_t> length(const Stage& stage, int time, std::int32_t sender) const override {
    std::size_t entries = 0;
    walk(stage, time, sender, [&](std::size_t, std::size_t count) { entries += count; });
    return at_least(context_, entries * sizeof(float), stage);
  }
  void take(const Stage& stage, int time, std::int32_t sender, std::span<const std::byte> message) override {
    walk(stage, time, sender, [&](std::size_t begin, std::size_t count) {
      if (count == 0) return;
      terms_.resize(count);
      std::memcpy(terms_.data(), message.data(), count * sizeof(float));
      message = message.subspan(count * sizeof(float));
      float* own = sum_.data() + begin;
      for (std::size_t i = 0; i < count; ++i) own[i] = stage.carries.adds ? own[i] + terms_[i] : terms_[i];
    });
    if (stage.carries.adds && context_.sizes == PackedSizes::workload)
      add_filling(message, stage.reduce_bytes, filling_);
  }
  void deliver(const AnyCollective& collective, const CollectiveSlot& slot) override {
    const auto scale = static_cast<float>(scale_of(collective));
    if (op_of(collective) == CollectiveOp::reduce && context_.member != root_of(collective)) return;
    if (op_of(collective) == CollectiveOp::reduce_scatter) {
      const std::size_t n = sum_.size(), parts = static_cast<std::size_t>(context_.members),
                        part = static_cast<std::size_t>(context_.member);
      sum_ = std::vector<float>(sum_.begin() + static_cast<std::ptrdiff_t>(n * part / parts),
                                sum_.begin() + static_cast<std::ptrdiff_t>(n * (part + 1) / parts));
    }
    if (scale != 1.0F)
      for (float& value : sum_) value *= scale;
    *slot.value = context_.executor.constant({std::move(sum_), {}, {}});
  }

 private:
  template <class Each>
  void walk(const Stage& stage, int time, std::int32_t sender, Each each) const {
    for_blocks(stage.carried_by(sender, time), static_cast<int>(blocks_), [&](std::size_t block) {
      const std::size_t begin = sum_.size() * block / blocks_, end = sum_.size() * (block + 1) / blocks_;
      each(begin, end - begin);
    });
  }

  CargoContext context_;
  std::size_t blocks_;
  std::vector<float> sum_, terms_, filling_;
};

/// Parts of dense vectors of one length, each for one member.
class Parts final : public Cargo {
 public:
  Parts(const CargoContext& context, const AnyCollective& collective, const Schedule& schedule)
      : context_(context), blocks_(schedule.blocks), held_(static_cast<std::size_t>(schedule.blocks)) {
    const std::vector<float>& own = context.executor.get(options_of(collective).contribution).values;
    entries_ = own.size();
    const auto members = static_cast<std::size_t>(context.members);
    for (std::size_t part = 0; part < members; ++part)
      held_[members * static_cast<std::size_t>(context.member) + part].assign(
          own.begin() + static_cast<std::ptrdiff_t>(entries_ * part / members),
          own.begin() + static_cast<std::ptrdiff_t>(entries_ * (part + 1) / members));
  }

  Bytes give(const Stage& stage, int time) override {
    Bytes message;
    message.reserve(*length(stage, time, context_.member) + kBehindMessage_bytes);
    for_blocks(stage.carried_by(context_.member, time), blocks_, [&](std::size_t block) {
      const auto* data = reinterpret_cast<const std::byte*>(held_[block].data());
      message.insert(message.end(), data, data + held_[block].size() * sizeof(float));
    });
    message.resize(at_least(context_, message.size(), stage));
    return message;
  }
  std::optional<std::size_t> length(const Stage& stage, int time, std::int32_t sender) const override {
    std::size_t entries = 0;
    for_blocks(stage.carried_by(sender, time), blocks_, [&](std::size_t block) { entries += size(block); });
    return at_least(context_, entries * sizeof(float), stage);
  }
  void take(const Stage& stage, int time, std::int32_t sender, std::span<const std::byte> message) override {
    for_blocks(stage.carried_by(sender, time), blocks_, [&](std::size_t block) {
      held_[block].resize(size(block));
      const std::size_t bytes = size(block) * sizeof(float);
      if (bytes > 0) std::memcpy(held_[block].data(), message.data(), bytes);
      message = message.subspan(bytes);
    });
  }
  void deliver(const AnyCollective&, const CollectiveSlot& slot) override {
    std::vector<float> all;
    const auto members = static_cast<std::size_t>(context_.members);
    for (std::size_t from = 0; from < members; ++from) {
      const std::vector<float>& part = held_[members * from + static_cast<std::size_t>(context_.member)];
      all.insert(all.end(), part.begin(), part.end());
    }
    *slot.value = context_.executor.constant({std::move(all), {}, {}});
  }

 private:
  std::size_t size(std::size_t block) const {
    const auto members = static_cast<std::size_t>(context_.members);
    const std::size_t part = block % members;
    return entries_ * (part + 1) / members - entries_ * part / members;
  }

  CargoContext context_;
  int blocks_;
  std::size_t entries_ = 0;
  std::vector<std::vector<float>> held_;
};

}  // namespace

double scale_of(const AnyCollective& collective) {
  if (const auto* all_reduce = std::get_if<AllReduce>(&collective)) return all_reduce->scale;
  if (const auto* reduce_scatter = std::get_if<ReduceScatter>(&collective)) return reduce_scatter->scale;
  if (const auto* reduce = std::get_if<Reduce>(&collective)) return reduce->scale;
  return 1;
}

std::unique_ptr<Cargo> make_cargo(const CargoContext& context, const AnyCollective& collective,
                                  const Schedule& schedule) {
  const bool given = static_cast<bool>(options_of(collective).contribution);
  switch (op_of(collective)) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::reduce:
      if (given) return std::make_unique<Sums>(context, collective, schedule);
      break;
    case CollectiveOp::all_to_all:
      if (given) return std::make_unique<Parts>(context, collective, schedule);
      break;
    case CollectiveOp::custom:
      if (const auto& custom = std::get<CustomCollective>(collective); given && custom.merging.merge)
        return std::make_unique<Merged>(context, custom);
      [[fallthrough]];
    case CollectiveOp::all_gather:
      if (given || context.learns) return std::make_unique<Tensors>(context, collective, schedule);
      break;
    case CollectiveOp::broadcast:  // only its root knows whether there is something
      return std::make_unique<Tensors>(context, collective, schedule);
    case CollectiveOp::barrier:
      break;
  }
  return std::make_unique<Zeros>();
}

}  // namespace simsgd
