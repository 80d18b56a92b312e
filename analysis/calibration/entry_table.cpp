#include "analysis/calibration/entry_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace simsgd {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostBins = 48;   // of sizes, between which an entry may end
constexpr std::size_t kMostFolds = 24;  // bins are left out one by one where there are no more
constexpr double kBetter = 0.95;        // of the error: another entry must be worth something

/// The sizes in ascending order, at most kMostBins of them told apart.
class Bins {
 public:
  explicit Bins(const std::vector<RelativeRow>& rows) {
    for (const RelativeRow& row : rows) tops_.push_back(row.size);
    std::ranges::sort(tops_);
    tops_.erase(std::unique(tops_.begin(), tops_.end()), tops_.end());
    if (tops_.size() <= kMostBins) return;
    std::vector<double> fewer;
    const double low = std::log(std::max(1.0, tops_.front())), high = std::log(tops_.back());
    for (std::size_t bin = 1; bin <= kMostBins; ++bin) {
      const double edge = std::exp(low + (high - low) * static_cast<double>(bin) / kMostBins) * (1 + 1e-12);
      const auto after = std::upper_bound(tops_.begin(), tops_.end(), edge);
      if (after != tops_.begin() && (fewer.empty() || *(after - 1) > fewer.back()))
        fewer.push_back(*(after - 1));
    }
    tops_ = std::move(fewer);
  }

  std::size_t count() const { return tops_.size(); }
  std::size_t of(double size) const {
    return static_cast<std::size_t>(std::lower_bound(tops_.begin(), tops_.end(), size) - tops_.begin());
  }
  std::size_t folds() const { return std::min(count(), kMostFolds); }
  std::size_t fold_of(std::size_t bin) const { return bin % folds(); }

 private:
  std::vector<double> tops_;  // largest size of each
};

struct Span {
  std::size_t first = 0, last = 0;  // bins
  std::size_t kind = 0;
};

/// Non-negative least squares, exactly: every set of costs that are not 0 is tried. `used`: features that
/// exist.
EntryFit least_squares(const NormalEquations& sums, int used) {
  EntryFit best{CostVector::Zero(), sums.square};
  CostVector scale;  // features differ by many orders of magnitude
  for (int j = 0; j < kMostCosts; ++j) scale[j] = sums.gram(j, j) > 0 ? 1 / std::sqrt(sums.gram(j, j)) : 0;
  for (int set = 1; set < 1 << used; ++set) {
    std::vector<int> in;
    for (int j = 0; j < used; ++j)
      if ((set >> j & 1) != 0 && scale[j] > 0) in.push_back(j);
    if (in.empty() || static_cast<int>(in.size()) > sums.rows) continue;
    const auto count = static_cast<Eigen::Index>(in.size());
    Eigen::MatrixXd gram(count, count);
    Eigen::VectorXd right(count);
    for (Eigen::Index a = 0; a < count; ++a) {
      const int i = in[static_cast<std::size_t>(a)];
      right[a] = sums.right[i] * scale[i];
      for (Eigen::Index b = 0; b < count; ++b) {
        const int j = in[static_cast<std::size_t>(b)];
        gram(a, b) = sums.gram(i, j) * scale[i] * scale[j];
      }
    }
    const Eigen::LDLT<Eigen::MatrixXd> solver(gram);
    if (solver.info() != Eigen::Success || solver.rcond() < 1e-13) continue;
    const Eigen::VectorXd solution = solver.solve(right);
    if ((solution.array() < 0).any()) continue;
    const double loss = std::max(0.0, sums.square - solution.dot(right));
    if (!(loss < best.loss * (1 - 1e-12))) continue;
    best = {CostVector::Zero(), loss};
    for (Eigen::Index a = 0; a < count; ++a) {
      const int i = in[static_cast<std::size_t>(a)];
      best.costs[i] = solution[a] * scale[i];
    }
  }
  return best;
}

