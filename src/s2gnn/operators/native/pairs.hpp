// Functions on the ordered pairs (i, j) of a symmetric pattern, without an array of pairs times channels: the attention
// of every head (scores of pairs, softmax over the pairs of a node, weighted sums), and gradients with respect to edge
// weights.
//
// A signal is (n, heads, channels), a value of pairs (heads, nnz). Every output row is computed by one thread in the
// order of the stored pairs, so it does not depend on the number of threads; the gradient of a does.
#pragma once

#include <cstdint>

namespace s2gnn {

struct Pairs {
  const std::int32_t *indptr;   // (n + 1)
  const std::int32_t *indices;  // (nnz), sorted within a row
  const std::int32_t *reverse;  // (nnz): where the pair (j, i) stands
  std::int64_t n, nnz, heads;
  int threads;
};

template <typename Real>
struct PairKernels {
  // x, y -> out (heads, nnz): <x_i, y_j>
  void (*dot)(const Pairs &, std::int64_t channels, const Real *x, const Real *y, Real *out);
  // values, y -> out (n, heads, channels): sum_j v_ij y_j, or sum_j v_ji y_j
  void (*sum)(const Pairs &, std::int64_t channels, bool reversed, const Real *values, const Real *y, Real *out);
  // x, y, a (heads, channels) -> out (heads, nnz): <a, LeakyReLU(x_i + y_j)>
  void (*additive)(const Pairs &, std::int64_t channels, Real slope, const Real *x, const Real *y, const Real *a,
                   Real *out);
  // grad (heads, nnz) -> gradients with respect to x, y, and a for each thread, (threads, heads, channels)
  void (*additive_backward)(const Pairs &, std::int64_t channels, Real slope, const Real *x, const Real *y,
                            const Real *a, const Real *grad, Real *grad_x, Real *grad_y, Real *grad_a);
  // scores, v -> shares (heads, nnz), the softmax of the scores of each row, and out (n, channels), the mean over the
  // heads of sum_j share_ij v_j
  void (*attend)(const Pairs &, std::int64_t channels, const Real *scores, const Real *v, Real *shares, Real *out);
  // grad (n, channels) -> gradients with respect to scores and v
  void (*attend_backward)(const Pairs &, std::int64_t channels, const Real *shares, const Real *v, const Real *grad,
                          Real *grad_scores, Real *grad_v);
  // b (nnz), c (n, alpha), g and h (n, heads, channels) -> out (nnz), the gradient of sum_rho <g_rho, S_rho h_rho>
  // with respect to b: sum_rho sign^rho rho b_ij^(rho-1) c_rho(i) c_rho(j) <g_rho(i), h_rho(j)>; the heads are
  // the branches rho = 0..alpha
  void (*hadamard_gradient)(const Pairs &, std::int64_t channels, int sign, const Real *b, const Real *c, const Real *g,
                            const Real *h, Real *out);
};

}  // namespace s2gnn
