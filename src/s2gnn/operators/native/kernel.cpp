#include "kernel.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#ifndef S2GNN_VARIANT
#error "compile with -DS2GNN_VARIANT=portable|avx2|avx512"
#endif

namespace s2gnn {
namespace S2GNN_VARIANT {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;         // floats of one register
constexpr int kAccumulators = 24;  // registers that hold sums; the rest is for operands
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kAccumulators = 12;
#else
constexpr int kLanes = 4;
constexpr int kAccumulators = 12;
#endif

constexpr int kPrefetch = 12;  // edges ahead
constexpr int kMaxAlpha = 8;   // powers with a kernel of their own

template <int Lanes>
struct Vector {
  typedef float type __attribute__((vector_size(Lanes * sizeof(float)), aligned(4), may_alias));
};
template <>
struct Vector<1> {
  typedef float type;
};

enum class Kind { fan_out, fan_in, branchwise };

// The rows of each thread: contiguous, with about the same number of edges (a row costs about as much as 8 edges).
template <typename Real>
std::vector<std::int64_t> balanced_rows(const Powers<Real> &p) {
  const auto cost = [&](std::int64_t row) { return std::int64_t(p.indptr[row]) + 8 * row; };
  std::vector<std::int64_t> bounds(p.threads + 1, p.n);
  bounds[0] = 0;
  for (int thread = 1; thread < p.threads; ++thread) {
    const std::int64_t wanted = cost(p.n) * thread / p.threads;
    std::int64_t low = bounds[thread - 1], high = p.n;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (cost(middle) < wanted) low = middle + 1; else high = middle;
    }
    bounds[thread] = low;
  }
  return bounds;
}

template <typename Real, typename Work>
void for_balanced_rows(const Powers<Real> &p, const Work &work) {
  const auto bounds = balanced_rows(p);
#pragma omp parallel for schedule(static, 1) num_threads(p.threads)
  for (int thread = 0; thread < p.threads; ++thread) work(bounds[thread], bounds[thread + 1]);
}

// Columns [first, first + Blocks * Lanes) of rows [begin, end), float32, alpha known to the compiler.
template <Kind kind, int Alpha, int Blocks, int Lanes>
void columns(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t first,
             std::int64_t begin, std::int64_t end) {
  using V = typename Vector<Lanes>::type;
  constexpr int inputs = kind == Kind::fan_out ? 1 : Alpha;
  const std::int64_t plane = p.n * f;
  in += first;
  out += first;
  for (std::int64_t i = begin; i < end; ++i) {
    V sum[Alpha][Blocks] = {};
    const std::int32_t stop = p.indptr[i + 1];
    for (std::int32_t e = p.indptr[i]; e < stop; ++e) {
      if (e + kPrefetch < stop) {
        const std::int64_t ahead = p.indices[e + kPrefetch];
        for (int rho = 0; rho < inputs; ++rho)
          for (int block = 0; block < Blocks * Lanes; block += 16)
            __builtin_prefetch(in + rho * plane + ahead * f + block);
        __builtin_prefetch(p.c + ahead * Alpha);
      }
      const std::int64_t j = p.indices[e];
      const float *c = p.c + j * Alpha;
      const float b = p.b[e];
      const float *row = in + j * f;
      float power = b;
      if constexpr (kind == Kind::fan_out) {
        V x[Blocks];
        for (int block = 0; block < Blocks; ++block) x[block] = *reinterpret_cast<const V *>(row + block * Lanes);
        for (int rho = 0; rho < Alpha; ++rho, power *= b) {
          const float weight = power * c[rho];
          for (int block = 0; block < Blocks; ++block) sum[rho][block] += weight * x[block];
        }
      } else {
        for (int rho = 0; rho < Alpha; ++rho, power *= b) {
          const float weight = power * c[rho];
          for (int block = 0; block < Blocks; ++block)
            sum[rho][block] += weight * *reinterpret_cast<const V *>(row + rho * plane + block * Lanes);
        }
      }
    }
    const float *c = p.c + i * Alpha;
    float diagonal = p.t[i];
    float sign = float(p.sign);
    V total[Blocks] = {};
    for (int rho = 0; rho < Alpha; ++rho, diagonal *= p.t[i], sign *= float(p.sign)) {
      const float *own = in + (inputs == 1 ? 0 : rho * plane) + i * f;
      const float outer = sign * c[rho], inner = diagonal * c[rho] * c[rho];
      for (int block = 0; block < Blocks; ++block) {
        const V value = outer * sum[rho][block] + inner * *reinterpret_cast<const V *>(own + block * Lanes);
        if constexpr (kind == Kind::fan_in) {
          total[block] += value;
        } else {
          *reinterpret_cast<V *>(out + rho * plane + i * f + block * Lanes) = value;
        }
      }
    }
    if constexpr (kind == Kind::fan_in)
      for (int block = 0; block < Blocks; ++block)
        *reinterpret_cast<V *>(out + i * f + block * Lanes) = total[block];
  }
}

template <Kind kind, int Alpha, int Lanes>
std::int64_t narrower(const Powers<float> &p, const float *in, float *out, std::int64_t f, std::int64_t first,
                      std::int64_t begin, std::int64_t end) {
  for (; first + Lanes <= f; first += Lanes) columns<kind, Alpha, 1, Lanes>(p, in, out, f, first, begin, end);
  if constexpr (Lanes > 1) return narrower<kind, Alpha, Lanes / (Lanes > 4 ? 2 : 4)>(p, in, out, f, first, begin, end);
  return first;
}

template <Kind kind, int Alpha>
void specialised(const Powers<float> &p, const float *in, float *out, std::int64_t f) {
  constexpr int blocks = std::max(1, std::min(4, kAccumulators / Alpha));
  for_balanced_rows(p, [&](std::int64_t begin, std::int64_t end) {
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
  const std::int64_t plane = p.n * f;
  const bool one_input = kind == Kind::fan_out;
  for_balanced_rows(p, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> sums(p.alpha * width);
    for (std::int64_t first = 0; first < f; first += width) {
      const std::int64_t count = std::min(width, f - first);
      for (std::int64_t i = begin; i < end; ++i) {
        std::fill(sums.begin(), sums.end(), Real(0));
        for (std::int32_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) {
          const std::int64_t j = p.indices[e];
          Real power = p.b[e];
          for (int rho = 0; rho < p.alpha; ++rho, power *= p.b[e]) {
            const Real weight = power * p.c[j * p.alpha + rho];
            const Real *row = in + (one_input ? 0 : rho * plane) + j * f + first;
            Real *sum = sums.data() + rho * width;
            for (std::int64_t column = 0; column < count; ++column) sum[column] += weight * row[column];
          }
        }
        Real diagonal = p.t[i], sign = Real(p.sign);
        if (kind == Kind::fan_in) std::fill(out + i * f + first, out + i * f + first + count, Real(0));
        for (int rho = 0; rho < p.alpha; ++rho, diagonal *= p.t[i], sign *= Real(p.sign)) {
          const Real c = p.c[i * p.alpha + rho];
          const Real outer = sign * c, inner = diagonal * c * c;
          const Real *own = in + (one_input ? 0 : rho * plane) + i * f + first;
          Real *target = out + (kind == Kind::fan_in ? 0 : rho * plane) + i * f + first;
          const Real *sum = sums.data() + rho * width;
          for (std::int64_t column = 0; column < count; ++column) {
            const Real value = outer * sum[column] + inner * own[column];
            target[column] = kind == Kind::fan_in ? target[column] + value : value;
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

// x (planes, rows, columns) -> y (rows, planes, columns)
void activate(const Activation &a, const float *x, const float *bias, float *y) {
#pragma omp parallel for schedule(static) num_threads(a.threads)
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (std::int64_t plane = 0; plane < a.planes; ++plane) {
      const float *from = x + (plane * a.rows + row) * a.columns;
      const float *b = bias + plane * a.columns;
      const std::int64_t start = (row * a.planes + plane) * a.columns;
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

// grad and y (rows, planes, columns) -> out (planes, rows, columns)
void activate_backward(const Activation &a, const float *grad, const float *y, float *out) {
#pragma omp parallel for schedule(static) num_threads(a.threads)
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (std::int64_t plane = 0; plane < a.planes; ++plane) {
      const std::int64_t start = (row * a.planes + plane) * a.columns;
      float *to = out + (plane * a.rows + row) * a.columns;
      for (std::int64_t column = 0; column < a.columns; ++column)
        to[column] = y[start + column] > 0.0f ? grad[start + column] * a.scale : 0.0f;
    }
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
          activate_backward};
}

}  // namespace S2GNN_VARIANT

#define S2GNN_JOIN(left, right) left##right
#define S2GNN_MAKER(name) S2GNN_JOIN(name, _variant)
Variant S2GNN_MAKER(S2GNN_VARIANT)() { return S2GNN_VARIANT::variant(); }

}  // namespace s2gnn