/// The best spans for each count.
class Programme {
 public:
  /// `skip`: rows of this fold are left out.
  Programme(const std::vector<EntryKind>& kinds, const Bins& bins, std::size_t most,
            std::optional<std::size_t> skip)
      : kinds_(kinds), bins_(bins), skip_(skip) {
    const std::size_t n = bins.count();
    sums_.assign(kinds.size(), std::vector<NormalEquations>(n + 1));
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      for (const RelativeRow& row : kinds[k].rows)
        if (has(row)) sums_[k][bins.of(row.size) + 1].add(row, row.weight);
      for (std::size_t bin = 0; bin < n; ++bin) sums_[k][bin + 1] += sums_[k][bin];
    }
    solve(most);
  }

  bool has(const RelativeRow& row) const { return !skip_ || bins_.fold_of(bins_.of(row.size)) != *skip_; }

  /// The best table of so many entries; empty where there are too few sizes. `outlier` 0: nothing is one.
  std::vector<TableEntry> table(std::size_t count, double outlier) const {
    std::vector<TableEntry> entries;
    const std::vector<Span> spans = best(count);
    for (const Span& span : spans) {
      const int used = static_cast<int>(kinds_[span.kind].costs.size());
      const EntryFit fit = outlier > 0 ? robust_least_squares(rows_of(span), used, outlier)
                                       : least_squares(sums_of(span), used);
      entries.push_back({fit.costs, kNone, span.kind});
    }
    for (std::size_t i = 0; i + 1 < entries.size(); ++i)
      entries[i].up_to = border(entries[i], spans[i], entries[i + 1], spans[i + 1]);
    return entries;
  }

 private:
  struct Choice {
    std::size_t begin = 0, kind = 0;
  };

  NormalEquations sums_of(const Span& span) const {
    NormalEquations sums = sums_[span.kind][span.last + 1];
    sums -= sums_[span.kind][span.first];
    return sums;
  }

  std::vector<RelativeRow> rows_of(const Span& span) const {
    std::vector<RelativeRow> rows;
    for (const RelativeRow& row : kinds_[span.kind].rows)
      if (has(row) && bins_.of(row.size) >= span.first && bins_.of(row.size) <= span.last)
        rows.push_back(row);
    return rows;
  }

  void solve(std::size_t most) {
    const std::size_t n = bins_.count();
    loss_.assign(most + 1, std::vector<double>(n + 1, kNone));
    choice_.assign(most + 1, std::vector<Choice>(n + 1));
    loss_[0][0] = 0;
    for (std::size_t begin = 0; begin < n; ++begin) {
      for (std::size_t end = begin + 1; end <= n; ++end) {
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
          const NormalEquations sums = sums_of({begin, end - 1, k});
          const int used = static_cast<int>(kinds_[k].costs.size());
          if (sums.rows < used) continue;
          const double loss = least_squares(sums, used).loss;
          for (std::size_t count = 1; count <= most; ++count) {
            const double total = loss_[count - 1][begin] + loss;
            if (!(total < loss_[count][end])) continue;
            loss_[count][end] = total;
            choice_[count][end] = {begin, k};
          }
        }
      }
    }
  }

  std::vector<Span> best(std::size_t count) const {
    std::vector<Span> all;
    if (!(loss_[count].back() < kNone)) return all;
    for (std::size_t end = bins_.count(), left = count; left > 0; --left) {
      const Choice& choice = choice_[left][end];
      all.push_back({choice.begin, end - 1, choice.kind});
      end = choice.begin;
    }
    std::reverse(all.begin(), all.end());
    return all;
  }

  /// What both say of one row, in seconds: the first less the second.
  double difference(const TableEntry& a, const TableEntry& b, std::size_t row) const {
    const auto time = [&](const TableEntry& entry) {
      const RelativeRow& of = kinds_[entry.kind].rows[row];
      return (of.fixed + of.features.dot(entry.costs)) * of.measured;
    };
    return time(a) - time(b);
  }

  /// Where the two lines meet, if that is between the sizes that they were fitted to; else in the middle.
  double border(const TableEntry& a, const Span& of_a, const TableEntry& b, const Span& of_b) const {
    std::optional<std::size_t> below, above;
    const std::vector<RelativeRow>& rows = kinds_.front().rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!has(rows[i])) continue;
      const std::size_t bin = bins_.of(rows[i].size);
      if (bin <= of_a.last && (!below || rows[i].size > rows[*below].size)) below = i;
      if (bin >= of_b.first && (!above || rows[i].size < rows[*above].size)) above = i;
    }
    const double low = rows[*below].size, high = rows[*above].size;
    const double before = difference(a, b, *below), after = difference(a, b, *above);
    if (before * after < 0) return low + (high - low) * before / (before - after);
    return std::sqrt(std::max(1.0, low) * std::max(1.0, high));
  }

  const std::vector<EntryKind>& kinds_;
  const Bins& bins_;
  std::optional<std::size_t> skip_;
  std::vector<std::vector<NormalEquations>> sums_;  // of all bins before
  std::vector<std::vector<double>> loss_;
  std::vector<std::vector<Choice>> choice_;
};

