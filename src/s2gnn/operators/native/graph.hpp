// What is computed once per graph, or once per mini-batch: the pattern of a list of edges, and the factors of its
// normalised Hadamard powers.
#pragma once

#include <cstdint>

namespace s2gnn {

// Whether all of `count` numbers lie in 0, ..., bound - 1.
bool within(const std::int32_t *numbers, std::int64_t count, std::int64_t bound);

// Whether a CSR pattern can be read: row pointers (n + 1) that ascend from 0 to nnz, and columns (nnz) below n.
bool is_pattern(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, std::int64_t nnz);

struct EdgeList {
  const std::int64_t *rows, *columns;  // (count)
  std::int64_t count, n;
};

struct Pattern {
  std::int32_t *indptr;   // (2 n + 2), that of the transpose second
  std::int32_t *indices;  // (3 count), the first 3 nnz filled: columns, those of the transpose, and where each entry of
                          // the transpose is stored
  std::int32_t *place;    // (count): where an entry of the list is stored
};

// The distinct entries of a list, whatever its weights, sorted by row and column, and those of its transpose. Returns
// nnz, or -1 if an index is out of range.
std::int64_t pattern_of_edges(const EdgeList &list, const Pattern &pattern);

// The undirected pair of every stored direction of a symmetric pattern, (nnz); false if it is not symmetric, or has
// a diagonal. Pairs are numbered in the order of their entries above the diagonal.
bool number_pairs(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, std::int32_t *pairs);

enum class Shift { adjacency, laplacian, normalized_adjacency, normalized_laplacian };

// A pattern with weights, and which of its shifts M to take. Row i holds the edges to node i, and degrees are sums over
// them. Of a directed graph a normalised shift has no entry for an edge from a node without incoming ones.
struct WeightedGraph {
  const std::int32_t *indptr, *indices;  // (n + 1), (nnz)
  const std::int32_t *pairs;             // (nnz), the weight of each entry; null where each entry has its own
  const double *weights;                 // of the undirected pairs, (nnz / 2); or of the entries, (nnz)
  std::int64_t n;
  int alpha;
  Shift shift;
  bool directed = false;
};

template <typename Real>
struct Factors {
  Real *b;    // (nnz)
  double *c;  // (n, alpha)
  double *t;  // (n)
};

// The factors of S_rho = D_rho^-1/2 M^(rho) D_rho^-1/2, M = shift + epsilon I, see HadamardFactors. Returns whether all
// powers of b and t are the same.
template <typename Real>
bool hadamard_factors(const WeightedGraph &g, double epsilon, double rounding, const Factors<Real> &out);

template <typename Real>
struct EdgeFactors {
  Real *b;           // (nnz)
  double *q;         // (n, alpha)
  double *largest;   // (n)
  double *diagonal;  // (n)
};

// The part of S_rho that does not depend on epsilon, see EdgeFactors in edge_factors.py.
template <typename Real>
void edge_factors(const WeightedGraph &g, const EdgeFactors<Real> &out);

// grad: the gradient with respect to the weights, (nnz / 2) of pairs or (nnz) of directed entries, given those with
// respect to b, q and the diagonal.
template <typename Real>
void edge_factors_backward(const WeightedGraph &g, const double *largest, const Real *grad_b, const double *grad_q,
                           const double *grad_diagonal, double *grad);

}  // namespace s2gnn
