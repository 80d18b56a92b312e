#include "algorithms/buckets.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "algorithms/plugin.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace {

AllReduce sum_of(const Bucket& bucket, double bytes_per_number, Traffic traffic) {
  AllReduce sum;
  sum.bytes = bucket.parameters * bytes_per_number;
  sum.tensors = bucket.tensors;
  sum.traffic = traffic;
  return sum;
}

}  // namespace

void GradientFusion::fields(Fields& f) {
  f.choice(
       "fusion", said_, {{"none", Kind::none}, {"threshold", Kind::threshold}, {"all", Kind::all}},
       "Gradients travel tensor by tensor, each as soon as it is ready (none), in buckets of at least fusion_threshold (threshold), or all in one message after the backward pass (all)")
      .by_rule("threshold, or as the cluster's \"stack\" takes them");
  threshold_field(f);
}

void GradientFusion::complete(const AlgorithmContext& context) {
  using Gradients = Handover::Gradients;
  const Gradients handed = context.cluster ? context.cluster->handover.gradients : Gradients::as_asked;
  if (!said_)
    said_ = handed == Gradients::tensor_by_tensor ? Kind::none
            : handed == Gradients::all_at_once    ? Kind::all
                                                  : Kind::threshold;
  kind = *said_;
}

void FusionSettings::fields(Fields& f, std::string_view meaning) {
  f.choice("fusion", kind, {{"none", Kind::none}, {"threshold", Kind::threshold}, {"all", Kind::all}},
           meaning);
  threshold_field(f);
}

void FusionSettings::threshold_field(Fields& f) {
  f.bytes("fusion_threshold", threshold_bytes,
          "A bucket is sent when it has this size; PyTorch DDP uses 25 MiB")
      .above(0)
      .example("\"25 MiB\"");
}

Buckets make_buckets(const Workload& workload, const FusionSettings& settings) {
  std::vector<std::size_t> sizes;
  double held = 0;
  bool full = true;
  for (const TensorInfo& tensor : workload.tensors()) {
    if (full) {
      sizes.push_back(0);
      held = 0;
    }
    ++sizes.back();
    held += tensor.parameters();
    full = settings.kind == FusionSettings::Kind::none ||
           (settings.kind == FusionSettings::Kind::threshold &&
            held * workload.bytes_per_parameter >= settings.threshold_bytes);
  }
  return make_buckets(workload, sizes);
}

Buckets make_buckets(const Workload& workload, const std::vector<std::size_t>& sizes) {
  const double total = workload.parameters();
  const std::vector<TensorInfo> tensors = workload.tensors();
  Buckets result;
  std::size_t position = 0;
  for (const std::size_t size : sizes) {
    Bucket& bucket = result.buckets.emplace_back();
    bucket.end_share = (tensors[position].offset + tensors[position].parameters()) / total;
    for (const std::size_t end = position + size; position < end; ++position) {
      bucket.parameters += tensors[position].parameters();
      ++bucket.tensors;
    }
    // Tensors come last layer first: the latest is the leftmost.
    bucket.begin_share = tensors[position - 1].offset / total;
    result.last_tensors.push_back(position - 1);
  }
  return result;
}

int layers_with_parameters(const Workload& workload) {
  return static_cast<int>(std::count_if(workload.layers.begin(), workload.layers.end(),
                                        [](const Layer& layer) { return layer.parameters() > 0; }));
}

std::vector<Bucket> equal_buckets(const Workload& workload, int count) {
  std::vector<Bucket> buckets(static_cast<std::size_t>(count));
  const double total = workload.parameters();
  double before = 0;
  int chosen = -1, left = layers_with_parameters(workload);
  CHECK(count >= 1 && count <= left, "each bucket has a layer");
  for (const Layer& layer : workload.layers) {
    if (layer.parameters() > 0) {
      // By its middle, but no bucket is passed over and none behind is left without a layer.
      const auto fits = static_cast<int>((before + layer.parameters() / 2) / total * count);
      chosen = std::clamp(fits, std::max({chosen, 0, count - left}), std::min(chosen + 1, count - 1));
      --left;
    }
    Bucket& bucket = buckets[static_cast<std::size_t>(std::max(chosen, 0))];
    if (bucket.tensors == 0) bucket.begin_share = before / total;
    before += layer.parameters();
    bucket.parameters += layer.parameters();
    bucket.tensors += static_cast<int>(layer.tensors.size());
    bucket.end_share = before / total;
  }
  return buckets;
}

AllReduce mean_of(Worker& worker, const Bucket& bucket, double bytes_per_number, Traffic traffic) {
  AllReduce mean = sum_of(bucket, bytes_per_number, traffic);
  mean.scale = 1.0 / worker.size();
  return mean;
}

AllReduce gradient_mean(Worker& worker, const Bucket& bucket, const Tensor& gradient) {
  const auto entries = static_cast<double>(worker.replica().size());
  AllReduce mean = mean_of(worker, bucket, worker.workload().bytes_per_parameter, Traffic::gradient);
  mean.contribution = gradient;
  mean.entries = {static_cast<std::size_t>(std::llround(bucket.begin_share * entries)),
                  static_cast<std::size_t>(std::llround(bucket.end_share * entries))};
  return mean;
}

Tensor BucketedAllreduce::compute_gradient(const GradientOptions& also) {
  started_.reserve(buckets_.buckets.size());
  std::vector<std::size_t> positions;
  std::set_union(buckets_.last_tensors.begin(), buckets_.last_tensors.end(), also.ready_at.begin(),
                 also.ready_at.end(), std::back_inserter(positions));
  GradientOptions options = also;
  options.ready_at = positions;
  std::size_t call = 0, others = 0;
  options.gradient_ready = [&](const TensorInfo& tensor, const Tensor& gradient) {
    const std::size_t position = positions[call++];
    if (started_.size() < buckets_.last_tensors.size() && buckets_.last_tensors[started_.size()] == position)
      send_next(gradient);
    if (others == also.ready_at.size() || also.ready_at[others] != position) return;
    ++others;
    also.gradient_ready(tensor, gradient);
  };
  return worker_.compute().gradient(options);
}

void BucketedAllreduce::send_next(const Tensor& gradient) {
  started_.push_back(
      worker_.collectives().start(gradient_mean(worker_, buckets_.buckets[started_.size()], gradient)));
}

Tensor BucketedAllreduce::wait() {
  std::vector<Tensor> parts;
  // The last bucket holds the first layers. One channel runs them in order, so the last to start is the last
  // to end.
  for (auto handle = started_.rbegin(); handle != started_.rend(); ++handle) {
    worker_.wait(*handle);
    parts.push_back(handle->result());
  }
  return concatenate(worker_.executor(), parts);
}

}  // namespace simsgd