/// Mean relative error on bins that were left out, the first and the last apart: beyond what is measured
/// nothing is predicted.
double left_out_error(const std::vector<EntryKind>& kinds, const Bins& bins,
                      const std::vector<Programme>& without, std::size_t count) {
  double errors = 0, weights = 0;
  for (const Programme& programme : without) {
    const std::vector<TableEntry> table = programme.table(count, 0);
    if (table.empty()) return kNone;
    for (std::size_t i = 0; i < kinds.front().rows.size(); ++i) {
      const RelativeRow& row = kinds.front().rows[i];
      const std::size_t bin = bins.of(row.size);
      if (programme.has(row) || (bins.count() > 2 && (bin == 0 || bin + 1 == bins.count()))) continue;
      const auto entry =
          std::ranges::find_if(table, [&](const TableEntry& each) { return row.size <= each.up_to; });
      const RelativeRow& of = kinds[entry->kind].rows[i];
      errors += row.weight * std::fabs(of.fixed + of.features.dot(entry->costs) - 1);
      weights += row.weight;
    }
  }
  return weights > 0 ? errors / weights : kNone;
}

}  // namespace

std::vector<TableEntry> best_table(const std::vector<EntryKind>& kinds, int most, double outlier) {
  const Bins bins(kinds.front().rows);
  const auto entries = static_cast<std::size_t>(most);
  std::vector<Programme> without;
  for (std::size_t fold = 0; fold < bins.folds(); ++fold) without.emplace_back(kinds, bins, entries, fold);
  std::size_t best = 1;
  double least = left_out_error(kinds, bins, without, 1);
  for (std::size_t count = 2; count <= entries; ++count) {
    const double error = left_out_error(kinds, bins, without, count);
    if (!(error < least * kBetter)) continue;
    least = error;
    best = count;
  }
  return Programme(kinds, bins, entries, std::nullopt).table(best, outlier);
}

void NormalEquations::add(const RelativeRow& row, double weight) {
  const double target = 1 - row.fixed;
  gram += weight * row.features * row.features.transpose();
  right += weight * target * row.features;
  square += weight * target * target;
  ++rows;
}

NormalEquations& NormalEquations::operator+=(const NormalEquations& other) {
  gram += other.gram;
  right += other.right;
  square += other.square;
  rows += other.rows;
  return *this;
}

NormalEquations& NormalEquations::operator-=(const NormalEquations& other) {
  gram -= other.gram;
  right -= other.right;
  square -= other.square;
  rows -= other.rows;
  return *this;
}

EntryFit robust_least_squares(const std::vector<RelativeRow>& rows, int used, double outlier) {
  constexpr int kRounds = 12;
  EntryFit fit;
  for (int round = 0; round < kRounds; ++round) {
    NormalEquations sums;
    for (const RelativeRow& row : rows) {
      double weight = row.weight;
      if (round > 0) {
        const double error = (row.fixed + row.features.dot(fit.costs) - 1) / outlier;
        weight /= std::sqrt(1 + error * error);
      }
      sums.add(row, weight);
    }
    fit = least_squares(sums, used);
  }
  return fit;
}

}  // namespace simsgd
