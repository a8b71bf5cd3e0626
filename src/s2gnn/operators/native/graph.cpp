#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace s2gnn {
namespace {

// A stable counting sort of `order` by key(entry) in 0, ..., n - 1; `start` receives where each key begins, (n + 1).
template <typename Key>
void sort_by(const Key &key, std::int64_t n, std::vector<std::int32_t> &order, std::vector<std::int32_t> &start) {
  start.assign(n + 1, 0);
  for (std::int32_t entry : order) ++start[key(entry) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> next(start.begin(), start.end() - 1), sorted(order.size());
  for (std::int32_t entry : order) sorted[next[key(entry)]++] = entry;
  order.swap(sorted);
}

// The entries of a list by row, within a row by column, repeated ones in the order of the list; `start` receives where
// each row begins, (n + 1). False if an index is out of range.
bool sort_entries(const EdgeList &list, std::vector<std::int32_t> &order, std::vector<std::int32_t> &start) {
  bool sorted = true;
  for (std::int64_t e = 0; e < list.count; ++e) {
    sorted = sorted && (e == 0 || list.rows[e - 1] < list.rows[e] ||
                        (list.rows[e - 1] == list.rows[e] && list.columns[e - 1] <= list.columns[e]));
    const bool inside = 0 <= list.rows[e] && list.rows[e] < list.n && 0 <= list.columns[e] && list.columns[e] < list.n;
    if (!inside) return false;
  }
  order.resize(list.count);
  std::iota(order.begin(), order.end(), 0);
  if (!sorted) sort_by([&](std::int32_t e) { return list.columns[e]; }, list.n, order, start);
  sort_by([&](std::int32_t e) { return list.rows[e]; }, list.n, order, start);
  return true;
}

}  // namespace

// The highest bit of x | (bound - 1 - x) is set exactly when x is negative or too large, whatever the other bits are:
// one reduction without branches, which takes far less time than any product with the pattern.
bool within(const std::int32_t *numbers, std::int64_t count, std::int64_t bound) {
  const auto last = std::uint32_t(std::min(bound, std::int64_t(1) << 31) - 1);
  std::uint32_t bits = 0;
  for (std::int64_t k = 0; k < count; ++k) bits |= std::uint32_t(numbers[k]) | (last - std::uint32_t(numbers[k]));
  return bits >> 31 == 0;
}

bool is_pattern(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, std::int64_t nnz) {
  if (indptr[0] != 0 || indptr[n] != nnz) return false;
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < n; ++i)
    bits |= std::uint32_t(indptr[i]) | (std::uint32_t(indptr[i + 1]) - std::uint32_t(indptr[i]));
  return bits >> 31 == 0 && within(indices, nnz, n);
}

std::int64_t pattern_of_edges(const EdgeList &list, const Pattern &pattern) {
  std::vector<std::int32_t> order, start;
  if (!sort_entries(list, order, start)) return -1;
  std::vector<std::int32_t> rows;
  rows.reserve(list.count);
  for (std::int64_t i = 0; i < list.n; ++i) {
    const auto first = std::int32_t(rows.size());
    pattern.indptr[i] = first;
    for (std::int32_t k = start[i]; k < start[i + 1]; ++k) {
      const std::int32_t j = std::int32_t(list.columns[order[k]]), stored = std::int32_t(rows.size());
      if (stored == first || pattern.indices[stored - 1] != j) {
        pattern.indices[stored] = j;
        rows.push_back(std::int32_t(i));
      }
      pattern.place[order[k]] = std::int32_t(rows.size()) - 1;
    }
  }
  const auto nnz = std::int64_t(rows.size());
  pattern.indptr[list.n] = std::int32_t(nnz);
  std::int32_t *columns = pattern.indices, *transposed = columns + nnz, *entry = transposed + nnz;
  order.resize(nnz);
  std::iota(order.begin(), order.end(), 0);
  sort_by([&](std::int32_t e) { return columns[e]; }, list.n, order, start);
  std::copy(start.begin(), start.end(), pattern.indptr + list.n + 1);
  std::copy(order.begin(), order.end(), entry);
  std::transform(order.begin(), order.end(), transposed, [&](std::int32_t e) { return rows[e]; });
  return nnz;
}

