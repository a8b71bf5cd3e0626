// The Python face of the kernel: checks shapes and indices, releases the interpreter lock, calls the chosen variant.
// Indices are checked at every call: the arrays belong to the caller, who may have changed them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "graph.hpp"
#include "kernel.hpp"

namespace nb = nanobind;

namespace {

constexpr std::int64_t kCachedRows = 1 << 23;  // bytes of rows that a map accesses at random in one pass over the edges

template <typename T, int Dimensions>
using In = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T, int Dimensions>
using Out = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

std::vector<s2gnn::Variant> supported() {
  std::vector<s2gnn::Variant> variants = {s2gnn::portable_variant()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) variants.push_back(s2gnn::avx2_variant());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    variants.push_back(s2gnn::avx512_variant());
#endif
  return variants;
}

const s2gnn::Variant &find(const std::string &name) {
  static const std::vector<s2gnn::Variant> variants = supported();
  for (const auto &variant : variants)
    if (name == variant.name) return variant;
  throw std::invalid_argument("this processor has no kernel variant " + name);
}

void require(bool met, const char *what) {
  if (!met) throw std::invalid_argument(what);
}

// The number of nodes of a CSR pattern, if it can be read.
std::int64_t checked(const In<std::int32_t, 1> &indptr, const In<std::int32_t, 1> &indices, std::size_t n,
                     std::size_t nnz) {
  require(indptr.shape(0) > n && indices.shape(0) >= nnz, "indptr and indices are shorter than the pattern");
  require(s2gnn::is_pattern(indptr.data(), indices.data(), std::int64_t(n), std::int64_t(nnz)),
          "not a CSR pattern: indptr must ascend from 0 to the number of edges, and indices lie in 0..n-1");
  return std::int64_t(n);
}

// The allocator maps new memory for every large array, and touching it page by page costs more than the arithmetic:
// ask for large pages.
template <typename Real>
void expect_large_pages(Real *data, std::size_t count) {
#if defined(__linux__)
  constexpr std::uintptr_t page = 4096, worthwhile = std::uintptr_t(32) << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(data + count) / page * page;
  if (end > begin && end - begin >= worthwhile) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

template <typename Real>
using Diagonal = nb::ndarray<const Real, nb::c_contig, nb::device::cpu>;  // t (n), or S_rho(i, i) (n, alpha)

// Row pointers and indices may be followed by those of the transposed pattern.
template <typename Real>
s2gnn::Powers<Real> powers(int threads, const In<std::int32_t, 1> &indptr, const In<std::int32_t, 1> &indices,
                           const In<Real, 1> &b, const In<Real, 2> &c, const Diagonal<Real> &t, int sign,
                           std::int64_t tile) {
  require(t.ndim() >= 1 && t.shape(0) == c.shape(0) &&
              (t.ndim() == 1 || (t.ndim() == 2 && t.shape(1) == c.shape(1))) && c.shape(1) < (1u << 31),
          "c and t disagree on the nodes or the powers");
  const bool given = t.ndim() == 2;
  require(threads >= 1 && tile >= 1, "threads and tile must be at least 1");
  const std::int64_t n = checked(indptr, indices, c.shape(0), b.shape(0));
  return {indptr.data(), indices.data(), b.data(), c.data(), given ? nullptr : t.data(), given ? t.data() : nullptr,
          n, int(c.shape(1)), sign, threads, tile};
}

// Whether an array is a signal (n, f), or one for each branch (n, alpha + 1, f).
template <typename Array, typename Real>
bool is_signal(const Array &x, const s2gnn::Powers<Real> &p, bool many, std::size_t columns) {
  return x.ndim() == (many ? 3u : 2u) && x.shape(0) == std::size_t(p.n) &&
         (!many || x.shape(1) == std::size_t(p.alpha) + 1) && x.shape(x.ndim() - 1) == columns;
}

template <typename Real>
using Map = void (*)(const s2gnn::Powers<Real> &, const Real *, Real *, std::int64_t);

// One of the three maps: a signal (n, f), or one for each branch (n, alpha + 1, f), on either side.
template <typename Real, Map<Real> s2gnn::Variant::*map, bool many_in, bool many_out>
void product(const std::string &variant, int threads, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
             In<Real, 1> b, In<Real, 2> c, Diagonal<Real> t, int sign,
             nb::ndarray<const Real, nb::c_contig, nb::device::cpu> in,
             nb::ndarray<Real, nb::c_contig, nb::device::cpu> out, std::int64_t tile) {
  const auto kernel = find(variant).*map;
  nb::gil_scoped_release unlocked;
  const auto p = powers(threads, indptr, indices, b, c, t, sign, tile);
  const std::size_t columns = in.ndim() ? in.shape(in.ndim() - 1) : 0;
  require(is_signal(in, p, many_in, columns) && is_signal(out, p, many_out, columns),
          "the signals are not of the shapes (n, f) or (n, alpha + 1, f) that this map takes and gives");
  expect_large_pages(out.data(), out.size());
  kernel(p, in.data(), out.data(), std::int64_t(columns));
}

template <typename Array>
s2gnn::Activation activation(const Array &x, double drop, std::uint32_t key, int threads) {
  require(threads >= 1 && drop >= 0 && drop < 1, "threads must be at least 1 and drop in [0, 1)");
  return {std::int64_t(x.shape(0)), std::int64_t(x.shape(1)), std::int64_t(x.shape(2)), x.stride(0), x.stride(1),
          std::uint32_t(drop * 4294967296.0), float(1 / (1 - drop)), key, threads};
}

using Branches = nb::ndarray<const float, nb::ndim<3>, nb::device::cpu>;  // (rows, branches, columns), strided

// An array without elements has no strides.
bool contiguous_columns(const Branches &x) { return x.size() == 0 || x.stride(2) == 1 || x.shape(2) == 1; }

template <typename Left, typename Right>
bool same_shape(const Left &a, const Right &b) {
  return a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1) && a.shape(2) == b.shape(2);
}

void activate(const std::string &variant, int threads, Branches x, In<float, 2> bias, std::uint32_t key, double drop,
              Out<float, 3> out) {
  require(bias.shape(0) == x.shape(1) && bias.shape(1) == x.shape(2) && same_shape(x, out) && contiguous_columns(x),
          "activate wants x and out (rows, branches, columns), columns contiguous, and bias (branches, columns)");
  const auto &kernel = find(variant);
  const auto a = activation(x, drop, key, threads);
  nb::gil_scoped_release unlocked;
  expect_large_pages(out.data(), out.size());
  kernel.activate(a, x.data(), bias.data(), out.data());
}

void activate_backward(const std::string &variant, int threads, In<float, 3> grad, In<float, 3> y, double drop,
                       Out<float, 3> out) {
  require(same_shape(grad, y) && same_shape(y, out), "activate_backward wants grad, y and out of one shape");
  const auto &kernel = find(variant);
  const auto a = activation(y, drop, 0, threads);
  nb::gil_scoped_release unlocked;
  expect_large_pages(out.data(), out.size());
  kernel.activate_backward(a, grad.data(), y.data(), out.data());
}

bool fit(const Branches &x, const In<float, 2> &bias, const In<float, 1> &mu) {
  return bias.shape(0) == x.shape(1) && bias.shape(1) == x.shape(2) && mu.shape(0) == x.shape(1) &&
         contiguous_columns(x);
}

void combine(const std::string &variant, int threads, Branches x, In<float, 2> bias, In<float, 1> mu, std::uint32_t key,
             double drop, Out<float, 2> out) {
  require(fit(x, bias, mu) && out.shape(0) == x.shape(0) && out.shape(1) == x.shape(2),
          "combine wants x (rows, branches, columns), columns contiguous, bias (branches, columns), mu (branches) and "
          "out (rows, columns)");
  const auto &kernel = find(variant);
  const auto a = activation(x, drop, key, threads);
  nb::gil_scoped_release unlocked;
  kernel.combine(a, x.data(), bias.data(), mu.data(), out.data());
}

void combine_backward(const std::string &variant, int threads, Branches x, In<float, 2> bias, In<float, 1> mu,
                      In<float, 2> grad, std::uint32_t key, double drop, Out<float, 3> grad_x, Out<float, 2> grad_bias,
                      Out<float, 1> grad_mu) {
  require(fit(x, bias, mu) && grad.shape(0) == x.shape(0) && grad.shape(1) == x.shape(2) && same_shape(x, grad_x) &&
              grad_bias.shape(0) == bias.shape(0) && grad_bias.shape(1) == bias.shape(1) &&
              grad_mu.shape(0) == mu.shape(0),
          "combine_backward wants x (rows, branches, columns), columns contiguous, bias (branches, columns), mu "
          "(branches), their gradients, and grad (rows, columns)");
  const auto &kernel = find(variant);
  const auto a = activation(x, drop, key, threads);
  nb::gil_scoped_release unlocked;
  expect_large_pages(grad_x.data(), grad_x.size());
  kernel.combine_backward(a, x.data(), bias.data(), mu.data(), grad.data(), grad_x.data(), grad_bias.data(),
                          grad_mu.data());
}

template <typename Real>
const s2gnn::PairKernels<Real> &pair_kernels(const std::string &variant);
template <>
const s2gnn::PairKernels<float> &pair_kernels(const std::string &variant) { return find(variant).pairs32; }
template <>
const s2gnn::PairKernels<double> &pair_kernels(const std::string &variant) { return find(variant).pairs64; }

s2gnn::Pairs pairs(In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices, In<std::int32_t, 1> reverse,
                   std::size_t heads, int threads) {
  const std::size_t nnz = indices.shape(0);
  require(indptr.shape(0) >= 1 && nnz == reverse.shape(0), "indices and reverse disagree on the pairs");
  require(threads >= 1, "threads must be at least 1");
  const std::int64_t n = checked(indptr, indices, indptr.shape(0) - 1, nnz);
  require(s2gnn::within(reverse.data(), std::int64_t(nnz), std::int64_t(nnz)), "reverse has a pair that does not exist");
  return {indptr.data(), indices.data(), reverse.data(), n, std::int64_t(nnz), std::int64_t(heads), threads};
}

// Whether an array holds signals (n, heads, channels) or values (heads, nnz) of the pairs.
template <typename Array>
bool holds(const Array &x, std::size_t rows, std::size_t heads, std::size_t channels = 0) {
  return x.shape(0) == rows && x.shape(1) == heads && (channels == 0 || x.shape(2) == channels);
}

template <typename Real>
void dot(const std::string &variant, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
         In<std::int32_t, 1> reverse, int threads, In<Real, 3> x, In<Real, 3> y, Out<Real, 2> out) {
  const auto p = pairs(indptr, indices, reverse, x.shape(1), threads);
  require(holds(x, p.n, p.heads) && same_shape(x, y) && holds(out, p.heads, p.nnz),
          "dot wants x and y (n, heads, channels), out (heads, pairs)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  kernel.dot(p, x.shape(2), x.data(), y.data(), out.data());
}

// Inner products of the rows of each branch but the first: the dot of a pattern in which every node has itself.
template <typename Real>
void row_products(const std::string &variant, int threads, In<Real, 3> x, In<Real, 3> y, Out<Real, 2> out) {
  const std::size_t n = x.shape(0), branches = x.shape(1);
  require(same_shape(x, y) && out.shape(0) == n && out.shape(1) + 1 == branches && threads >= 1 && n < (1u << 31),
          "row_products wants x and y (n, alpha + 1, channels), out (n, alpha)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  std::vector<std::int32_t> nodes(n + 1);
  std::iota(nodes.begin(), nodes.end(), 0);
  std::vector<Real> products(branches * n);
  const s2gnn::Pairs p = {nodes.data(), nodes.data(), nullptr, std::int64_t(n), std::int64_t(n),
                          std::int64_t(branches), threads};
  kernel.dot(p, x.shape(2), x.data(), y.data(), products.data());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t rho = 1; rho < branches; ++rho) out.data()[i * (branches - 1) + rho - 1] = products[rho * n + i];
}

template <typename Real>
void sum(const std::string &variant, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
         In<std::int32_t, 1> reverse, int threads, bool reversed, In<Real, 2> values, In<Real, 3> y, Out<Real, 3> out) {
  const auto p = pairs(indptr, indices, reverse, y.shape(1), threads);
  require(holds(values, p.heads, p.nnz) && holds(y, p.n, p.heads) && same_shape(y, out),
          "sum wants values (heads, pairs), y and out (n, heads, channels)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  kernel.sum(p, y.shape(2), reversed, values.data(), y.data(), out.data());
}

template <typename Real>
void additive(const std::string &variant, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
              In<std::int32_t, 1> reverse, int threads, double slope, In<Real, 3> x, In<Real, 3> y, In<Real, 2> a,
              Out<Real, 2> out) {
  const auto p = pairs(indptr, indices, reverse, x.shape(1), threads);
  require(holds(x, p.n, p.heads) && same_shape(x, y) && a.shape(0) == x.shape(1) && a.shape(1) == x.shape(2) &&
              holds(out, p.heads, p.nnz),
          "additive wants x and y (n, heads, channels), a (heads, channels), out (heads, pairs)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  kernel.additive(p, x.shape(2), Real(slope), x.data(), y.data(), a.data(), out.data());
}

template <typename Real>
void additive_backward(const std::string &variant, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
                       In<std::int32_t, 1> reverse, int threads, double slope, In<Real, 3> x, In<Real, 3> y,
                       In<Real, 2> a, In<Real, 2> grad, Out<Real, 3> grad_x, Out<Real, 3> grad_y, Out<Real, 3> grad_a) {
  const auto p = pairs(indptr, indices, reverse, x.shape(1), threads);
  require(holds(x, p.n, p.heads) && same_shape(x, y) && same_shape(x, grad_x) && same_shape(x, grad_y) &&
              a.shape(0) == x.shape(1) && a.shape(1) == x.shape(2) && holds(grad, p.heads, p.nnz) &&
              holds(grad_a, threads, p.heads, x.shape(2)),
          "additive_backward wants x, y and their gradients (n, heads, channels), a (heads, channels), its gradient "
          "(threads, heads, channels), grad (heads, pairs)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  kernel.additive_backward(p, x.shape(2), Real(slope), x.data(), y.data(), a.data(), grad.data(), grad_x.data(),
                           grad_y.data(), grad_a.data());
}

template <typename Real>
void attend(const std::string &variant, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
            In<std::int32_t, 1> reverse, int threads, In<Real, 2> scores, In<Real, 3> v, Out<Real, 2> shares,
            Out<Real, 2> out) {
  const auto p = pairs(indptr, indices, reverse, v.shape(1), threads);
  require(holds(scores, p.heads, p.nnz) && holds(shares, p.heads, p.nnz) &&
              holds(v, p.n, p.heads) && holds(out, p.n, v.shape(2)),
          "attend wants scores and shares (heads, pairs), v (n, heads, channels), out (n, channels)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  kernel.attend(p, v.shape(2), scores.data(), v.data(), shares.data(), out.data());
}

template <typename Real>
void attend_backward(const std::string &variant, In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices,
                     In<std::int32_t, 1> reverse, int threads, In<Real, 2> shares, In<Real, 3> v, In<Real, 2> grad,
                     Out<Real, 2> grad_scores, Out<Real, 3> grad_v) {
  const auto p = pairs(indptr, indices, reverse, v.shape(1), threads);
  require(holds(shares, p.heads, p.nnz) && holds(grad_scores, p.heads, p.nnz) &&
              holds(v, p.n, p.heads) && same_shape(v, grad_v) && holds(grad, p.n, v.shape(2)),
          "attend_backward wants shares and their gradient (heads, pairs), v and its gradient (n, heads, channels), "
          "grad (n, channels)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  kernel.attend_backward(p, v.shape(2), shares.data(), v.data(), grad.data(), grad_scores.data(), grad_v.data());
}

template <typename Real>
void hadamard_gradient(const std::string &variant, int threads, In<std::int32_t, 1> indptr,
                       In<std::int32_t, 1> indices, In<Real, 1> b, In<Real, 2> c, int sign, In<Real, 3> g,
                       In<Real, 3> h, Out<Real, 1> out) {
  require(out.shape(0) == b.shape(0) && c.shape(0) == h.shape(0) && c.shape(1) + 1 == h.shape(1) && same_shape(g, h) && threads >= 1,
          "hadamard_gradient wants b and out (pairs), c (n, alpha), g and h (n, alpha + 1, channels)");
  const auto &kernel = pair_kernels<Real>(variant);
  nb::gil_scoped_release unlocked;
  const std::int64_t n = checked(indptr, indices, c.shape(0), b.shape(0));
  const s2gnn::Pairs p = {indptr.data(), indices.data(), nullptr, n, std::int64_t(b.shape(0)),
                          std::int64_t(h.shape(1)), threads};
  kernel.hadamard_gradient(p, h.shape(2), sign, b.data(), c.data(), g.data(), h.data(), out.data());
}

std::int64_t pattern_of_edges(In<std::int64_t, 1> rows, In<std::int64_t, 1> columns, Out<std::int32_t, 1> indptr,
                              Out<std::int32_t, 1> indices, Out<std::int32_t, 1> place) {
  const std::size_t count = rows.shape(0), n = indptr.shape(0) / 2 - 1;
  require(columns.shape(0) == count && place.shape(0) == count && indices.shape(0) == 3 * count && count < (1u << 31) &&
              indptr.shape(0) >= 2 && indptr.shape(0) % 2 == 0 && n < (1u << 31),
          "pattern_of_edges wants rows, columns and place (count), indptr (2 n + 2), indices (3 count)");
  const s2gnn::EdgeList list = {rows.data(), columns.data(), std::int64_t(count), std::int64_t(n)};
  nb::gil_scoped_release unlocked;
  return s2gnn::pattern_of_edges(list, {indptr.data(), indices.data(), place.data()});
}

template <typename Real>
bool hadamard_factors(In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices, In<double, 1> weights, double epsilon,
                      int shift, double rounding, Out<Real, 1> b, Out<double, 2> c, Out<double, 1> t) {
  require(indptr.shape(0) == t.shape(0) + 1 && c.shape(0) == t.shape(0) && weights.shape(0) == indices.shape(0) &&
              b.shape(0) == indices.shape(0) && 0 <= shift && shift <= 3,
          "hadamard_factors wants weights and b (nnz), c (n, alpha) and t (n)");
  nb::gil_scoped_release unlocked;
  const std::int64_t n = checked(indptr, indices, t.shape(0), b.shape(0));
  const s2gnn::WeightedGraph g = {indptr.data(), indices.data(), nullptr, weights.data(), n,
                                  int(c.shape(1)), s2gnn::Shift(shift)};
  return s2gnn::hadamard_factors<Real>(g, epsilon, rounding, {b.data(), c.data(), t.data()});
}

void number_pairs(In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices, Out<std::int32_t, 1> pairs) {
  require(indptr.shape(0) >= 1 && indices.shape(0) == pairs.shape(0), "number_pairs wants indices and pairs (nnz)");
  nb::gil_scoped_release unlocked;
  const std::int64_t n = checked(indptr, indices, indptr.shape(0) - 1, indices.shape(0));
  require(s2gnn::number_pairs(indptr.data(), indices.data(), n, pairs.data()),
          "number_pairs wants a symmetric pattern without a diagonal");
}

s2gnn::WeightedGraph weighted_pairs(In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices, In<std::int32_t, 1> pairs,
                                    In<double, 1> weights, int shift, std::size_t alpha) {
  const bool directed = weights.shape(0) == indices.shape(0);  // else one weight for both directions
  require(indptr.shape(0) >= 1 && pairs.shape(0) == indices.shape(0) && 0 <= shift && shift <= 3 &&
              (directed || 2 * weights.shape(0) == indices.shape(0)),
          "indices, pairs and weights disagree on the edges");
  const std::int64_t n = checked(indptr, indices, indptr.shape(0) - 1, indices.shape(0));
  require(s2gnn::within(pairs.data(), std::int64_t(pairs.shape(0)), std::int64_t(weights.shape(0))),
          "pairs has an edge without a weight");
  return {indptr.data(), indices.data(), pairs.data(), weights.data(), n, int(alpha), s2gnn::Shift(shift), directed};
}

template <typename Real>
void edge_factors(In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices, In<std::int32_t, 1> pairs,
                  In<double, 1> weights, int shift, Out<Real, 1> b, Out<double, 2> q, Out<double, 1> largest,
                  Out<double, 1> diagonal) {
  const auto g = weighted_pairs(indptr, indices, pairs, weights, shift, q.shape(1));
  const std::size_t n = g.n;
  require(b.shape(0) == indices.shape(0) && q.shape(0) == n && largest.shape(0) == n && diagonal.shape(0) == n,
          "edge_factors wants b (nnz), q (n, alpha), largest and diagonal (n)");
  nb::gil_scoped_release unlocked;
  s2gnn::edge_factors<Real>(g, {b.data(), q.data(), largest.data(), diagonal.data()});
}

template <typename Real>
void edge_factors_backward(In<std::int32_t, 1> indptr, In<std::int32_t, 1> indices, In<std::int32_t, 1> pairs,
                           In<double, 1> weights, int shift, In<double, 1> largest, In<Real, 1> grad_b,
                           In<double, 2> grad_q, In<double, 1> grad_diagonal, Out<double, 1> grad) {
  const auto g = weighted_pairs(indptr, indices, pairs, weights, shift, grad_q.shape(1));
  const std::size_t n = g.n;
  require(grad_b.shape(0) == indices.shape(0) && grad_q.shape(0) == n && largest.shape(0) == n &&
              grad_diagonal.shape(0) == n && grad.shape(0) == weights.shape(0),
          "edge_factors_backward wants grad_b (nnz), grad_q (n, alpha), largest and grad_diagonal (n), grad (pairs)");
  nb::gil_scoped_release unlocked;
  s2gnn::edge_factors_backward<Real>(g, largest.data(), grad_b.data(), grad_q.data(), grad_diagonal.data(),
                                     grad.data());
}

// Arrays are taken as they are: one that had to be converted would be a copy, and its results lost.
template <typename Argument>
auto as_it_is() {
  if constexpr (std::is_arithmetic_v<std::decay_t<Argument>>) {
    return nb::arg();
  } else {
    return nb::arg().noconvert();
  }
}

template <typename Result, typename... Arguments>
void define(nb::module_ &module, const char *name, Result (*function)(Arguments...)) {
  module.def(name, function, as_it_is<Arguments>()...);
}

template <typename Function>
void define_product(nb::module_ &module, const char *name, Function function) {
  const auto array = nb::arg().noconvert();
  module.def(name, function, nb::arg(), nb::arg(), array, array, array, array, array, nb::arg(), array, array,
             nb::arg() = kCachedRows);
}

template <typename Real>
void define_pair_functions(nb::module_ &module) {
  define(module, "dot", &dot<Real>);
  define(module, "sum", &sum<Real>);
  define(module, "additive", &additive<Real>);
  define(module, "additive_backward", &additive_backward<Real>);
  define(module, "attend", &attend<Real>);
  define(module, "attend_backward", &attend_backward<Real>);
  define(module, "hadamard_gradient", &hadamard_gradient<Real>);
  define(module, "row_products", &row_products<Real>);
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "Hadamard powers of a graph and their products, attention over its edges, and graphs of edge lists.";
  module.def("variants", [] {
    std::vector<std::string> names;
    for (const auto &variant : supported()) names.emplace_back(variant.name);
    return names;
  });
  using s2gnn::Variant;
  define_product(module, "fan_out", &product<float, &Variant::fan_out32, false, true>);
  define_product(module, "fan_out", &product<double, &Variant::fan_out64, false, true>);
  define_product(module, "fan_in", &product<float, &Variant::fan_in32, true, false>);
  define_product(module, "fan_in", &product<double, &Variant::fan_in64, true, false>);
  define_product(module, "branchwise", &product<float, &Variant::branchwise32, true, true>);
  define_product(module, "branchwise", &product<double, &Variant::branchwise64, true, true>);
  define(module, "activate", &activate);
  define(module, "activate_backward", &activate_backward);
  define(module, "combine", &combine);
  define(module, "combine_backward", &combine_backward);
  define(module, "hadamard_factors", &hadamard_factors<float>);
  define(module, "hadamard_factors", &hadamard_factors<double>);
  define(module, "pattern_of_edges", &pattern_of_edges);
  define(module, "number_pairs", &number_pairs);
  define(module, "edge_factors", &edge_factors<float>);
  define(module, "edge_factors", &edge_factors<double>);
  define(module, "edge_factors_backward", &edge_factors_backward<float>);
  define(module, "edge_factors_backward", &edge_factors_backward<double>);
  define_pair_functions<float>(module);
  define_pair_functions<double>(module);
}
