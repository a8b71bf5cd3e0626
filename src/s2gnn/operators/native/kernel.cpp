#include "kernel.hpp"

#include "vectors.hpp"

namespace s2gnn {
namespace S2GNN_VARIANT {

template <typename Real>
PairKernels<Real> pair_kernels();  // pairs.cpp

namespace {

constexpr int kPrefetch = 24;       // edges ahead
constexpr int kPrefetchSums = 8;    // edges ahead, where sums are read and written
constexpr int kChunk = 32;          // edges whose weights are made at a time
constexpr int kMaxAlpha = 8;        // powers with a kernel of their own
constexpr int kEdgesPerVisit = 32;  // of a node within a tile, below which tiles cost more than they save

enum class Kind { fan_out, fan_in, branchwise };

// Eight floats: the weights of one edge in all branches.
typedef float V8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef std::int32_t M8 __attribute__((vector_size(32)));

template <int Alpha>
inline V8 load_scalings(const float *c) {
#if defined(__AVX512VL__)
  return (V8)_mm256_maskz_loadu_ps((1 << Alpha) - 1, c);
#elif defined(__AVX2__)
  constexpr int on = -1;
  return (V8)_mm256_maskload_ps(c, _mm256_setr_epi32(on, Alpha > 1 ? on : 0, Alpha > 2 ? on : 0, Alpha > 3 ? on : 0,
                                                     Alpha > 4 ? on : 0, Alpha > 5 ? on : 0, Alpha > 6 ? on : 0,
                                                     Alpha > 7 ? on : 0));
#else
  V8 scalings = {};
  for (int rho = 0; rho < Alpha; ++rho) scalings[rho] = c[rho];
  return scalings;
#endif
}

// b^1, ..., b^8, as products of b, b^2 and b^4 chosen by the bits of rho - 1.
template <int Alpha>
inline V8 powers_of(float b) {
  const V8 one = {1, 1, 1, 1, 1, 1, 1, 1};
  const M8 first = {0, -1, 0, -1, 0, -1, 0, -1}, second = {0, 0, -1, -1, 0, 0, -1, -1}, third = {0, 0, 0, 0, -1, -1, -1, -1};
  const V8 b1 = b * one, b2 = b1 * b1;
  V8 power = b1;
  if constexpr (Alpha > 1) power *= first ? b1 : one;
  if constexpr (Alpha > 2) power *= second ? b2 : one;
  if constexpr (Alpha > 4) power *= third ? b2 * b2 : one;
  return power;
}

// b_ij^rho c_rho(j) of up to kChunk edges, made ahead of the sums that use them.
template <int Alpha>
struct EdgeWeights {
  alignas(64) float of[kChunk][8];

