#include "sim/roles/messages.hpp"

#include "sim/roles/message_coder.hpp"

namespace simsgd {

Handle<Nothing> Messages::start_send(int to, int tag, Message message) {
  if (coder_) coder_->encode(MessageCoder::Way::sent, to, tag, message);
  return begin_send(to, tag, std::move(message));
}

void Background::post(int to, int tag, Message message) {
  if (coder_) coder_->encode(MessageCoder::Way::posted, to, tag, message);
  begin_post(to, tag, std::move(message));
}

Tensor contribution_of(Executor& executor, const AnyCollective& collective) {
  const Tensor& whole = options_of(collective).contribution;
  const auto* all_reduce = std::get_if<AllReduce>(&collective);
  if (!all_reduce || !all_reduce->entries) return whole;
  return slice(executor, whole, all_reduce->entries->begin, all_reduce->entries->end);
}

}  // namespace simsgd
