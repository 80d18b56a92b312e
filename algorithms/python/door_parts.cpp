// Of the door: what a method seldom needs, and parts of shipped methods.
#include <fmt/format.h>

#include "algorithms/python/door.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/precision.hpp"

namespace simsgd::python {

void Door::keep_shard(long long part, long long parts) {
  if (parts < 1 || part < 0 || part >= parts)
    throw RunError(fmt::format("keep_shard() takes a part from 0 to parts - 1, not {} of {}.", part, parts));
  share_ = 1 / static_cast<double>(parts);
  worker_.replica().keep_shard(static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
}

void Door::recover_by(const std::string& how, Borrowed restarted) {
  if (how != "recompute" && how != "rejoin")
    throw RunError(fmt::format("Unknown recovery \"{}\". Use recompute or rejoin.", how));
  std::function<void()> then;
  if (restarted.object != api().none)
    then = [self = shared_from_this(), function = Ref::borrowed(restarted.object)] {
      self->come_to_the_present();
      self->call_back(function, {});
    };
  worker_.compute().recover_by(how == "rejoin" ? Recovery::rejoin : Recovery::recompute, std::move(then));
}

bool Door::hear(long long tag, Borrowed heard) {
  return worker_.background().hear(
      static_cast<int>(tag),
      [self = shared_from_this(), function = Ref::borrowed(heard.object)](std::uint64_t number) {
        self->call_back(function, {to_python(static_cast<long long>(number))});
      });
}

void Door::flood(long long tag, long long number) {
  worker_.background().flood(static_cast<int>(tag), static_cast<std::uint64_t>(number));
}

Merging Door::merging(Borrowed merge, Borrowed sent, Borrowed finish) {
  const auto asked = [self = shared_from_this()](const Ref& function, const std::vector<Ref>& arguments) {
    Tensor result;
    from_python(self->call_back(function, arguments).get(), result);
    return result;
  };
  const auto number = [](std::int32_t rank) { return to_python(static_cast<long long>(rank)); };
  Merging merging;
  merging.merge = [=, self = shared_from_this(), function = Ref::borrowed(merge.object)](
                      Executor&, std::int32_t member, std::int32_t sender, const Tensor& held,
                      const Tensor& received) {
    return asked(function, {number(member), number(sender), self->wrapped(held), self->wrapped(received)});
  };
  if (sent.object != api().none)
    merging.sent = [=, self = shared_from_this(), function = Ref::borrowed(sent.object)](
                       Executor&, const Tensor& held) { return asked(function, {self->wrapped(held)}); };
  merging.finish = [](Executor&, std::int32_t, const Tensor& held) { return held; };
  if (finish.object != api().none)
    merging.finish = [=, self = shared_from_this(), function = Ref::borrowed(finish.object)](
                         Executor&, std::int32_t member, const Tensor& held) {
      return asked(function, {number(member), self->wrapped(held)});
    };
  return merging;
}

void Door::exchange(std::vector<std::vector<long long>> stages, Tensor values, Borrowed effect, double bytes,
                    long long tensors, const std::string& traffic, long long group, long long channel,
                    bool together, Borrowed merge, Borrowed sent, Borrowed finish,
                    std::vector<long long> merges, double merge_s) {
  CustomCollective operation;
  operation.messages = shipped_.messages({std::move(stages), bytes, together, std::move(merges), merge_s});
  operation.bytes = bytes;
  operation.tensors = static_cast<int>(tensors);
  operation.traffic = this->traffic(traffic);
  operation.group = static_cast<GroupId>(group);
  operation.channel = static_cast<ChannelId>(channel);
  operation.contribution = std::move(values);
  if (merge.object != api().none) {
    operation.merging = merging(merge, sent, finish);
    operation.effect = [schedule = operation.messages, merging = operation.merging](
                           Executor& executor, const std::vector<Tensor>& contributions) {
      return contributions.front() ? merged_along(executor, *schedule, merging, contributions)
                                   : std::vector<Tensor>{};
    };
  } else {
    operation.member_effect = [self = shared_from_this(), function = Ref::borrowed(effect.object)](
                                  Executor&, std::int32_t member, const std::vector<Tensor>& contributions) {
      Tensor result;
      from_python(
          self->call_back(function, {to_python(static_cast<long long>(member)), self->wrapped(contributions)})
              .get(),
          result);
      return result;
    };
  }
  ask_collective("exchange", std::move(operation));
}

// ---- parts of shipped methods

Tensor Door::rounded(const Tensor& values, long long bits) {
  return rounded_to_bits(worker_.executor(), values, static_cast<int>(bits));
}

long long Door::wait_avoiding(long long tag, bool majority, Borrowed part) {
  shipped_.services.push_back(std::make_unique<WaitAvoiding>(
      worker_,
      WaitAvoiding::Settings{majority ? Initiator::majority : Initiator::solo, static_cast<int>(tag)},
      [this, function = Ref::borrowed(part.object)](std::uint64_t version, bool arrived) {
        Asked mine = taken();
        (void)called(function.get(), {to_python(static_cast<long long>(version)), to_python(arrived)});
        const Asked asked = std::exchange(asked_, std::move(mine));
        if (!asked.collective || !std::holds_alternative<AllReduce>(*asked.collective))
          throw RunError(
              "The function given to wait_avoiding() must return its collective: `return w.all_reduce(...)`.");
        return std::get<AllReduce>(*asked.collective);
      }));
  return static_cast<long long>(shipped_.services.size()) - 1;
}

void Door::call_service(long long service) {
  ask({.name = "call", .run = [this, service] {
         const WaitAvoiding::Outcome outcome =
             shipped_.services.at(static_cast<std::size_t>(service))->call();
         return tuple({to_python(outcome.fresh), wrapped(outcome.result), wrapped(outcome.seen_result)});
       }});
}

long long Door::kfac(double damping, bool by_pi, double old_weight, double kl_clip) {
  return shipped_.kfac(
      {.damping = damping, .split_by_pi = by_pi, .old_weight = old_weight, .kl_clip = kl_clip});
}

void Door::choose(long long sparsifier, const Tensor& gradient) {
  ask({.name = "choose", .run = [this, sparsifier, gradient] {
         const Sparsifier::Choice choice = shipped_.choose(sparsifier, gradient);
         return tuple({wrapped(choice.accumulated), wrapped(choice.selected)});
       }});
}

void Door::merge(long long sparsifier, const Tensor& selected) {
  ask({.name = "merge",
       .run = [this, sparsifier, selected] { return wrapped(shipped_.merge(sparsifier, selected)); }});
}

}  // namespace simsgd::python
