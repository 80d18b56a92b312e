// The door between a method in Python and its worker. The method is a generator: it yields what it waits for,
// and its frames lie on Python's heap, so that no frame of Python is on the stack of a worker that waits.
// What Python calls (the functions below) never waits: it does at once what takes no time, or notes what is
// asked for, and `drive` does that when the generator has yielded. door.py has the other side, and
// docs/python.md says what both mean.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/python/parts.hpp"
#include "algorithms/python/values.hpp"

namespace simsgd::python {

/// The text of door.py and methods.py, which are one module.
const char* door_source();
/// What door.py defines under that name; runs it at the first call.
PyObject* of_door(const char* name);
/// Calls into Python; throws RunError with the place in the method where it failed.
Ref call(PyObject* function, const std::vector<Ref>& arguments);

/// Throw RunError with the names that there are.
Traffic traffic_of(const std::string& name);
Activity activity_of(const std::string& name);
/// A handle of any kind, as what a worker waits for.
Awaited awaited(const AnyHandle& handle);

class Door : public std::enable_shared_from_this<Door> {
 public:
  Door(Worker& worker, const Parts& parts) : worker_(worker), parts_(parts), shipped_(worker, parts) {}

  /// Runs method `number` to its end.
  void run(long long number);

  // At once.
  long long step() { return static_cast<long long>(worker_.step()); }
  double now() { return worker_.now(); }
  double slower() { return worker_.compute().slower(); }
  double model_bytes() { return worker_.workload().model_bytes(); }
  double learning_rate() { return worker_.replica().learning_rate(); }
  Tensor parameters() { return worker_.replica().parameters(); }
  void set(Tensor parameters);
  std::vector<std::string> state_names();
  std::vector<Tensor> state();  ///< of the optimizer, by these names
  void restore(Tensor parameters, std::vector<Tensor> state);
  Tensor tensor(long long address, long long size);
  std::vector<long long> view(const Tensor& values);  ///< address and size
  Tensor combine(const std::vector<double>& weights, const std::vector<Tensor>& terms, double scale);
  Tensor concatenate(const std::vector<Tensor>& parts);
  Tensor with_entries(const Tensor& whole, long long begin, const Tensor& entries);
  Tensor slice(const Tensor& whole, long long begin, long long end);
  std::vector<long long> neighbours();
  Ref graph();                   ///< name, neighbours of all, edges, matchings, eigenvalues
  std::vector<double> layers();  ///< parameters of each
  Ref workload();
  long long group(std::vector<long long> ranks);
  bool done(const AnyHandle& handle);
  AnyHandle event();
  void signal(AnyHandle event);
  AnyHandle timer(double seconds);
  void serve(long long tag, Borrowed handler);
  void post(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
            const std::string& traffic, long long line);
  void then(const AnyHandle& handle, Borrowed action);
  void number(const std::string& name, double value) { worker_.record().number(name, value); }
  void staleness(double steps) { worker_.record().staleness(steps); }
  void table(std::string name, std::vector<std::string> columns,
             const std::vector<std::vector<double>>& rows);
  double kernel_s(const std::string& kernel, double a, double b, double c) {
    return shipped_.kernel_s(kernel, a, b, c);
  }
  Stream random(bool shared);
  double uniform(Stream* stream) { return stream->uniform(); }
  long long below(Stream* stream, long long n);
  double normal(Stream* stream) { return stream->normal(); }
  Tensor normals(Stream* stream, long long count);
  double predict();  ///< of the collective that was asked for, which then is not run

  // Asked for: done when the generator yields.
  void next_step();
  void gradient(long long index, long long count, Borrowed ready, Borrowed before_forward,
                Borrowed after_forward, Borrowed before_backward, Borrowed after_backward,
                Borrowed parameters, const std::vector<long long>& ready_at, const std::string& statistics);
  void apply(const Tensor& gradient);
  void start_gradient(long long index, long long count, long long batch);
  void cancel(const AnyHandle& gradient);
  void take(const AnyHandle& gradient);
  void collective(std::string kind, Tensor values, double scale, double bytes, long long tensors,
                  const std::string& traffic, long long group, long long channel, std::string schedule,
                  long long root, const std::vector<long long>& entries);
  void send(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
            const std::string& traffic);
  void receive(long long from, long long tag);
  void start();  ///< what was asked for, without waiting
  void wait(const AnyHandle& handle);
  void wait_any(const std::vector<AnyHandle>& handles);
  void spend(const std::string& activity, double seconds, const std::string& label);
  void spend_on(const std::string& activity, double seconds, const Tensor& on);

