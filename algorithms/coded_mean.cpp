#include "algorithms/coded_mean.hpp"

#include "algorithms/plugin.hpp"

namespace simsgd {

void note_codec(const AlgorithmContext& context, const Codec& codec) {
  const double numbers = context.workload->parameters();
  const CodecKernels kernels = codec.kernels(numbers);
  if (kernels.chunk > 0) {
    note_kernel(context, DeviceKernel::gemm);
    note_size(context, GemmSize{.m = kernels.chunk, .n = numbers / kernels.chunk, .k = kernels.chunk});
  }
  if (kernels.chosen > 0) {
    note_kernel(context, DeviceKernel::select);
    note_size(context, SelectSize{.k = kernels.chosen, .n = numbers});
    note_kernel(context, DeviceKernel::vector_pass);
  } else {
    note_kernel(context, DeviceKernel::quantise);
  }
}

CodedMean::CodedMean(const Json& codec, const AlgorithmContext& context) : codec_(make_codec(codec)) {
  const double numbers = context.workload->parameters();
  bytes_ = codec_->bits(numbers) / 8;
  if (context.cluster == nullptr) return;
  note_codec(context, *codec_);
  times_ = codec_times(context.cluster->device, *codec_, numbers);
}

CodedMean::Result CodedMean::run(Worker& worker, const Tensor& values, Traffic traffic) const {
  const auto spend = [&worker](Activity activity, double seconds, const char* label) {
    if (seconds > 0) worker.compute().spend(activity, seconds * worker.compute().slower(), label);
  };
  Result result;
  result.sent = transmitted(worker.executor(), codec_, values, worker.stream(Purpose::algorithm));
  spend(Activity::compute, times_.transform_s + times_.encode_s, "encode");
  spend(Activity::selection, times_.select_s, "select");
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
    spend(Activity::compute, size * times_.decode_s + times_.transform_s, "decode");
  } else {
    AllReduce all;
    all.bytes = bytes_;
    all.traffic = traffic;
    all.contribution = result.sent;
    all.scale = 1 / size;
    result.mean = worker.collectives().run(std::move(all));
    spend(Activity::compute, times_.decode_s, "decode");
  }
  return result;
}

Tensor with_error(Executor& executor, const Tensor& values, const Tensor& error, double kept) {
  return error ? linear_combination(executor, {1.0, kept}, {values, error}) : values;
}

}  // namespace simsgd
