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

// Makes the two directions of every edge equal; false if one has no reverse, or they differ by more than rounding.
bool symmetrise(const Csr &csr, std::int64_t n, double rounding) {
  // Rows are visited in ascending order, so the edges (j, i) of a row j are met in the order in which they are stored.
  std::vector<std::int32_t> next(csr.indptr, csr.indptr + n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int32_t e = csr.indptr[i]; e < csr.indptr[i + 1]; ++e) {
      const std::int32_t j = csr.indices[e], reverse = next[j]++;
      if (reverse >= csr.indptr[j + 1] || csr.indices[reverse] != i) return false;
      double &a = csr.weights[e], &b = csr.weights[reverse];
      if (std::abs(a - b) > rounding * std::max(a, b)) return false;
      if (a != b) a = b = 0.5 * a + 0.5 * b;
    }
  return true;
}

}  // namespace

std::int64_t csr_of_edges(const EdgeList &list, const Csr &csr) {
  const auto weight = [&](std::int64_t e) { return list.weights ? list.weights[e] : 1.0; };
  for (std::int64_t e = 0; e < list.count; ++e) {
    const bool inside = 0 <= list.rows[e] && list.rows[e] < list.n && 0 <= list.columns[e] && list.columns[e] < list.n;
    if (!inside || !std::isfinite(weight(e)) || weight(e) < 0) return -1;
  }
  std::vector<std::int32_t> order(list.count), start;
  std::iota(order.begin(), order.end(), 0);
  sort_by([&](std::int32_t e) { return list.columns[e]; }, list.n, order, start);
  sort_by([&](std::int32_t e) { return list.rows[e]; }, list.n, order, start);
  std::int32_t stored = 0;
  for (std::int64_t i = 0; i < list.n; ++i) {
    csr.indptr[i] = stored;
    double degree = 0;
    for (std::int32_t k = start[i]; k < start[i + 1]; ++k) {
      const std::int32_t e = order[k];
      const std::int64_t j = list.columns[e];
      const double w = weight(e);
      csr.position[e] = -1;
      if (i == j || w == 0) continue;
      if (stored > csr.indptr[i] && csr.indices[stored - 1] == j) {
        csr.weights[stored - 1] += w;
      } else {
        csr.indices[stored] = std::int32_t(j);
        csr.weights[stored++] = w;
      }
      csr.position[e] = stored - 1;
      degree += w;
    }
    if (!std::isfinite(degree)) return -1;
  }
  csr.indptr[list.n] = stored;
  return symmetrise(csr, list.n, list.rounding) ? stored : -1;
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

template bool hadamard_factors(const std::int32_t *, const std::int32_t *, const double *, std::int64_t, int, double,
                               Shift, double, const Factors<float> &);
template bool hadamard_factors(const std::int32_t *, const std::int32_t *, const double *, std::int64_t, int, double,
                               Shift, double, const Factors<double> &);

}  // namespace s2gnn
