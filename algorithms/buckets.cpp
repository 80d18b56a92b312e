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
  const double total = workload.parameters();
  const std::vector<TensorInfo> tensors = workload.tensors();
  Buckets result;
  bool full = true;
  for (std::size_t position = 0; position < tensors.size(); ++position) {
    const TensorInfo& tensor = tensors[position];
    if (full) {
      result.buckets.emplace_back().end_share = (tensor.offset + tensor.parameters()) / total;
      result.last_tensors.push_back(position);
    }
    Bucket& bucket = result.buckets.back();
    bucket.parameters += tensor.parameters();
    ++bucket.tensors;
    bucket.begin_share = tensor.offset / total;  // tensors come last layer first: the latest is the leftmost
    result.last_tensors.back() = position;
    full = settings.kind == FusionSettings::Kind::none ||
           (settings.kind == FusionSettings::Kind::threshold &&
            bucket.parameters * workload.bytes_per_parameter >= settings.threshold_bytes);
  }
  return result;
}

Lockstep lockstep_of(const Buckets& buckets, const Workload& workload) {
  Lockstep lockstep{{}, buckets.last_tensors};
  for (const Bucket& bucket : buckets.buckets)
    lockstep.sums.push_back(sum_of(bucket, workload.bytes_per_parameter, Traffic::gradient));
  return lockstep;
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
  const Bucket& bucket = buckets_.buckets[started_.size()];
  const auto entries = static_cast<double>(worker_.replica().size());
  AllReduce collective = mean_of(worker_, bucket, worker_.workload().bytes_per_parameter, Traffic::gradient);
  collective.contribution = gradient;
  collective.entries = {static_cast<std::size_t>(std::llround(bucket.begin_share * entries)),
                        static_cast<std::size_t>(std::llround(bucket.end_share * entries))};
  started_.push_back(worker_.collectives().start(std::move(collective)));
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
