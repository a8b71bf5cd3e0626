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

// Calls visit(e, reverse) for every entry e = (i, j) with i < j and its reverse (j, i), in the order of the entries;
// false if an entry has no reverse, or if visit returns false.
template <typename Visit>
bool for_pairs(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, const Visit &visit) {
  // Rows are visited in ascending order, so the entries (j, i) of a row j are met in the order in which they are stored.
  std::vector<std::int32_t> next(indptr, indptr + n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int32_t e = next[i];
    if (e < indptr[i + 1] && indices[e] < i) return false;
    for (; e < indptr[i + 1]; ++e) {
      const std::int32_t j = indices[e], reverse = next[j]++;
      if (reverse >= indptr[j + 1] || indices[reverse] != i || !visit(e, reverse)) return false;
    }
  }
  return true;
}

}  // namespace

std::int64_t csr_of_edges(const EdgeList &list, const Csr &csr) {
  const auto weight = [&](std::int64_t e) { return list.weights ? list.weights[e] : 1.0; };
  bool sorted = true;
  for (std::int64_t e = 0; e < list.count; ++e) {
    sorted = sorted && (e == 0 || list.rows[e - 1] < list.rows[e] ||
                        (list.rows[e - 1] == list.rows[e] && list.columns[e - 1] <= list.columns[e]));
    const bool inside = 0 <= list.rows[e] && list.rows[e] < list.n && 0 <= list.columns[e] && list.columns[e] < list.n;
    if (!inside || !std::isfinite(weight(e)) || weight(e) < 0) return -1;
  }
  std::vector<std::int32_t> order(list.count), start;
  std::iota(order.begin(), order.end(), 0);
  if (!sorted) sort_by([&](std::int32_t e) { return list.columns[e]; }, list.n, order, start);
  sort_by([&](std::int32_t e) { return list.rows[e]; }, list.n, order, start);
  std::int32_t stored = 0;
  for (std::int64_t i = 0; i < list.n; ++i) {
    csr.indptr[i] = stored;
    double degree = 0;
    for (std::int32_t k = start[i]; k < start[i + 1]; ++k) {
      const std::int32_t e = order[k];
      const std::int64_t j = list.columns[e];
      const double w = weight(e);
      csr.pairs[e] = -1;
      if (i == j || w == 0) continue;
      if (stored > csr.indptr[i] && csr.indices[stored - 1] == j) {
        csr.weights[stored - 1] += w;
      } else {
        csr.indices[stored] = std::int32_t(j);
        csr.weights[stored++] = w;
      }
      csr.pairs[e] = stored - 1;  // where it is stored, for now
      degree += w;
    }
    if (!std::isfinite(degree)) return -1;
  }
  csr.indptr[list.n] = stored;
  std::vector<std::int32_t> pairs(stored);
  std::int32_t count = 0;
  const bool symmetric = for_pairs(csr.indptr, csr.indices, list.n, [&](std::int32_t e, std::int32_t reverse) {
    double &a = csr.weights[e], &b = csr.weights[reverse];
    if (a != b) {
      if (std::abs(a - b) > list.rounding * std::max(a, b)) return false;
      a = b = 0.5 * a + 0.5 * b;
    }
    pairs[e] = pairs[reverse] = count++;
    return true;
  });
  if (!symmetric) return -1;
  for (std::int64_t e = 0; e < list.count; ++e)
    if (csr.pairs[e] >= 0) csr.pairs[e] = pairs[csr.pairs[e]];
  return stored;
}

void number_pairs(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, std::int32_t *pairs) {
  std::int32_t count = 0;
  for_pairs(indptr, indices, n, [&](std::int32_t e, std::int32_t reverse) {
    pairs[e] = pairs[reverse] = count++;
    return true;
  });
}

template <typename Real>
bool hadamard_factors(const std::int32_t *indptr, const std::int32_t *indices, const double *weights, std::int64_t n,
                      int alpha, double epsilon, Shift shift, double rounding, const Factors<Real> &out) {
  const bool normalized = shift == Shift::normalized_adjacency || shift == Shift::normalized_laplacian;
  const bool laplacian = shift == Shift::laplacian || shift == Shift::normalized_laplacian;
  std::vector<double> degree(n), root(n);
  for (std::int64_t i = 0; i < n; ++i) degree[i] = std::accumulate(weights + indptr[i], weights + indptr[i + 1], 0.0);
  const auto magnitude = [&](std::int64_t i, std::int32_t e) {
    return normalized ? weights[e] / (std::sqrt(degree[i]) * std::sqrt(degree[indices[e]])) : weights[e];
  };
  bool identical = !laplacian && indptr[n] > 0;
  std::vector<double> m(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double own = epsilon + (!laplacian ? 0.0 : normalized ? double(degree[i] > 0) : degree[i]);
    m[i] = own;
    for (std::int32_t e = indptr[i]; e < indptr[i + 1]; ++e) m[i] = std::max(m[i], magnitude(i, e));
    if (m[i] == 0) m[i] = 1;  // an isolated node at epsilon = 0: its row of S_rho is zero whatever the scale
    out.t[i] = own / m[i];
    root[i] = std::sqrt(m[i]);
    identical = identical && std::min(out.t[i], std::abs(1 - out.t[i])) < rounding;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double *sums = out.c + i * alpha;
    std::fill_n(sums, alpha, 0.0);
    for (std::int32_t e = indptr[i]; e < indptr[i + 1]; ++e) {
      const double entry = magnitude(i, e), exact = entry / (root[i] * root[indices[e]]), relative = entry / m[i];
      out.b[e] = Real(exact);
      identical = identical && std::abs(exact - 1) < rounding;
      double power = 1;
      for (int rho = 0; rho < alpha; ++rho) sums[rho] += power *= relative;
    }
    double power = 1;
    for (int rho = 0; rho < alpha; ++rho) {
      const double total = (power *= out.t[i]) + sums[rho];
      sums[rho] = total > 0 ? 1 / std::sqrt(total) : 0;
    }
  }
  return identical;
}

