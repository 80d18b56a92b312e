// The learner: the small model that really trains. It knows its model, loss, data, and which samples each
// worker draws. Immutable once built and safe to use from several threads; what changes during a run
// (parameters, state of the optimizer) lives in replicas outside. Numerics are float32; the same code
// instantiated in double is checked against finite differences.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/learn/dataset.hpp"
#include "sim/learn/sampler.hpp"

namespace simsgd {

// model.hpp, which brings Eigen
template <class T>
class Model;
template <class T>
struct LayerTap;

/// How the training samples are spread over workers.
struct PartitionSpec {
  enum class Kind { iid, dirichlet } kind = Kind::iid;
  double alpha = 1.0;  ///< concentration of the Dirichlet label skew; smaller is more skewed
};

struct LearnerSpec {
  std::shared_ptr<const Model<float>> model;  ///< shared with whoever evaluates it (calibration, tests)
  std::shared_ptr<const DataSet> train;       ///< shared: several learners may read one data set
  std::shared_ptr<const DataSet> test;        ///< may be null: then there is no test loss or accuracy
  PartitionSpec partition;
  int workers = 1;
  int batch = 32;  ///< samples per worker and step
  std::uint64_t seed = 1;
};

/// Loss and accuracy of a model on a data set.
struct Evaluation {
  double loss = 0;      ///< mean over samples
  double accuracy = 0;  ///< share of samples (tokens) classified correctly; NaN for a regression
};

class Learner {
 public:
  /// Throws ParameterError, with pointers relative to the learner's object, if the partition is impossible.
  explicit Learner(LearnerSpec spec);

  std::size_t parameters() const;
  int workers() const { return spec_.workers; }
  int batch() const { return spec_.batch; }
  std::int64_t train_samples() const;
  const Model<float>& model() const { return *spec_.model; }
  const DataSet& train_set() const { return *spec_.train; }
  bool has_test() const { return spec_.test != nullptr; }

  /// The model every replica starts from; a function of the seed alone.
  std::vector<float> initial_parameters() const;

  /// Indices of the training samples of worker `rank` in its mini-batch `step` (from 1), cut into `parts`
  /// equal parts (sizes differ by one where `batch` is not a multiple) of which `part` (from 0) is asked for.
  /// IID: as PyTorch's DistributedSampler, one permutation of all samples per epoch, of which step k uses the
  /// k-th block of workers x batch, worker r the r-th slice: P workers of batch b together see exactly the
  /// samples of one worker of batch P b. The block that reaches the end of an epoch goes on in the next
  /// permutation. Label-skewed: each worker permutes its own share. Throws RunError if there are more parts
  /// than samples in a mini-batch.
  std::vector<std::int32_t> samples(int rank, std::uint64_t step, int part = 0, int parts = 1) const;

  /// Mean loss over `samples` at `parameters`, and its gradient into `gradient` (same length as
  /// `parameters`). `tap`, if given, receives what each layer saw.
  double gradient(std::span<const float> parameters, std::span<const std::int32_t> samples,
                  std::span<float> gradient, LayerTap<float>* tap = nullptr) const;

  /// What a mean loss of the test set, in nats a token, is in bits a byte; only where it is text.
  double bits_per_byte(double loss) const;

  Evaluation evaluate_test(std::span<const float> parameters) const;
  /// On the whole training set (costly: only for small problems and tests).
  Evaluation evaluate_train(std::span<const float> parameters) const;

  /// Training samples that worker `rank` draws from; all of them where the partition is IID.
  std::size_t share(int rank) const;

 private:
  LearnerSpec spec_;
  Sampler sampler_;
};

}  // namespace simsgd
