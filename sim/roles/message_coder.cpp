#include "sim/roles/message_coder.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/cluster/kernels.hpp"
#include "sim/learn/precision.hpp"

namespace simsgd {

namespace {

Tensor rounded_to(Executor& executor, const Tensor& values, Precision precision) {
  if (!values || precision == Precision::fp32) return values;
  return precision == Precision::fp16 ? rounded_to_fp16(executor, values) : rounded_to_bf16(executor, values);
}

/// What arrives: r + C(x - r + beta e).
struct Arrival {
  Coding by;
  Stream draws;
  std::size_t exact = 0;
  std::size_t known = 0, error = 0;  ///< which of the inputs r and e are; 0: zeros
  std::size_t first = 0;             ///< entry of r that belongs to the first of x; beyond its end r is 0

  std::vector<float> of(std::span<const TensorData* const> in, std::size_t input, std::size_t from) const {
    std::vector<float> values(in[0]->values.size(), 0.0F);
    if (input == 0) return values;
    const std::vector<float>& all = in[input]->values;
    for (std::size_t i = 0; i < values.size() && from + i < all.size(); ++i) values[i] = all[from + i];
    return values;
  }
};

Tensor received(Executor& executor, const Arrival& arrival, const std::vector<Tensor>& inputs) {
  return executor.submit(inputs, [arrival](TensorData& out, auto in) {
    CHECK(in[0]->indices.empty(), "a codec of messages takes dense vectors");
    const std::vector<float>& given = in[0]->values;
    const std::vector<float> known = arrival.of(in, arrival.known, arrival.first),
                             error = arrival.of(in, arrival.error, 0);
    const auto kept = static_cast<float>(arrival.by.feedback);
    std::vector<float> sum(given.size() - std::min(arrival.exact, given.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = given[i] - known[i] + kept * error[i];
    out.values = given;
    out.scalars = in[0]->scalars;
    arrival.by.codec->transmit(sum, arrival.draws, std::span(out.values).first(sum.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) out.values[i] += known[i];
  });
}

/// x + beta e - what arrived. Its last input is the latter; e is before it where it is not 0.
Tensor unsent(Executor& executor, const std::vector<Tensor>& inputs, double feedback) {
  return executor.submit(inputs, [kept = static_cast<float>(feedback)](TensorData& out, auto in) {
    out.values = in[0]->values;
    for (std::size_t i = 0; i < out.values.size(); ++i)
      out.values[i] +=
          (in.size() > 2 && i < in[1]->values.size() ? kept * in[1]->values[i] : 0.0F) - in.back()->values[i];
  });
}

/// For a message of `numbers`.
CodecTimes codec_times(const Device& device, const Codec& codec, double numbers) {
  CodecTimes times;
  const CodecKernels kernels = codec.kernels(numbers);
  const double bytes = codec.bits(numbers) / 8;
  if (kernels.chunk > 0)
    times.transform_s =
        gemm_s(device, {.m = kernels.chunk, .n = numbers / kernels.chunk, .k = kernels.chunk});
  if (kernels.chosen > 0) {
    times.select_s = select_s(device, {.k = kernels.chosen, .n = numbers});
    times.decode_s = vector_pass_s(device, {.read = bytes, .written = 2 * kBytesPerNumber * kernels.chosen});
  } else {
    times.encode_s = quantise_s(device, {.numbers = numbers, .bits = 8 * bytes / numbers});
    times.decode_s = vector_pass_s(device, {.read = bytes, .written = kBytesPerNumber * numbers});
  }
  return times;
}

}  // namespace

MessageCoder::MessageCoder(const Job& job, int rank, Executor& executor, Compute& compute,
                           Tensor initial_model)
    : job_(job),
      coding_(job.coding()),
      rank_(rank),
      executor_(executor),
      compute_(compute),
      initial_(std::move(initial_model)) {}

void MessageCoder::spend(Activity activity, double seconds, const Tensor& result, const char* label) {
  if (seconds > 0) compute_.spend_on(activity, seconds * compute_.slower(), result, label);
}

bool MessageCoder::codes(Traffic traffic, double bytes, const CodedPart& part) const {
  return coding_.codec && bytes > exact_bytes(part) &&
         (traffic == Traffic::gradient || traffic == Traffic::model);
}

double MessageCoder::exact_bytes(const CodedPart& part) const {
  return static_cast<double>(part.exact) * job_.workload.bytes_per_parameter;
}

MessageCoder::Coded MessageCoder::coded(double bytes, const CodedPart& part, double received) const {
  const double numbers = (bytes - exact_bytes(part)) / job_.workload.bytes_per_parameter;
  CodecTimes times = codec_times(job_.cluster.device, *coding_.codec, numbers);
  times.decode_s = received * times.decode_s + times.transform_s;
  return {coding_.codec->bits(numbers) / 8 + exact_bytes(part),
          times,
          {times.transform_s + times.select_s + times.encode_s, times.decode_s}};
}

CodecTimes MessageCoder::resized(AnyCollective& collective, std::size_t members) const {
  CollectiveOptions& options = options_of(collective);
  if (members < 2 || !codes(options.traffic, options.bytes, options.part)) return {};
  const auto size = static_cast<double>(members);
  auto* all_reduce = std::get_if<AllReduce>(&collective);
  if (all_reduce && coding_.codec->sparse()) {
    AllGather gather;
    static_cast<CollectiveOptions&>(gather) = std::move(options);
    gather.bytes *= size;
    gather.sum_scale = all_reduce->scale;
    gather.schedule.clear();
    collective = std::move(gather);
    return resized(collective, members);
  }
  const bool gathers = std::holds_alternative<AllGather>(collective);
  const Coded one = coded(gathers ? options.bytes / size : options.bytes, options.part, gathers ? size : 1);
  if (auto* custom = std::get_if<CustomCollective>(&collective)) custom->size *= one.bytes / options.bytes;
  options.bytes = gathers ? size * one.bytes : one.bytes;
  options.times = one.times;
  return one.kernels;
}

void MessageCoder::encode(AnyCollective& collective, std::size_t members, const CollectiveSlot& slot,
                          double* decode_s) {
  CollectiveOptions& options = options_of(collective);
  const bool coded = members > 1 && codes(options.traffic, options.bytes, options.part);
  if (!coded && job_.network.precision == Precision::fp32) return;
  if (auto* all_reduce = std::get_if<AllReduce>(&collective)) {
    if (all_reduce->entries) options.part.first = all_reduce->entries->begin;
    options.contribution = contribution_of(executor_, collective);
    all_reduce->entries.reset();
  }
  if (!coded) {
    options.contribution = rounded_to(executor_, options.contribution, job_.network.precision);
    return;
  }
  const auto* custom = std::get_if<CustomCollective>(&collective);
  Kept& kept = kept_of({static_cast<int>(op_of(collective)), options.group, options.channel,
                        custom ? custom->messages.get() : nullptr, options.traffic, options.part.first},
                       options.part);
  const auto* all_reduce = std::get_if<AllReduce>(&collective);
  kept.carries = kept.carries || (all_reduce && kept.of_model);
  options.contribution = arriving(kept, options.part, options.contribution);
  if (all_reduce && kept.of_model && options.contribution)
    slot.pending->on_known.emplace_back(
        [this, &kept, result = slot.value,
         share = 1 / (all_reduce->scale * static_cast<double>(members))](double) {
          if (*result) kept.known = linear_combination(executor_, {share}, {*result});
        });
  const CodecTimes kernels = resized(collective, members);
  if (decode_s == nullptr) return;
  CollectiveOptions& sent = options_of(collective);  // perhaps of another operation
  spend(Activity::compute, kernels.transform_s + kernels.encode_s, sent.contribution, "encode");
  spend(Activity::selection, kernels.select_s, sent.contribution, "select");
  *decode_s = sent.times.after_s;
  sent.times = {};
}

void MessageCoder::encode(Way way, int to, int tag, Message& message) {
  if (!codes(message.traffic, message.bytes, message.part)) {
    message.values = rounded_to(executor_, message.values, job_.network.precision);
    return;
  }
  constexpr int kWays = 100;  // apart from the operations
  message.values =
      arriving(kept_of({kWays + static_cast<int>(way), to, tag, nullptr, message.traffic, message.part.first},
                       message.part),
               message.part, message.values);
  const Coded one = coded(message.bytes, message.part);
  message.bytes = one.bytes;
  message.times = one.times;
}

MessageCoder::Kept& MessageCoder::kept_of(const Kind& kind, const CodedPart& part) {
  Kept& kept = kept_[kind];
  kept.of_model = coding_.feedback > 0 && std::get<Traffic>(kind) == Traffic::model && !part.change;
  kept.carries = coding_.feedback > 0 && !kept.of_model;
  return kept;
}

Tensor MessageCoder::arriving(Kept& kept, const CodedPart& part, const Tensor& values) {
  if (!values) return {};
  Arrival arrival{
      .by = coding_,
      .draws = Stream({job_.seed, Purpose::coding, static_cast<std::uint32_t>(rank_), messages_++}),
      .exact = part.exact};
  std::vector<Tensor> inputs = {values}, given = {values};
  if (const Tensor& known = kept.known ? kept.known : initial_; kept.of_model && known) {
    arrival.known = inputs.size();
    arrival.first = kept.known ? 0 : part.first;
    inputs.push_back(known);
  }
  if (kept.error) {
    arrival.error = inputs.size();
    inputs.push_back(kept.error);
    given.push_back(kept.error);
  }
  Tensor arrives = received(executor_, arrival, inputs);
  given.push_back(arrives);
  if (kept.carries)
    kept.error = unsent(executor_, given, coding_.feedback);
  else if (kept.of_model)
    kept.known = arrives;
  return arrives;
}

}  // namespace simsgd