  void make(const Powers<float> &p, std::int32_t from, std::int32_t to, std::int32_t last) {
    for (std::int32_t e = from; e < to; ++e) {
      const float *next = p.c + p.indices[std::min(e + kChunk, last - 1)] * std::int64_t(Alpha);
      __builtin_prefetch(next);
      __builtin_prefetch(next + Alpha - 1);
      const std::int64_t j = p.indices[e];
      *reinterpret_cast<V8 *>(of[e - from]) = powers_of<Alpha>(p.b[e]) * load_scalings<Alpha>(p.c + j * Alpha);
    }
  }
};

// The row that an edge a little ahead will ask for, be it an edge of another node.
inline std::int64_t ahead(const Powers<float> &p, std::int32_t e, std::int32_t last) {
  return p.indices[std::min(e + kPrefetch, last - 1)];
}

// Edges connect nodes that are visited in order with nodes whose rows are accessed at random. If these rows are more
// than the cache holds, the edges are taken in passes, each over the edges of one tile, a range of accessed nodes whose
// rows fit; unless a visit then has too few edges. Returns the number of nodes in a tile.
inline std::int64_t tile_of(const Powers<float> &p, std::int64_t visited, std::int64_t accessed, std::int64_t edges,
                            std::int64_t columns) {
  const std::int64_t nodes = std::max(std::int64_t(1), p.tile / std::int64_t(columns * sizeof(float)));
  const std::int64_t tiles = (accessed + nodes - 1) / nodes;
  return edges < kEdgesPerVisit * visited * tiles ? accessed : nodes;
}

// The first of the edges [from, stop) of one node that leads to `node` or a later one.
inline std::int32_t edge_to(const Powers<float> &p, std::int64_t node, std::int32_t from, std::int32_t stop) {
  while (from < stop) {
    const std::int32_t middle = from + (stop - from) / 2;
    if (p.indices[middle] < node) from = middle + 1; else stop = middle;
  }
  return from;
}

// Columns [first, first + Blocks * Lanes) of rows [begin, end) of fan_out or branchwise, float32, alpha known to the
// compiler. A signal for each branch is stored (n, alpha + 1, f), that of the identity first.
template <Kind kind, int Alpha, int Blocks, int Lanes>
void gather(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t first,
            std::int64_t begin, std::int64_t end) {
  using V = typename Vector<Lanes>::type;
  constexpr bool one_input = kind == Kind::fan_out;
  const std::int64_t branches = (Alpha + 1) * f, in_row = one_input ? f : branches;
  in += first;
  out += first;
  EdgeWeights<Alpha> weights;
  const std::int64_t edges = p.indptr[end] - p.indptr[begin];
  const std::int64_t tile = one_input ? tile_of(p, end - begin, p.n, edges, Blocks * Lanes) : p.n;
  Buffer<std::int32_t> next_edge(tile < p.n ? end - begin : 0);  // of each row after the tiles before
  for (std::int64_t low = 0; low < p.n; low += tile) {
    const bool fresh = low == 0, final = low + tile >= p.n;
    for (std::int64_t i = begin; i < end; ++i) {
      V sum[Alpha][Blocks] = {};
      float *target = out + i * branches;
      const std::int32_t start = fresh ? p.indptr[i] : next_edge[i - begin];
      const std::int32_t stop = final ? p.indptr[i + 1] : edge_to(p, low + tile, start, p.indptr[i + 1]);
      const std::int32_t last = tile < p.n ? stop : p.indptr[end];
      if (!fresh)
        for (int rho = 0; rho < Alpha; ++rho)
          for (int block = 0; block < Blocks; ++block)
            sum[rho][block] = load<Lanes>(target + (rho + 1) * f + block * Lanes);
      for (std::int32_t from = start; from < stop; from += kChunk) {
        const std::int32_t to = std::min(from + kChunk, stop);
        weights.make(p, from, to, last);
        for (std::int32_t e = from; e < to; ++e) {
          const std::int64_t next = ahead(p, e, last);
          for (std::int64_t rho = 0; rho < (one_input ? 1 : Alpha); ++rho)
            for (int block = 0; block < Blocks * Lanes; block += 16)
              __builtin_prefetch(in + next * in_row + (one_input ? 0 : (rho + 1) * f) + block);
          const float *row = in + p.indices[e] * in_row;
          const float *weight = weights.of[e - from];
          if constexpr (one_input) {
            V x[Blocks];
            for (int block = 0; block < Blocks; ++block) x[block] = load<Lanes>(row + block * Lanes);
            for (int rho = 0; rho < Alpha; ++rho)
              for (int block = 0; block < Blocks; ++block) sum[rho][block] += weight[rho] * x[block];
          } else {
            for (int rho = 0; rho < Alpha; ++rho)
              for (int block = 0; block < Blocks; ++block)
                sum[rho][block] += weight[rho] * load<Lanes>(row + (rho + 1) * f + block * Lanes);
          }
        }
      }
      if (!final) {
        next_edge[i - begin] = stop;
        for (int rho = 0; rho < Alpha; ++rho)
          for (int block = 0; block < Blocks; ++block)
            store<Lanes>(target + (rho + 1) * f + block * Lanes, sum[rho][block]);
        continue;
      }
      const float *own = in + i * in_row;
      for (int block = 0; block < Blocks; ++block)
        store<Lanes>(target + block * Lanes, load<Lanes>(own + block * Lanes));
      const float *c = p.c + i * Alpha;
      const float t = p.t ? p.t[i] : 0.0f;
      float power = t, sign = float(p.sign);
#pragma GCC unroll 8  // or the sums would not stay in registers
      for (int rho = 0; rho < Alpha; ++rho, power *= t, sign *= float(p.sign)) {
        const float outer = sign * c[rho], inner = p.own(i, rho + 1, power);
        const std::int64_t branch = (rho + 1) * f;
        for (int block = 0; block < Blocks; ++block) {
          const V x = load<Lanes>(own + (one_input ? 0 : branch) + block * Lanes);
          store<Lanes>(target + branch + block * Lanes, outer * sum[rho][block] + inner * x);
        }
      }
    }
  }
}

// The same of fan_in. The alpha signals of a node are read once and added to its neighbours: what is accessed at random
// is one row of the result for each edge, not alpha rows of the signals.
template <int Alpha, int Blocks, int Lanes>
void scatter(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t first,
             std::int64_t begin, std::int64_t end) {
  using V = typename Vector<Lanes>::type;
  const std::int64_t branches = (Alpha + 1) * f;
  in += first;
  out += first;
  EdgeWeights<Alpha> weights;
  const std::int64_t tile = tile_of(p, p.n, end - begin, p.indptr[end] - p.indptr[begin], Blocks * Lanes);
  Buffer<std::int32_t> next_edge(p.n + 1);  // of each node into these rows, after the tiles before
  for (std::int64_t j = 0; j < p.n; ++j)
    next_edge[j] = begin > 0 ? edge_to(p, begin, p.indptr[j], p.indptr[j + 1]) : p.indptr[j];
  next_edge[p.n] = 0;
  for (std::int64_t low = begin, top; low < end; low = top) {
    top = std::min(low + tile, end);
    for (std::int64_t i = low; i < top; ++i)
      for (int block = 0; block < Blocks; ++block) store<Lanes>(out + i * f + block * Lanes, V{});
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::int32_t start = next_edge[j];
      const std::int32_t stop = top < p.n ? edge_to(p, top, start, p.indptr[j + 1]) : p.indptr[j + 1];
      if (start == stop) continue;
      next_edge[j] = stop;
      const float *row = in + j * branches;
      V x[Alpha][Blocks];
      float sign = float(p.sign);
      for (int rho = 0; rho < Alpha; ++rho, sign *= float(p.sign))
        for (int block = 0; block < Blocks; ++block)
          x[rho][block] = sign * p.c[j * Alpha + rho] * load<Lanes>(row + (rho + 1) * f + block * Lanes);
      for (std::int32_t from = start; from < stop; from += kChunk) {
        const std::int32_t to = std::min(from + kChunk, stop);
        weights.make(p, from, to, stop);
        for (std::int32_t e = from; e < to; ++e) {
          const std::int32_t later = e + kPrefetchSums, of_next_node = next_edge[j + 1] + (later - stop);
          const std::int64_t next = p.indices[later < stop ? later : std::min(of_next_node, p.indptr[p.n] - 1)];
          for (int block = 0; block < Blocks * Lanes; block += 16) __builtin_prefetch(out + next * f + block, 1);
          float *target = out + p.indices[e] * f;
          const float *weight = weights.of[e - from];
          V sum[Blocks] = {};
          for (int rho = 0; rho < Alpha; ++rho)
            for (int block = 0; block < Blocks; ++block) sum[block] += weight[rho] * x[rho][block];
          for (int block = 0; block < Blocks; ++block)
            store<Lanes>(target + block * Lanes, load<Lanes>(target + block * Lanes) + sum[block]);
        }
      }
    }
    // The own signal, the largest term, comes last: added first, it would round every other one.
    for (std::int64_t i = low; i < top; ++i) {
      const float *own = in + i * branches;
      V sum[Blocks];
      for (int block = 0; block < Blocks; ++block) sum[block] = load<Lanes>(out + i * f + block * Lanes);
      const float t = p.t ? p.t[i] : 0.0f;
      float power = t;
      for (int rho = 0; rho < Alpha; ++rho, power *= t) {
        const float inner = p.own(i, rho + 1, power);
        for (int block = 0; block < Blocks; ++block)
          sum[block] += inner * load<Lanes>(own + (rho + 1) * f + block * Lanes);
      }
      for (int block = 0; block < Blocks; ++block)
        store<Lanes>(out + i * f + block * Lanes, sum[block] + load<Lanes>(own + block * Lanes));
    }
  }
}

template <Kind kind, int Alpha, int Blocks, int Lanes>
void columns(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t first,
             std::int64_t begin, std::int64_t end) {
  if constexpr (kind == Kind::fan_in) {
    scatter<Alpha, Blocks, Lanes>(p, in, out, f, first, begin, end);
  } else {
    gather<kind, Alpha, Blocks, Lanes>(p, in, out, f, first, begin, end);
  }
}

template <Kind kind, int Alpha, int Lanes>
std::int64_t narrower(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t first,
                      std::int64_t begin, std::int64_t end) {
  for (; first + Lanes <= f; first += Lanes) columns<kind, Alpha, 1, Lanes>(p, in, out, f, first, begin, end);
  if constexpr (Lanes > 1) return narrower<kind, Alpha, Lanes / (Lanes > 4 ? 2 : 4)>(p, in, out, f, first, begin, end);
  return first;
}

#if defined(__AVX2__)
#if defined(__AVX512F__)
using Register = __m512;
using Lane = __m512i;
inline Register load(const float *x, int count) { return _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), x); }
inline void store(float *x, Register value, int count) { _mm512_mask_storeu_ps(x, __mmask16((1u << count) - 1), value); }
inline Register spread(const float *weights, Lane lane) {
  return _mm512_permutexvar_ps(lane, _mm512_castps256_ps512(_mm256_load_ps(weights)));
}
inline Register add_product(Register a, Register b, Register sum) { return _mm512_fmadd_ps(a, b, sum); }
inline Lane load_lanes(const std::int32_t *lanes) { return _mm512_load_si512(lanes); }
#else
using Register = __m256;
using Lane = __m256i;
inline __m256i first_lanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Register load(const float *x, int count) { return _mm256_maskload_ps(x, first_lanes(count)); }
inline void store(float *x, Register value, int count) { _mm256_maskstore_ps(x, first_lanes(count), value); }
inline Register spread(const float *weights, Lane lane) {
  return _mm256_permutevar8x32_ps(_mm256_load_ps(weights), lane);
}
inline Register add_product(Register a, Register b, Register sum) { return _mm256_fmadd_ps(a, b, sum); }
inline Lane load_lanes(const std::int32_t *lanes) { return _mm256_load_si256(reinterpret_cast<const __m256i *>(lanes)); }
#endif

