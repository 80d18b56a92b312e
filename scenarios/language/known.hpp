// What the points of a study have in common is validated and built once: a section that equals one that was
// right before is right, and what was built of it is built already. Nothing that went wrong is kept, so that
// every error names the place where it was written.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "sim/base/fields.hpp"
#include "sim/base/notes.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/stragglers.hpp"
#include "sim/learn/dataset.hpp"
#include "sim/logical_graph.hpp"
#include "sim/workload.hpp"

namespace simsgd {

/// Values by the section that they were made of, and by whatever else they depend on, as text. Forgets
/// everything when there is too much of it.
template <class T>
class Memo {
 public:
  explicit Memo(std::size_t most) : most_(most) {}

  const T* find(const Json& section, const std::string& rest = "") const {
    const auto of_section = kept_.find(section);
    if (of_section == kept_.end()) return nullptr;
    const auto found = of_section->second.find(rest);
    return found == of_section->second.end() ? nullptr : &found->second;
  }

  void keep(const Json& section, const std::string& rest, T value) {
    if (count_ >= most_) {
      kept_.clear();
      count_ = 0;
    }
    ++count_;
    kept_[section].insert_or_assign(rest, std::move(value));
  }

 private:
  std::size_t most_, count_ = 0;
  std::unordered_map<Json, std::map<std::string, T>> kept_;
};

/// With what building it had to say.
struct NotedWorkload {
  Workload workload;
  std::vector<Note> notes;
};

struct Known {
  /// By the name of a section: with its defaults, those that met their schema.
  std::map<std::string, Memo<Json>> completed;
  const Json* completed_before(const std::string& name, const Json& section) const {
    const auto memo = completed.find(name);
    return memo == completed.end() ? nullptr : memo->second.find(section);
  }
  Memo<Cluster> clusters{64};
  Memo<NotedWorkload> workloads{64};
  Memo<LogicalGraph> graphs{64};
  Memo<Stragglers> stragglers{64};
  /// Of any seed: what is wrong with data does not depend on it. One at a time: data are large.
  Memo<DataSets> data{1};
};

}  // namespace simsgd
