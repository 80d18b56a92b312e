// Decoupled DiLoCo: learners train alone; a syncer merges the models of those who are there, and waits for
// nobody beyond a quorum.
//   learner i: x_i <- x_i - eta U(g_i(x_i));  after s_i >= H steps since it took over a model: send x_i, s_i
//   syncer: once K learners have sent, and then for a grace window more, M being who has sent by then:
//     D = sum_M w_i (T - x_i) / sum_M w_i,  w_i = c_i c_i / s_i;  u <- mu u + D;  T <- T - eta (D + mu u)
//     send T to M
//   learner i, when it comes, after its step: x_i <- m x_i + (1 - m) T
// c_i are tokens; all learners have the same batch here, so that w_i is proportional to s_i. Who comes late
// is in the next merge. With wait, m = 0 and K all learners of the same speed it is DiLoCo. Douillard et al.,
// "Decoupled DiLoCo", 2026, arXiv:2604.21428: quorum, grace window and the weights as its abstract and
// zij's canon (github.com/junaidaliop/zij, canon/math/decoupleddiloco.md) tell them; its text was not at
// hand.
// assumed: the grace window is a share of the time from the last merge to the quorum (the paper: adaptive);
// only those who are merged get T; a learner sends again when it has been answered. Left out: fragments, and
// radial averaging. The syncer is on rank 0, whose own learner needs no message; merging takes no time. Bytes
// per learner and merge: the model each way. After a crash a learner computes again what it lost; the others
// go on without it where the quorum allows.
#include <fmt/format.h>

#include <map>

#include "algorithms/low_communication/outer_nesterov.hpp"
#include "algorithms/low_communication/served_workers.hpp"
#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kLearned = 0x6464, kMerged = 0x6465;  // tags: to the syncer, and back

struct DecoupledOptions {
  int inner_steps = 32;
  OuterSettings outer;
  std::optional<int> quorum;
  double grace = 0.1;
  bool wait = false;
  std::optional<double> mixing;

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: steps after which a learner sends its model").at_least(1);
    outer.fields(f);
    f.whole("quorum", quorum, "K: the syncer merges once this many learners have sent")
        .at_least(1)
        .by_rule("half of the workers, rounded up");
    f.number(
         "grace", grace,
         "Grace window: after the quorum, the syncer waits for others for this share of the time since the last merge")
        .at_least(0);
    f.flag("wait", wait, "Whether a learner that has sent waits for the answer, instead of training on");
    f.number("mixing", mixing,
             "m: a learner continues with this share of its own model; the rest is the merged one")
        .at_least(0)
        .at_most(1)
        .by_rule("0 where learners wait, else 0.5");
  }
  void complete(const AlgorithmContext& context) {
    if (!quorum) quorum = (context.workers + 1) / 2;
    if (!mixing) mixing = wait ? 0 : 0.5;
  }
};

/// Merges what learners send. Shared by rank 0's run() and the handlers that its worker keeps.
class Syncer : public std::enable_shared_from_this<Syncer> {
 public:
  using Publish = std::function<void(int to, const Tensor& merged, std::uint64_t merges)>;
  Syncer(Worker& worker, const DecoupledOptions& options, Publish publish)
      : worker_(worker),
        quorum_(static_cast<std::size_t>(*options.quorum)),
        grace_(options.grace),
        outer_(options.outer, worker.replica().parameters()),
        publish_(std::move(publish)) {}

  void learned(int from, const Tensor& model, double steps) {
    here_[from] = {model, steps};
    if (here_.size() == static_cast<std::size_t>(worker_.size())) return merge();
    if (here_.size() != quorum_) return;
    const double window_s = grace_ * (worker_.now() - merged_s_);
    if (window_s <= 0) return merge();
    worker_.background().then(worker_.background().start_timer(window_s),
                              [self = shared_from_this(), merges = merges_] {
                                if (self->merges_ == merges) self->merge();
                              });
  }

 private:
  struct Learned {
    Tensor model;
    double steps = 0;
  };

  void merge() {
    ++merges_;
    merged_s_ = worker_.now();
    const std::map<int, Learned> merged = std::exchange(here_, {});
    double all = 0;
    for (const auto& [rank, each] : merged) all += each.steps;
    std::vector<double> weights = {1.0};
    std::vector<Tensor> terms = {outer_.agreed()};
    for (const auto& [rank, each] : merged) {
      weights.push_back(-each.steps / all);
      terms.push_back(each.model);
    }
    if (outer_.agreed())
      outer_.step(worker_.executor(), linear_combination(worker_.executor(), weights, terms));
    for (const auto& [rank, each] : merged) publish_(rank, outer_.agreed(), merges_);
  }