  // What a method seldom needs.
  void keep_shard(long long part, long long parts);
  void recover_by(const std::string& how, Borrowed restarted);
  bool hear(long long tag, Borrowed heard);
  void flood(long long tag, long long number);
  /// See OwnMessages. With `merge` the values are merged on their way, else `effect` is given what came.
  void exchange(std::vector<std::vector<long long>> stages, Tensor values, Borrowed effect, double bytes,
                long long tensors, const std::string& traffic, long long group, long long channel,
                bool together, Borrowed merge, Borrowed sent, Borrowed finish, std::vector<long long> merges,
                double merge_s);

  // Parts of methods that the program has (parts.hpp).
  std::vector<double> fragment(long long index, long long count) { return shipped_.fragment(index, count); }
  Tensor own_part(long long index, long long count) { return shipped_.own_part(index, count); }
  void set_own_part(long long index, long long count, const Tensor& part) {
    shipped_.set_own_part(index, count, part);
  }
  Tensor rounded(const Tensor& values, long long bits);
  long long wait_avoiding(long long tag, bool majority, Borrowed part);
  void call_service(long long service);
  long long sparsifier(double density, const std::string& put_back) {
    return shipped_.sparsifier(density, put_back);
  }
  void choose(long long sparsifier, const Tensor& gradient);
  void merge(long long sparsifier, const Tensor& selected);
  void keep(long long sparsifier, const Tensor& accumulated, const Tensor& selected, const Tensor& merged) {
    shipped_.keep(sparsifier, accumulated, selected, merged);
  }
  Tensor dense(long long sparsifier, const Tensor& merged) { return shipped_.dense(sparsifier, merged); }
  void note_merges(long long sparsifier) { shipped_.note_merges(sparsifier); }
  long long kfac(double damping, bool by_pi, double old_weight, double kl_clip);
  std::vector<std::vector<double>> kfac_costs(long long kfac) { return shipped_.kfac(kfac).costs(); }
  std::vector<std::vector<double>> kfac_layers(long long kfac) { return shipped_.kfac(kfac).layers(); }
  void kfac_average(long long kfac, const Tensor& factors) { shipped_.kfac(kfac).average(factors); }
  Tensor kfac_invert(long long kfac) { return shipped_.kfac(kfac).invert(); }
  void kfac_set_inverses(long long kfac, const Tensor& all) { shipped_.kfac(kfac).set_inverses(all); }
  Tensor kfac_precondition(long long kfac, const Tensor& gradient) {
    return shipped_.kfac(kfac).precondition(gradient);
  }

 private:
  struct Asked {
    std::string name;          ///< empty: nothing
    bool may_be_left = false;  ///< its effect has been; only its time is still to pass
    std::function<Ref()> run = {};
    std::function<AnyHandle()> start = {};
    std::optional<AnyCollective> collective = {};
  };

  void drive(const Ref& generator);
  /// Before Python on the main thread: the worker's clock may have run ahead of the machine's events, and
  /// what Python calls must not wait for them.
  void come_to_the_present() { worker_.background().signal(present_); }
  void ask(Asked asked);
  void ask_collective(std::string kind, AnyCollective operation);
  Asked taken();
  Ref wrapped(const Tensor& values);
  Ref wrapped(const std::vector<Tensor>& values);
  Ref wrapped(const Message& message);
  Ref result(const AnyHandle& handle);
  LayerHook hook(Borrowed function);
  int peer(long long rank) const;
  MicroBatch micro_batch(long long index, long long count);
  /// Of the names that the method declares, where it does.
  Traffic traffic(const std::string& name) const;
  Activity activity(const std::string& name) const;
  Handle<RunningGradient> running(const AnyHandle& gradient, const char* what) const;
  Merging merging(Borrowed merge, Borrowed sent, Borrowed finish);
  [[noreturn]] void fail(const std::string& text) const;
  /// Calls into the method; an error there tells rank, step and time too.
  Ref called(PyObject* function, const std::vector<Ref>& arguments) const;
  /// Messages that are posted come with one tag for all, so that one that nobody serves is told in words.
  void listen();
  void posted(const Message& message);
  /// Calls a handler outside the main thread: what it asks for stays with it.
  Ref call_back(const Ref& function, const std::vector<Ref>& arguments);

  Worker& worker_;
  const Parts& parts_;
  ShippedParts shipped_;
  Ref own_;  // the Worker of door.py
  Asked asked_;
  std::map<long long, Ref> handlers_;  // of posted messages, by tag
  bool listens_ = false;
  int computed_ = 0;  // times in this step
  int unpaid_updates_ = 0;
  double share_ = 1;                 // of the model that this worker has
  Handle<RunningGradient> running_;  // neither taken nor cancelled
  Handle<Nothing> present_;          // complete since the run began
};

}  // namespace simsgd::python
