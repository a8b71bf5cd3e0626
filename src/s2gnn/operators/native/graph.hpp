// What is computed once per graph, or once per mini-batch: its CSR arrays from a list of edges, and the factors of its
// normalised Hadamard powers.
#pragma once

#include <cstdint>

namespace s2gnn {

struct EdgeList {
  const std::int64_t *rows, *columns;  // (count)
  const double *weights;               // (count), or null for ones
  std::int64_t count, n;
  double rounding;  // by which the two directions of an edge may differ, relative to the larger
};

struct Csr {
  std::int32_t *indptr;    // (n + 1)
  std::int32_t *indices;   // (count), the first nnz filled, sorted within a row
  double *weights;         // likewise
  std::int32_t *pairs;     // (count): the undirected pair of an entry of the list; -1 for a self-loop or a zero
};

// The undirected graph of a list with both directions of every edge; repeated edges are added up, self-loops and zeros
// dropped. Returns nnz, or -1 if the list is not a valid graph: an index out of range, a weight that is negative or not
// finite; or -2 if it is directed: an edge without its reverse. Pairs are numbered in the order of their entries above
// the diagonal.
std::int64_t csr_of_edges(const EdgeList &list, const Csr &csr);

// The undirected pair of every stored direction of a symmetric pattern, (nnz); false if it is not symmetric.
bool number_pairs(const std::int32_t *indptr, const std::int32_t *indices, std::int64_t n, std::int32_t *pairs);

enum class Shift { adjacency, laplacian, normalized_adjacency, normalized_laplacian };

// A symmetric pattern with weights, and which of its shifts M to take.
struct WeightedGraph {
  const std::int32_t *indptr, *indices;  // (n + 1), (nnz)
  const std::int32_t *pairs;             // (nnz), the weight of each entry; null where each entry has its own
  const double *weights;                 // of the undirected pairs, (nnz / 2); or of the entries, (nnz)
  std::int64_t n;
  int alpha;
  Shift shift;
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

// grad (nnz / 2): the gradient by the weights of the pairs, of gradients by b, q and the diagonal.
template <typename Real>
void edge_factors_backward(const WeightedGraph &g, const double *largest, const Real *grad_b, const double *grad_q,
                           const double *grad_diagonal, double *grad);

}  // namespace s2gnn