bool number_pairs(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, std::int32_t *pairs) {
  // Rows are visited in ascending order, so the entries (j, i) of a row j are met in the order in which they are stored.
  std::vector<std::int32_t> next(indptr, indptr + n);
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int32_t e = next[i];
    if (e < indptr[i + 1] && indices[e] <= i) return false;
    for (; e < indptr[i + 1]; ++e) {
      const std::int32_t j = indices[e], reverse = next[j]++;
      if (reverse >= indptr[j + 1] || indices[reverse] != i) return false;
      pairs[e] = pairs[reverse] = count++;
    }
  }
  return true;
}

namespace {

// The entries of a shift, those off its diagonal up to their sign.
struct Magnitudes {
  const WeightedGraph &g;
  const bool normalized, laplacian;
  std::vector<double> degree, root;  // the square root of the degree; 1 where that is zero

  explicit Magnitudes(const WeightedGraph &g)
      : g(g),
        normalized(g.shift == Shift::normalized_adjacency || g.shift == Shift::normalized_laplacian),
        laplacian(g.shift == Shift::laplacian || g.shift == Shift::normalized_laplacian),
        degree(g.n),
        root(g.n) {
    for (std::int64_t i = 0; i < g.n; ++i) {
      for (std::int32_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) degree[i] += weight(e);
      root[i] = degree[i] > 0 ? std::sqrt(degree[i]) : 1;
    }
  }
  double weight(std::int32_t e) const { return g.weights[g.pairs ? g.pairs[e] : e]; }
  double scale(std::int64_t i, std::int32_t e) const { return normalized ? root[i] * root[g.indices[e]] : 1; }
  bool unreached(std::int32_t e) const {
    return g.directed && normalized && weight(e) > 0 && degree[g.indices[e]] == 0;
  }
  double operator()(std::int64_t i, std::int32_t e) const { return unreached(e) ? 0 : weight(e) / scale(i, e); }
  double diagonal(std::int64_t i) const { return !laplacian ? 0.0 : normalized ? double(degree[i] > 0) : degree[i]; }
  // The largest entry of row and column i, (n).
  std::vector<double> largest() const {
    std::vector<double> found(g.n);
    for (std::int64_t i = 0; i < g.n; ++i)
      for (std::int32_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
        const double entry = (*this)(i, e);
        found[i] = std::max(found[i], entry);
        if (g.directed) found[g.indices[e]] = std::max(found[g.indices[e]], entry);
      }
    return found;
  }
};

// b_ij = M_ij / sqrt(m_i m_j), (nnz), and the sums of (M_ij / m_i)^rho over j, (n, alpha). Returns the smallest b.
template <typename Real>
double relative_powers(const Magnitudes &magnitude, const double *m, Real *b, double *sums) {
  const WeightedGraph &g = magnitude.g;
  std::vector<double> root(g.n);
  for (std::int64_t i = 0; i < g.n; ++i) root[i] = std::sqrt(m[i]);
  std::fill_n(sums, g.n * g.alpha, 0.0);
  double smallest = 1;
  for (std::int64_t i = 0; i < g.n; ++i, sums += g.alpha)
    for (std::int32_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      const double entry = magnitude(i, e), exact = entry / (root[i] * root[g.indices[e]]), relative = entry / m[i];
      b[e] = Real(exact);
      smallest = std::min(smallest, exact);
      double power = 1;
      for (int rho = 0; rho < g.alpha; ++rho) sums[rho] += power *= relative;
    }
  return smallest;
}

}  // namespace

