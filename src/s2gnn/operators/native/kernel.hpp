// The products with all normalised Hadamard powers S_1..S_alpha of one graph, in one pass over its edges.
//
//   S_rho(i, j) = sign^rho b_ij^rho c_rho(i) c_rho(j),    S_rho(i, i) = t_i^rho c_rho(i)^2, or given
//
// One pattern (indptr, indices), one value b for each stored direction and N x alpha scalings c are read; the powers
// of b are made in registers. Every output row is summed by one thread in the order of the stored edges, so a result
// does not depend on the number of threads.
//
// This file is compiled once for each instruction set, into a namespace of its own (S2GNN_VARIANT).
#pragma once

#include <cstdint>

#include "pairs.hpp"

namespace s2gnn {

template <typename Real>
struct Powers {
  const std::int32_t *indptr;   // (n + 1)
  const std::int32_t *indices;  // (nnz), sorted within a row, of a symmetric pattern
  const Real *b;                // (nnz), the same for both directions
  const Real *c;                // (n, alpha)
  const Real *t;                // (n), or null
  const Real *diagonal;         // S_rho(i, i), (n, alpha), where t is null
  std::int64_t n;
  int alpha;
  int sign;
  int threads;
  std::int64_t tile;  // bytes of rows that stay in the cache while they are accessed at random

  // S_rho(i, i), with power = t_i^rho.
  Real own(std::int64_t i, int rho, Real power) const {
    const std::int64_t at = i * alpha + rho - 1;
    return diagonal ? diagonal[at] : power * c[at] * c[at];
  }
};

// Bias, ReLU and dropout of x (rows, branches, columns), rows and branches at any stride, one bias for each branch and
// column; the result and what its backward pass takes and gives are contiguous.
struct Activation {
  std::int64_t rows, branches, columns;
  std::int64_t row_stride, branch_stride;
  std::uint32_t drop_below;  // an element is dropped when its random number lies below
  float scale;               // of the elements kept
  std::uint32_t key;         // of the random numbers
  int threads;
};

// With S_0 = I and the alpha + 1 signals of a node side by side:
// fan_out:    h (n, f)            -> out (n, alpha + 1, f):  out_rho = S_rho h
// fan_in:     g (n, alpha + 1, f) -> out (n, f):             out = sum_rho S_rho g_rho
// branchwise: h (n, alpha + 1, f) -> out (n, alpha + 1, f):  out_rho = S_rho h_rho
struct Variant {
  const char *name;
  void (*fan_out32)(const Powers<float> &, const float *, float *, std::int64_t);
  void (*fan_in32)(const Powers<float> &, const float *, float *, std::int64_t);
  void (*branchwise32)(const Powers<float> &, const float *, float *, std::int64_t);
  void (*fan_out64)(const Powers<double> &, const double *, double *, std::int64_t);
  void (*fan_in64)(const Powers<double> &, const double *, double *, std::int64_t);
  void (*branchwise64)(const Powers<double> &, const double *, double *, std::int64_t);
  void (*activate)(Activation, const float *, const float *, float *);
  void (*activate_backward)(Activation, const float *, const float *, float *);
  // x, bias, mu (branches) -> out (rows, columns): the sum over the branches of mu times the activated branch
  void (*combine)(Activation, const float *x, const float *bias, const float *mu, float *out);
  // grad (rows, columns) -> gradients with respect to x (rows, branches, columns), bias and mu
  void (*combine_backward)(Activation, const float *x, const float *bias, const float *mu, const float *grad,
                           float *grad_x, float *grad_bias, float *grad_mu);
  PairKernels<float> pairs32;
  PairKernels<double> pairs64;
};

Variant portable_variant();
#if defined(__x86_64__)
Variant avx2_variant();
Variant avx512_variant();
#endif

}  // namespace s2gnn