// branchwise for signals narrower than a register: the branches of a node lie side by side, so registers hold several
// of them and each lane takes the weight of its branch.
template <int Alpha, int Registers>
void side_by_side(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t begin,
                  std::int64_t end) {
  const std::int64_t branches = (Alpha + 1) * f;
  const int tail = int(Alpha * f) - (Registers - 1) * kLanes;
  const auto count = [&](int r) { return r + 1 < Registers ? kLanes : tail; };
  alignas(64) std::int32_t branch_of[Registers * kLanes] = {};
  for (std::int64_t lane = 0; lane < Alpha * f; ++lane) branch_of[lane] = std::int32_t(lane / f);
  Lane lanes[Registers];
  for (int r = 0; r < Registers; ++r) lanes[r] = load_lanes(branch_of + r * kLanes);
  EdgeWeights<Alpha> weights;
  const std::int32_t last = p.indptr[end];
  for (std::int64_t i = begin; i < end; ++i) {
    Register sum[Registers] = {};
    const std::int32_t stop = p.indptr[i + 1];
    for (std::int32_t from = p.indptr[i]; from < stop; from += kChunk) {
      const std::int32_t to = std::min(from + kChunk, stop);
      weights.make(p, from, to, last);
      for (std::int32_t e = from; e < to; ++e) {
        const std::int64_t next = ahead(p, e, last);
        for (int r = 0; r < Registers * kLanes; r += 16) __builtin_prefetch(in + next * branches + f + r);
        const float *row = in + p.indices[e] * branches + f;
        for (int r = 0; r < Registers; ++r)
          sum[r] = add_product(spread(weights.of[e - from], lanes[r]), load(row + r * kLanes, count(r)), sum[r]);
      }
    }
    alignas(32) float outer[8] = {}, inner[8] = {};
    const float t = p.t ? p.t[i] : 0.0f;
    float power = t, sign = float(p.sign);
    for (int rho = 0; rho < Alpha; ++rho, power *= t, sign *= float(p.sign)) {
      outer[rho] = sign * p.c[i * Alpha + rho];
      inner[rho] = p.own(i, rho + 1, power);
    }
    const float *own = in + i * branches;
    float *target = out + i * branches;
    std::memcpy(target, own, f * sizeof(float));
    for (int r = 0; r < Registers; ++r) {
      const Register x = load(own + f + r * kLanes, count(r));
      const Register value = add_product(spread(outer, lanes[r]), sum[r], spread(inner, lanes[r]) * x);
      store(target + f + r * kLanes, value, count(r));
    }
  }
}