namespace {

// The entries of a shift off its diagonal, up to their sign.
struct Magnitudes {
  const WeightedPairs &p;
  bool normalized;
  std::vector<double> degree, root;  // the square root of the degree; 1 where that is zero

  explicit Magnitudes(const WeightedPairs &p)
      : p(p),
        normalized(p.shift == Shift::normalized_adjacency || p.shift == Shift::normalized_laplacian),
        degree(p.n),
        root(p.n) {
    for (std::int64_t i = 0; i < p.n; ++i) {
      for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) degree[i] += p.weights[p.pairs[e]];
      root[i] = degree[i] > 0 ? std::sqrt(degree[i]) : 1;
    }
  }
  double scale(std::int64_t i, std::int32_t e) const { return normalized ? root[i] * root[p.indices[e]] : 1; }
  double operator()(std::int64_t i, std::int32_t e) const { return p.weights[p.pairs[e]] / scale(i, e); }
};

}  // namespace

template <typename Real>
void edge_factors(const WeightedPairs &p, const EdgeFactors<Real> &out) {
  const Magnitudes magnitude(p);
  std::vector<double> root(p.n);
  for (std::int64_t i = 0; i < p.n; ++i) {
    double largest = 0;
    for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) largest = std::max(largest, magnitude(i, e));
    out.largest[i] = largest > 0 ? largest : 1;
    root[i] = std::sqrt(out.largest[i]);
    out.diagonal[i] = p.shift == Shift::laplacian              ? magnitude.degree[i]
                      : p.shift == Shift::normalized_laplacian ? double(magnitude.degree[i] > 0)
                                                               : 0.0;
  }
  for (std::int64_t i = 0; i < p.n; ++i) {
    double *sums = out.q + i * p.alpha;
    std::fill_n(sums, p.alpha, 0.0);
    for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) {
      const double entry = magnitude(i, e), relative = entry / out.largest[i];
      out.b[e] = Real(entry / (root[i] * root[p.indices[e]]));
      double power = 1;
      for (int rho = 0; rho < p.alpha; ++rho) sums[rho] += power *= relative;
    }
  }
}

// With M_ij = w_ij / (r_i r_j), where r = 1 or the square root of the degree, and g_ij the gradient by M_ij, that by a
// degree d_i is -(sum_j g_ij M_ij + g_ji M_ji) / (2 d_i), and each w_ij is a term of d_i.
template <typename Real>
void edge_factors_backward(const WeightedPairs &p, const double *largest, const Real *grad_b, const double *grad_q,
                           const double *grad_diagonal, double *grad) {
  const Magnitudes magnitude(p);
  std::vector<double> root(p.n), by_degree(p.n);
  for (std::int64_t i = 0; i < p.n; ++i) root[i] = std::sqrt(largest[i]);
  std::fill_n(grad, p.indptr[p.n] / 2, 0.0);
  for (std::int64_t i = 0; i < p.n; ++i) {
    const double *by_sums = grad_q + i * p.alpha;
    for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) {
      const std::int32_t j = p.indices[e];
      const double entry = magnitude(i, e), relative = entry / largest[i];
      double by_relative = 0;
      for (int rho = p.alpha; rho > 0; --rho) by_relative = by_relative * relative + rho * by_sums[rho - 1];
      const double by_entry = double(grad_b[e]) / (root[i] * root[j]) + by_relative / largest[i];
      grad[p.pairs[e]] += by_entry / magnitude.scale(i, e);
      if (magnitude.normalized) {
        by_degree[i] -= by_entry * entry;
        by_degree[j] -= by_entry * entry;
      }
    }
  }
  for (std::int64_t i = 0; i < p.n; ++i) {
    by_degree[i] = magnitude.degree[i] > 0 ? by_degree[i] / (2 * magnitude.degree[i]) : 0.0;
    if (p.shift == Shift::laplacian) by_degree[i] = grad_diagonal[i];
  }
  if (p.shift == Shift::adjacency) return;
  for (std::int64_t i = 0; i < p.n; ++i)
    for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) grad[p.pairs[e]] += by_degree[i];
}

template bool hadamard_factors(const std::int32_t *, const std::int32_t *, const double *, std::int64_t, int, double,
                               Shift, double, const Factors<float> &);
template bool hadamard_factors(const std::int32_t *, const std::int32_t *, const double *, std::int64_t, int, double,
                               Shift, double, const Factors<double> &);
template void edge_factors(const WeightedPairs &, const EdgeFactors<float> &);
template void edge_factors(const WeightedPairs &, const EdgeFactors<double> &);
template void edge_factors_backward(const WeightedPairs &, const double *, const float *, const double *,
                                    const double *, double *);
template void edge_factors_backward(const WeightedPairs &, const double *, const double *, const double *,
                                    const double *, double *);

}  // namespace s2gnn