  Worker& worker_;
  std::size_t quorum_;
  double grace_;
  OuterNesterov outer_;
  Publish publish_;
  std::map<int, Learned> here_;  // who has sent since the last merge
  std::uint64_t merges_ = 0;
  double merged_s_ = 0;
};

/// What a learner has heard. Shared by its run() and its handler.
struct MergedNews {
  bool waits = false, news = false;  // for an answer; one is to be taken over
  Handle<Nothing> arrived;
  Tensor merged;
  std::uint64_t merges = 0;
};

class DecoupledDiloco final : public Algorithm {
 public:
  DecoupledDiloco(const DecoupledOptions& options, int workers)
      : options_(options), waits_for_all_(options.wait && *options.quorum == workers) {}

  void run(Worker& worker) const override {
    const auto heard = std::make_shared<MergedNews>();
    const auto hear = [heard, &worker](const Tensor& merged, std::uint64_t merges) {
      heard->merged = merged;
      heard->merges = merges;
      heard->news = true;
      worker.background().signal(heard->arrived);
    };
    worker.background().serve(kMerged, [hear](const Message& message) {
      hear(message.values, static_cast<std::uint64_t>(message.numbers.at(0)));
    });
    const std::shared_ptr<Syncer> syncer = worker.rank() == 0 ? serve(worker, hear) : nullptr;
    double since = 0;          // steps since a merged model was taken over
    std::uint64_t merges = 0;  // that its model knows
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      ++since;
      if (!heard->waits && since >= options_.inner_steps) {
        send(worker, *heard, syncer.get(), since);
        if (options_.wait) worker.wait(heard->arrived);
      }
      if (!heard->news) continue;
      take_over(worker, *heard, merges);
      since = 0;
    }
  }
  bool needs_others() const override { return waits_for_all_; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // On rank 0 the merged model, its momentum and the sum of what came.
    return replica_memory_and(context,
                              {{"received model and, on rank 0, the syncer", 4 * context.vector_bytes()}});
  }

 private:
  std::shared_ptr<Syncer> serve(Worker& worker,
                                const std::function<void(const Tensor&, std::uint64_t)>& hear) const {
    const auto publish = [hear, &worker](int to, const Tensor& merged, std::uint64_t merges) {
      if (to == worker.rank()) return hear(merged, merges);
      worker.background().post(to, kMerged, model_sized(worker, merged, {static_cast<double>(merges)}));
    };
    const auto syncer = std::make_shared<Syncer>(worker, options_, publish);
    worker.background().serve(kLearned, [syncer](const Message& message) {
      syncer->learned(message.from, message.values, message.numbers.at(0));
    });
    return syncer;
  }
  static void send(Worker& worker, MergedNews& heard, Syncer* syncer, double steps) {
    heard.waits = true;
    heard.arrived = worker.background().make_event();
    const Tensor model = worker.replica().parameters();
    if (syncer)
      syncer->learned(worker.rank(), model, steps);
    else
      worker.background().post(0, kLearned, model_sized(worker, model, {steps}));
  }
  void take_over(Worker& worker, MergedNews& heard, std::uint64_t& merges) const {
    worker.record().staleness(static_cast<double>(heard.merges - merges - 1));  // merges without it
    merges = heard.merges;
    heard.waits = heard.news = false;
    if (heard.merged)
      worker.replica().set(linear_combination(worker.executor(), {*options_.mixing, 1 - *options_.mixing},
                                              {worker.replica().parameters(), heard.merged}));
  }

  DecoupledOptions options_;
  bool waits_for_all_;
};

MadeAlgorithm make_decoupled_diloco(const DecoupledOptions& options, const AlgorithmContext& context) {
  if (*options.quorum > context.workers)
    reject("quorum",
           fmt::format("exceeds the number of workers, {}, and would never be reached", context.workers),
           fmt::format("Use at most {}", context.workers));
  return std::make_unique<DecoupledDiloco>(options, context.workers);
}

}  // namespace

std::vector<AlgorithmPlugin> decoupled_diloco() {
  return {
      {{.name = "decoupled_diloco",
        .summary =
            "DiLoCo whose outer steps need only a quorum of the learners, and those who come within a grace window",
        .citation = "Douillard et al., 2026, arXiv:2604.21428"},
       "the model to rank 0 and back for each merge that a learner is in; nothing from rank 0's own",
       {.sends = {Traffic::model}, .interval = "inner_steps"},
       make_decoupled_diloco}};
}

}  // namespace simsgd::algorithms