template <int Alpha, int Registers = 1>
void narrow_branchwise(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t begin,
                       std::int64_t end) {
  if (Registers == Alpha || Alpha * f <= Registers * kLanes)
    side_by_side<Alpha, Registers>(p, in, out, f, begin, end);
  else if constexpr (Registers < Alpha)
    narrow_branchwise<Alpha, Registers + 1>(p, in, out, f, begin, end);
}
#endif

template <Kind kind, int Alpha>
void specialised(const Powers<float> &p, const float *in, float *out, std::int64_t f) {
  constexpr int blocks = std::max(1, std::min(4, kAccumulators / Alpha));
  for_balanced_rows(p.indptr, p.n, p.threads, [&](int, std::int64_t begin, std::int64_t end) {
#if defined(__AVX2__)
    if (kind == Kind::branchwise && f < kLanes) return narrow_branchwise<Alpha>(p, in, out, f, begin, end);
#endif
    std::int64_t first = 0;
    for (; first + blocks * kLanes <= f; first += blocks * kLanes)
      columns<kind, Alpha, blocks, kLanes>(p, in, out, f, first, begin, end);
    narrower<kind, Alpha, kLanes>(p, in, out, f, first, begin, end);
  });
}

// Any alpha and either precision; the compiler vectorises the loop over columns.
template <Kind kind, typename Real>
void general(const Powers<Real> &p, const Real *in, Real *out, std::int64_t f) {
  constexpr std::int64_t width = 32;
  constexpr bool one_input = kind == Kind::fan_out, one_output = kind == Kind::fan_in;
  const std::int64_t branches = (p.alpha + 1) * f;
  const std::int64_t in_row = one_input ? f : branches, out_row = one_output ? f : branches;
  const std::int64_t in_branch = one_input ? 0 : f, out_branch = one_output ? 0 : f;
  for_balanced_rows(p.indptr, p.n, p.threads, [&](int, std::int64_t begin, std::int64_t end) {
    Buffer<Real> sums(p.alpha * width);
    for (std::int64_t first = 0; first < f; first += width) {
      const std::int64_t count = std::min(width, f - first);
      for (std::int64_t i = begin; i < end; ++i) {
        std::fill_n(sums.data(), p.alpha * width, Real(0));
        for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) {
          const std::int64_t j = p.indices[e];
          Real power = p.b[e];
          for (int rho = 0; rho < p.alpha; ++rho, power *= p.b[e]) {
            const Real weight = power * p.c[j * p.alpha + rho];
            const Real *row = in + j * in_row + (rho + 1) * in_branch + first;
            Real *sum = sums.data() + rho * width;
            for (std::int64_t column = 0; column < count; ++column) sum[column] += weight * row[column];
          }
        }
        const Real *own = in + i * in_row + first;
        Real *target = out + i * out_row + first;
        std::copy(own, own + count, target);
        const Real t = p.t ? p.t[i] : Real(0);
        Real power = t, sign = Real(p.sign);
        for (int rho = 0; rho < p.alpha; ++rho, power *= t, sign *= Real(p.sign)) {
          const Real outer = sign * p.c[i * p.alpha + rho], inner = p.own(i, rho + 1, power);
          own += in_branch;
          target += out_branch;
          const Real *sum = sums.data() + rho * width;
          for (std::int64_t column = 0; column < count; ++column) {
            const Real value = outer * sum[column] + inner * own[column];
            target[column] = one_output ? target[column] + value : value;
          }
        }
      }
    }
  });
}

