#include "wharf/cudashim/client/sparse/sparse_systems.h"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>

namespace wharf::client {
namespace {

template <typename T>
using ByColumns = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;
template <typename T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// With the rows and columns of A in this order.
template <typename T>
ByColumns<T> Ordered(const SparsePattern& pattern, std::span<const T> values, std::span<const int> order) {
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  std::vector<Eigen::Triplet<T, int>> entries;
  entries.reserve(pattern.columns.size());
  for (int i = 0; i < pattern.rows; ++i) {
    for (int at = pattern.offsets[i]; at < pattern.offsets[i + 1]; ++at) {
      entries.emplace_back(place[i], place[pattern.columns[at]], values[at]);
    }
  }
  ByColumns<T> a(pattern.rows, pattern.rows);
  a.setFromTriplets(entries.begin(), entries.end());
  return a;
}

// By one of Eigen's decompositions, of the matrix with its rows and columns in an order.
template <typename T, typename Decomposition>
class Factored : public SparseFactor<T> {
 public:
  Factored(const SparsePattern& pattern, std::span<const T> values, std::vector<int> order) : order_(std::move(order)) {
    if (!order_.empty()) decomposition_.compute(Ordered<T>(pattern, values, order_));
  }
  int SmallPivot(double tolerance) const override {
    if (order_.empty()) return -1;
    const int rows = static_cast<int>(order_.size()), pivots = std::min(rows, decomposition_.pivots());
    for (int i = 0; i < pivots; ++i) {
      if (!(decomposition_.pivot(i) > tolerance)) return i;
    }
    return pivots < rows ? pivots : -1;
  }
  void Solve(std::span<const T> b, std::span<T> x) const override {
    if (order_.empty()) return;
    Column<T> right(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) right[i] = b[order_[i]];
    const Column<T> left = decomposition_.solve(right);
    for (size_t i = 0; i < order_.size(); ++i) x[order_[i]] = left[i];
  }

