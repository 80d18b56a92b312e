#include "algorithms/buckets.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace simsgd {

void FusionSettings::fields(Fields& f) {
  fields(f,
         "how gradients travel: every tensor by itself as soon as it is ready (none), in buckets of at least "
         "fusion_threshold (threshold), or all in one message after the backward pass (all)");
}

void FusionSettings::fields(Fields& f, std::string_view meaning) {
  f.choice("fusion", kind, {{"none", Kind::none}, {"threshold", Kind::threshold}, {"all", Kind::all}},
           meaning);
  f.bytes("fusion_threshold", threshold_bytes, "size at which a bucket is sent; PyTorch DDP uses 25 MiB")
      .above(0)
      .example("\"25 MiB\"");
}

Buckets make_buckets(const Workload& workload, const FusionSettings& settings) {
  const double total = workload.parameters();
  const std::vector<TensorInfo> tensors = workload.tensors();
  Buckets result;
  bool full = true;
  for (std::size_t place = 0; place < tensors.size(); ++place) {
    const TensorInfo& tensor = tensors[place];
    if (full) {
      result.buckets.emplace_back().end_share = (tensor.offset + tensor.parameters()) / total;
      result.last_tensors.push_back(place);
    }
    Bucket& bucket = result.buckets.back();
    bucket.parameters += tensor.parameters();
    ++bucket.tensors;
    bucket.begin_share = tensor.offset / total;  // tensors come last layer first: the latest is the leftmost
    result.last_tensors.back() = place;
    full = settings.kind == FusionSettings::Kind::none ||
           (settings.kind == FusionSettings::Kind::threshold &&
            bucket.parameters * workload.bytes_per_parameter >= settings.threshold_bytes);
  }
  return result;
}

Values BucketedAllreduce::compute_gradient(const ComputeOptions& also) {
  started_.reserve(buckets_.buckets.size());
  std::vector<std::size_t> places;
  std::set_union(buckets_.last_tensors.begin(), buckets_.last_tensors.end(), also.ready_at.begin(),
                 also.ready_at.end(), std::back_inserter(places));
  ComputeOptions options = also;
  options.ready_at = places;
  std::size_t call = 0, others = 0;
  options.gradient_ready = [&](const TensorInfo& tensor, const Values& gradient) {
    const std::size_t place = places[call++];
    if (started_.size() < buckets_.last_tensors.size() && buckets_.last_tensors[started_.size()] == place)
      send_next(gradient);
    if (others == also.ready_at.size() || also.ready_at[others] != place) return;
    ++others;
    also.gradient_ready(tensor, gradient);
  };
  return worker_.compute_gradient(options);
}

void BucketedAllreduce::send_next(const Values& gradient) {
  const Bucket& bucket = buckets_.buckets[started_.size()];
  const auto entries = static_cast<double>(worker_.model_size());
  Collective collective;
  collective.op = Collective::Op::all_reduce;
  collective.bytes = bucket.parameters * worker_.workload().bytes_per_parameter;
  collective.tensors = bucket.tensors;
  collective.traffic = Traffic::gradient;
  collective.contribution = gradient;
  collective.entries = {static_cast<std::size_t>(std::llround(bucket.begin_share * entries)),
                        static_cast<std::size_t>(std::llround(bucket.end_share * entries))};
  collective.scale = 1.0 / worker_.size();
  started_.push_back(worker_.start(std::move(collective)));
}

Values BucketedAllreduce::wait() {
  std::vector<Values> parts;
  // The last bucket holds the first layers. One channel runs them in order, so the last to start is the last
  // to end.
  for (auto handle = started_.rbegin(); handle != started_.rend(); ++handle) {
    worker_.wait(*handle);
    parts.push_back(worker_.result(*handle));
  }
  return concatenate(worker_.executor(), parts);
}

}  // namespace simsgd