template <Kind kind, int Alpha = 1>
void dispatch(const Powers<float> &p, const float *in, float *out, std::int64_t f) {
  if constexpr (Alpha > kMaxAlpha) {
    general<kind>(p, in, out, f);
  } else if (p.alpha == Alpha) {
    specialised<kind, Alpha>(p, in, out, f);
  } else {
    dispatch<kind, Alpha + 1>(p, in, out, f);
  }
}

// The random number of element `index`: a counter passed through an integer hash, so that any part of the array can be
// made alone and the result does not depend on the number of threads. s2gnn/operators/activation.py has the same in
// torch.
inline std::uint32_t random_bits(std::uint64_t index, std::uint32_t key) {
  std::uint32_t z = std::uint32_t(index) * 0x9E3779B9u + std::uint32_t(index >> 32) * 0x85EBCA6Bu + key;
  z = (z ^ (z >> 16)) * 0x21F0AAADu;
  z = (z ^ (z >> 15)) * 0xD35A2D97u;
  return z ^ (z >> 15);
}

void activate(Activation a, const float *x, const float *bias, float *y) {
  if (a.branch_stride == a.columns) {  // one long branch
    a.columns *= a.branches;
    a.branches = 1;
  }
#pragma omp parallel for schedule(static) num_threads(a.threads)
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (std::int64_t branch = 0; branch < a.branches; ++branch) {
      const float *from = x + row * a.row_stride + branch * a.branch_stride;
      const float *b = bias + branch * a.columns;
      const std::int64_t start = (row * a.branches + branch) * a.columns;
      float *to = y + start;
      if (a.drop_below == 0) {
        for (std::int64_t column = 0; column < a.columns; ++column) to[column] = std::max(from[column] + b[column], 0.0f);
      } else {
        for (std::int64_t column = 0; column < a.columns; ++column) {
          const float value = std::max(from[column] + b[column], 0.0f) * a.scale;
          to[column] = random_bits(start + column, a.key) < a.drop_below ? 0.0f : value;
        }
      }
    }
}