 private:
  std::vector<int> order_;
  Decomposition decomposition_;
};

// How many pivots there are before the first that is 0, and how large they are.
template <typename T>
class Lu : public Eigen::SparseLU<ByColumns<T>, Eigen::COLAMDOrdering<int>> {
 public:
  int pivots() const {
    if (this->info() == Eigen::Success) return std::numeric_limits<int>::max();
    // Eigen says in words only which column had none, counted from 1.
    const std::string words = this->lastErrorMessage();
    return std::max(0, std::atoi(words.c_str() + words.rfind(' ') + 1) - 1);
  }
  double pivot(int i) const {
    if (this->info() != Eigen::Success) return std::numeric_limits<double>::infinity();  // not kept
    for (typename Lu::SCMatrix::InnerIterator it(this->m_Lstore, i); it; ++it) {
      if (it.index() == i) return std::abs(it.value());
    }
    return 0;
  }
};
template <typename T>
class Cholesky : public Eigen::SimplicialLDLT<ByColumns<T>, Eigen::Lower, Eigen::NaturalOrdering<int>> {
 public:
  int pivots() const { return std::numeric_limits<int>::max(); }
  // L D L^T has D, L L^T its roots. What comes behind a 0 is not set.
  double pivot(int i) const { return std::sqrt(std::max(0.0, std::real(this->m_diag[i]))); }
};

// Neighbours of each row in A + A^T, without itself.
std::vector<std::vector<int>> NeighboursOf(const SparsePattern& pattern) {
  std::vector<std::vector<int>> neighbours(pattern.rows);
  for (int i = 0; i < pattern.rows; ++i) {
    for (int at = pattern.offsets[i]; at < pattern.offsets[i + 1]; ++at) {
      const int j = pattern.columns[at];
      if (i == j) continue;
      neighbours[i].push_back(j);
      neighbours[j].push_back(i);
    }
  }
  for (auto& row : neighbours) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return neighbours;
}

// Breadth first from a row of the fewest neighbours, in each part of the graph; the fewest neighbours go first.
std::vector<int> ReverseCuthillMcKee(const SparsePattern& pattern) {
  const auto neighbours = NeighboursOf(pattern);
  const auto fewer = [&](int a, int b) { return neighbours[a].size() < neighbours[b].size(); };
  std::vector<int> starts(pattern.rows), order;
  std::iota(starts.begin(), starts.end(), 0);
  std::stable_sort(starts.begin(), starts.end(), fewer);
  std::vector<bool> seen(pattern.rows);
  for (const int start : starts) {
    if (seen[start]) continue;
    seen[start] = true;
    order.push_back(start);
    for (size_t at = order.size() - 1; at < order.size(); ++at) {
      const size_t level = order.size();
      for (const int next : neighbours[order[at]]) {
        if (seen[next]) continue;
        seen[next] = true;
        order.push_back(next);
      }
      std::stable_sort(order.begin() + static_cast<ptrdiff_t>(level), order.end(), fewer);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<int> MinimumDegree(const SparsePattern& pattern) {
  const std::vector<double> ones(pattern.columns.size(), 1);
  std::vector<int> as_it_is(pattern.rows);
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
  Eigen::AMDOrdering<int>()(Ordered<double>(pattern, ones, as_it_is), order);
  return {order.indices().data(), order.indices().data() + order.indices().size()};
}

}  // namespace

bool ReadPattern(int rows, int entries, int base, const int* offsets, const int* columns, SparsePattern* pattern) {
  pattern->rows = rows;
  pattern->offsets.assign(offsets, offsets + rows + 1);
  pattern->columns.assign(columns, columns + entries);
  for (int& offset : pattern->offsets) offset -= base;
  for (int& column : pattern->columns) column -= base;
  const auto& all = pattern->offsets;
  return all.front() == 0 && all.back() == entries && std::is_sorted(all.begin(), all.end()) &&
         std::all_of(pattern->columns.begin(), pattern->columns.end(),
                     [&](int column) { return column >= 0 && column < rows; });
}

bool IsSymmetric(int rows, int base, const int* offsets, const int* ends, const int* columns) {
  std::vector<std::pair<int, int>> there, mirrored;
  for (int i = 0; i < rows; ++i) {
    for (int at = offsets[i] - base; at < ends[i] - base; ++at) {
      there.emplace_back(i, columns[at] - base);
      mirrored.emplace_back(columns[at] - base, i);
    }
  }
  std::sort(there.begin(), there.end());
  std::sort(mirrored.begin(), mirrored.end());
  return there == mirrored;
}

std::vector<int> OrderOf(const SparsePattern& pattern, SparseOrder order) {
  if (order == SparseOrder::kReverseCuthillMcKee) return ReverseCuthillMcKee(pattern);
  if (order == SparseOrder::kMinimumDegree && pattern.rows > 0) return MinimumDegree(pattern);
  std::vector<int> as_it_is(pattern.rows);
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  return as_it_is;
}

template <typename T>
std::unique_ptr<SparseFactor<T>> SparseFactor<T>::Of(SparseMethod method, SparseOrder order,
                                                     const SparsePattern& pattern, std::span<const T> values) {
  if (method == SparseMethod::kLu) {
    return std::make_unique<Factored<T, Lu<T>>>(pattern, values, OrderOf(pattern, order));
  }
  return std::make_unique<Factored<T, Cholesky<T>>>(pattern, values, OrderOf(pattern, order));
}
template class SparseFactor<double>;
template class SparseFactor<std::complex<double>>;

SparsePattern Permuted(const SparsePattern& pattern, std::span<const int> p, std::span<const int> q,
                       std::vector<int>* from) {
  std::vector<int> place(q.size());
  for (size_t j = 0; j < q.size(); ++j) place[q[j]] = static_cast<int>(j);
  SparsePattern permuted{pattern.rows, {0}, {}};
  from->clear();
  for (const int row : p) {
    std::vector<std::pair<int, int>> entries;  // the column, and which entry
    for (int at = pattern.offsets[row]; at < pattern.offsets[row + 1]; ++at) {
      entries.emplace_back(place[pattern.columns[at]], at);
    }
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, at] : entries) {
      permuted.columns.push_back(column);
      from->push_back(at);
    }
    permuted.offsets.push_back(static_cast<int>(permuted.columns.size()));
  }
  return permuted;
}

bool IsPermutation(std::span<const int> p) {
  std::vector<bool> seen(p.size());
  for (const int i : p) {
    if (i < 0 || static_cast<size_t>(i) >= p.size() || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

}  // namespace wharf::client
