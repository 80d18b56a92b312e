#include "algorithms/coded_mean.hpp"

#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"

namespace simsgd {

namespace {

MadeCodec make_codec(const Json& codec) {
  try {
    return find_plugin(codec_plugins(), codec.value("name", ""), "codec").make(codec);
  } catch (const ParameterError& error) {
    throw ParameterError("/codec" + error.key, error.problem, error.remedy);
  }
}

}  // namespace

CodedMean::CodedMean(const Json& codec, const AlgorithmContext& context) : codec_(make_codec(codec)) {
  const double numbers = context.workload->parameters();
  bytes_ = codec_->bits(numbers) / 8;
  if (context.cluster == nullptr) return;
  const Device& device = context.cluster->device;
  const CodecKernels kernels = codec_->kernels(numbers);
  if (kernels.chunk > 0) {
    const GemmSize size{.m = kernels.chunk, .n = numbers / kernels.chunk, .k = kernels.chunk};
    note_kernel(context, DeviceKernel::gemm);
    note_size(context, size);
    transform_s_ = gemm_s(device, size);
  }
  if (kernels.chosen > 0) {
    const SelectSize size{.k = kernels.chosen, .n = numbers};
    note_kernel(context, DeviceKernel::select);
    note_size(context, size);
    select_s_ = select_s(device, size);
    note_kernel(context, DeviceKernel::vector_pass);
    decode_s_ = vector_pass_s(device, {.read = bytes_, .written = 2 * kBytesPerNumber * kernels.chosen});
  } else {
    note_kernel(context, DeviceKernel::quantise);
    encode_s_ = quantise_s(device, {.numbers = numbers, .bits = 8 * bytes_ / numbers});
    decode_s_ = vector_pass_s(device, {.read = bytes_, .written = kBytesPerNumber * numbers});
  }
}

CodedMean::Result CodedMean::run(Worker& worker, const Tensor& values, Traffic traffic) const {
  const auto spend = [&worker](Activity activity, double seconds, const char* label) {
    if (seconds > 0) worker.compute().spend(activity, seconds * worker.compute().slower(), label);
  };
  Result result;
  result.sent = transmitted(worker.executor(), codec_, values, worker.stream(Purpose::algorithm));
  spend(Activity::compute, transform_s_ + encode_s_, "encode");
  spend(Activity::selection, select_s_, "select");
  const auto size = static_cast<double>(worker.size());
  if (codec_->sparse()) {
    AllGather all;
    all.bytes = size * bytes_;
    all.traffic = traffic;
    all.contribution = result.sent;
    const std::vector<Tensor> parts = worker.collectives().run(std::move(all));
    if (result.sent)
      result.mean =
          linear_combination(worker.executor(), std::vector<double>(parts.size(), 1.0), parts, 1 / size);
    spend(Activity::compute, size * decode_s_ + transform_s_, "decode");
  } else {
    AllReduce all;
    all.bytes = bytes_;
    all.traffic = traffic;
    all.contribution = result.sent;
    all.scale = 1 / size;
    result.mean = worker.collectives().run(std::move(all));
    spend(Activity::compute, decode_s_, "decode");
  }
  return result;
}

Tensor with_error(Executor& executor, const Tensor& values, const Tensor& error, double kept) {
  return error ? linear_combination(executor, {1.0, kept}, {values, error}) : values;
}

}  // namespace simsgd