void activate_backward(Activation a, const float *grad, const float *y, float *out) {
  const std::int64_t row_size = a.branches * a.columns;
#pragma omp parallel for schedule(static) num_threads(a.threads)
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const float *__restrict g = grad + row * row_size, *__restrict kept = y + row * row_size;
    float *__restrict to = out + row * row_size;
    for (std::int64_t k = 0; k < row_size; ++k) {
      const float scaled = g[k] * a.scale;
      to[k] = kept[k] > 0.0f ? scaled : 0.0f;
    }
  }
}

template <bool drops>
void combine(const Activation &a, const float *x, const float *bias, const float *mu, float *out) {
#pragma omp parallel for schedule(static) num_threads(a.threads)
  for (std::int64_t row = 0; row < a.rows; ++row) {
    float *__restrict to = out + row * a.columns;
    std::fill_n(to, a.columns, 0.0f);
    for (std::int64_t branch = 0; branch < a.branches; ++branch) {
      const float *from = x + row * a.row_stride + branch * a.branch_stride, *b = bias + branch * a.columns;
      const std::int64_t start = (row * a.branches + branch) * a.columns;
      const float factor = mu[branch] * a.scale;
      for (std::int64_t column = 0; column < a.columns; ++column) {
        const float value = factor * std::max(from[column] + b[column], 0.0f);
        to[column] += drops && random_bits(start + column, a.key) < a.drop_below ? 0.0f : value;
      }
    }
  }
}