template <typename Real>
bool hadamard_factors(const WeightedGraph &g, double epsilon, double rounding, const Factors<Real> &out) {
  const Magnitudes magnitude(g);
  bool identical = !magnitude.laplacian && g.indptr[g.n] > 0;
  std::vector<double> m = magnitude.largest();
  for (std::int64_t i = 0; i < g.n; ++i) {
    const double own = epsilon + magnitude.diagonal(i);
    m[i] = std::max(own, m[i]);
    if (m[i] == 0) m[i] = 1;  // an isolated node at epsilon = 0: its row of S_rho is zero whatever the scale
    out.t[i] = own / m[i];
    identical = identical && std::min(out.t[i], std::abs(1 - out.t[i])) < rounding;
  }
  const double smallest = relative_powers(magnitude, m.data(), out.b, out.c);
  for (std::int64_t i = 0; i < g.n; ++i) {
    double power = 1;
    for (double *c = out.c + i * g.alpha; c < out.c + (i + 1) * g.alpha; ++c) {
      const double degree = (power *= out.t[i]) + *c;
      *c = degree > 0 ? 1 / std::sqrt(degree) : 0;
    }
  }
  return identical && 1 - smallest < rounding;
}

template <typename Real>
void edge_factors(const WeightedGraph &g, const EdgeFactors<Real> &out) {
  const Magnitudes magnitude(g);
  const std::vector<double> largest = magnitude.largest();
  for (std::int64_t i = 0; i < g.n; ++i) {
    out.largest[i] = largest[i] > 0 ? largest[i] : 1;
    out.diagonal[i] = magnitude.diagonal(i);
  }
  relative_powers(magnitude, out.largest, out.b, out.q);
}

// With M_ij = w_ij / (r_i r_j), where r = 1 or the square root of the degree, and g_ij the gradient with respect to M_ij, that with
// respect to a degree d_i is -(sum_j g_ij M_ij + g_ji M_ji) / (2 d_i), and each w_ij is a term of d_i.
template <typename Real>
void edge_factors_backward(const WeightedGraph &g, const double *largest, const Real *grad_b, const double *grad_q,
                           const double *grad_diagonal, double *grad) {
  const Magnitudes magnitude(g);
  std::vector<double> root(g.n), by_degree(g.n);
  for (std::int64_t i = 0; i < g.n; ++i) root[i] = std::sqrt(largest[i]);
  std::fill_n(grad, g.directed ? g.indptr[g.n] : g.indptr[g.n] / 2, 0.0);
  for (std::int64_t i = 0; i < g.n; ++i) {
    const double *by_sums = grad_q + i * g.alpha;
    for (std::int32_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
      if (magnitude.unreached(e)) continue;
      const std::int32_t j = g.indices[e];
      const double entry = magnitude(i, e), relative = entry / largest[i];
      double by_relative = 0;
      for (int rho = g.alpha; rho > 0; --rho) by_relative = by_relative * relative + rho * by_sums[rho - 1];
      const double by_entry = double(grad_b[e]) / (root[i] * root[j]) + by_relative / largest[i];
      grad[g.pairs[e]] += by_entry / magnitude.scale(i, e);
      if (magnitude.normalized) {
        by_degree[i] -= by_entry * entry;
        by_degree[j] -= by_entry * entry;
      }
    }
  }
  for (std::int64_t i = 0; i < g.n; ++i) {
    by_degree[i] = magnitude.degree[i] > 0 ? by_degree[i] / (2 * magnitude.degree[i]) : 0.0;
    if (g.shift == Shift::laplacian) by_degree[i] = grad_diagonal[i];
  }
  if (g.shift == Shift::adjacency) return;
  for (std::int64_t i = 0; i < g.n; ++i)
    for (std::int32_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) grad[g.pairs[e]] += by_degree[i];
}

template bool hadamard_factors(const WeightedGraph &, double, double, const Factors<float> &);
template bool hadamard_factors(const WeightedGraph &, double, double, const Factors<double> &);
template void edge_factors(const WeightedGraph &, const EdgeFactors<float> &);
template void edge_factors(const WeightedGraph &, const EdgeFactors<double> &);
template void edge_factors_backward(const WeightedGraph &, const double *, const float *, const double *,
                                    const double *, double *);
template void edge_factors_backward(const WeightedGraph &, const double *, const double *, const double *,
                                    const double *, double *);

}  // namespace s2gnn
