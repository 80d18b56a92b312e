// Cargo that is passed on whole: contributions of any length, and vectors that are merged on their way.
#include <algorithm>
#include <cstring>

#include "measure/cargo_blocks.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {

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

}  // namespace

std::unique_ptr<Cargo> tensors_cargo(const CargoContext& context, const AnyCollective& collective,
                                     const Schedule& schedule) {
  return std::make_unique<Tensors>(context, collective, schedule);
}

std::unique_ptr<Cargo> merged_cargo(const CargoContext& context, const CustomCollective& collective) {
  return std::make_unique<Merged>(context, collective);
}

}  // namespace simsgd