// Sums over rows are made in blocks, so that they do not depend on the number of threads.
template <bool drops>
void combine_backward(const Activation &a, const float *x, const float *bias, const float *mu, const float *grad,
                      float *grad_x, float *grad_bias, float *grad_mu) {
  constexpr std::int64_t block_rows = 64;
  const std::int64_t blocks = (a.rows + block_rows - 1) / block_rows, size = a.branches * a.columns;
  Buffer<float> partial(blocks * (size + a.branches));
  const auto sums = [&](std::int64_t block) { return partial.data() + block * (size + a.branches); };
#pragma omp parallel for schedule(static) num_threads(a.threads)
  for (std::int64_t block = 0; block < blocks; ++block) {
    float *by_bias = sums(block), *by_mu = by_bias + size;
    std::fill_n(by_bias, size + a.branches, 0.0f);
    for (std::int64_t row = block * block_rows; row < std::min(a.rows, (block + 1) * block_rows); ++row)
      for (std::int64_t branch = 0; branch < a.branches; ++branch) {
        const float *from = x + row * a.row_stride + branch * a.branch_stride, *b = bias + branch * a.columns;
        const float *g = grad + row * a.columns;
        const std::int64_t start = (row * a.branches + branch) * a.columns;
        float *__restrict to = grad_x + start, *__restrict total = by_bias + branch * a.columns;
        const float factor = mu[branch];
        float inner = 0;
#pragma omp simd reduction(+ : inner)
        for (std::int64_t column = 0; column < a.columns; ++column) {
          const float z = from[column] + b[column], scaled = g[column] * a.scale;
          const bool kept = !drops || random_bits(start + column, a.key) >= a.drop_below;
          const float passed = z > 0.0f && kept ? scaled : 0.0f;
          inner += passed * std::max(z, 0.0f);
          to[column] = factor * passed;
          total[column] += factor * passed;
        }
        by_mu[branch] += inner;
      }
  }
  Buffer<double> totals(size + a.branches);
  std::fill_n(totals.data(), size + a.branches, 0.0);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t k = 0; k < size + a.branches; ++k) totals[k] += sums(block)[k];
  std::copy(totals.data(), totals.data() + size, grad_bias);
  std::copy(totals.data() + size, totals.data() + size + a.branches, grad_mu);
}

void combine(Activation a, const float *x, const float *bias, const float *mu, float *out) {
  (a.drop_below ? combine<true> : combine<false>)(a, x, bias, mu, out);
}

void combine_backward(Activation a, const float *x, const float *bias, const float *mu, const float *grad,
                      float *grad_x, float *grad_bias, float *grad_mu) {
  (a.drop_below ? combine_backward<true> : combine_backward<false>)(a, x, bias, mu, grad, grad_x, grad_bias, grad_mu);
}

#define S2GNN_TEXT(name) #name
#define S2GNN_NAME(name) S2GNN_TEXT(name)

}  // namespace

Variant variant() {
  return {S2GNN_NAME(S2GNN_VARIANT),
          dispatch<Kind::fan_out>,
          dispatch<Kind::fan_in>,
          dispatch<Kind::branchwise>,
          general<Kind::fan_out, double>,
          general<Kind::fan_in, double>,
          general<Kind::branchwise, double>,
          activate,
          activate_backward,
          combine,
          combine_backward,
          pair_kernels<float>(),
          pair_kernels<double>()};
}

}  // namespace S2GNN_VARIANT

#define S2GNN_JOIN(left, right) left##right
#define S2GNN_MAKER(name) S2GNN_JOIN(name, _variant)
Variant S2GNN_MAKER(S2GNN_VARIANT)() { return S2GNN_VARIANT::variant(); }

}  // namespace s2gnn
