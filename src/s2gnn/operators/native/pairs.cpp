#include "pairs.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "vectors.hpp"

namespace s2gnn {
namespace S2GNN_VARIANT {
namespace {

template <typename Real>
constexpr int kWidth = kLanes * int(sizeof(float)) / int(sizeof(Real));  // numbers of one register

// Calls work(first, width) for pieces that cover columns [0, count), `width` a constant: four registers, then halves.
template <typename Real, int Width = 4 * kWidth<Real>, typename Work>
inline void for_pieces(std::int64_t count, const Work &work, std::int64_t first = 0) {
  for (; first + Width <= count; first += Width) work(first, std::integral_constant<int, Width>());
  if constexpr (Width > 1) for_pieces<Real, Width / 2>(count, work, first);
}

// `Width` numbers in as many registers as they take.
template <typename Real, int Width>
struct Piece {
  static constexpr int lanes = std::min(Width, kWidth<Real>), blocks = Width / lanes;
  using V = typename Vector<lanes, Real>::type;
  V of[blocks] = {};

  template <typename Term>  // add term(column) to each register
  inline void add(const Term &term) {
    for (int block = 0; block < blocks; ++block) of[block] += term(block * lanes);
  }
  inline void store(Real *to) const {
    for (int block = 0; block < blocks; ++block) *reinterpret_cast<V *>(to + block * lanes) = of[block];
  }
  inline V folded() const {
    V total = of[0];
    for (int block = 1; block < blocks; ++block) total += of[block];
    return total;
  }
};

template <typename Real, int Lanes>
inline typename Vector<Lanes / 2, Real>::type folded(typename Vector<Lanes, Real>::type v) {
  typename Vector<Lanes / 2, Real>::type halves[2];
  std::memcpy(halves, &v, sizeof halves);
  return halves[0] + halves[1];
}

// The sum of the numbers of a vector.
template <typename Real, int Lanes>
inline Real total(typename Vector<Lanes, Real>::type v) {
  if constexpr (Lanes == 1) {
    return v;
  } else {
    return total<Real, Lanes / 2>(folded<Real, Lanes>(v));
  }
}

// Some numbers of two vectors, where `Order` is a vector of integers.
#if defined(__clang__)
#define S2GNN_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define S2GNN_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Order{__VA_ARGS__})
#endif

// The sums of the numbers of each of four vectors.
template <typename Real, int Lanes>
inline typename Vector<4, Real>::type totals(typename Vector<Lanes, Real>::type a, typename Vector<Lanes, Real>::type b,
                                             typename Vector<Lanes, Real>::type c, typename Vector<Lanes, Real>::type d) {
  if constexpr (Lanes > 4) {
    return totals<Real, Lanes / 2>(folded<Real, Lanes>(a), folded<Real, Lanes>(b), folded<Real, Lanes>(c),
                                   folded<Real, Lanes>(d));
  } else {
    using Index = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    typedef Index Order __attribute__((vector_size(4 * sizeof(Index)), unused));
    const auto ab = S2GNN_SHUFFLE(a, b, 0, 4, 2, 6) + S2GNN_SHUFFLE(a, b, 1, 5, 3, 7);
    const auto cd = S2GNN_SHUFFLE(c, d, 0, 4, 2, 6) + S2GNN_SHUFFLE(c, d, 1, 5, 3, 7);
    return S2GNN_SHUFFLE(ab, cd, 0, 1, 4, 5) + S2GNN_SHUFFLE(ab, cd, 2, 3, 6, 7);
  }
}

// out[k] = the sum of term(k, column) over columns, k = 0, ..., degree - 1.
template <typename Real, typename Term>
inline void sum_columns(std::int32_t degree, std::int64_t columns, Real *out, const Term &term) {
  if (columns == 0) std::fill_n(out, degree, Real(0));
  for_pieces<Real>(columns, [&](std::int64_t first, auto width) {
    using P = Piece<Real, width>;
    const auto of = [&](std::int32_t k) {
      P piece;
      piece.add([&](int c) { return term(k, first + c, std::integral_constant<int, P::lanes>()); });
      return piece.folded();
    };
    std::int32_t k = 0;
    if constexpr (P::lanes >= 4)
      for (; k + 4 <= degree; k += 4) {
        const auto four = totals<Real, P::lanes>(of(k), of(k + 1), of(k + 2), of(k + 3));
        auto *to = reinterpret_cast<typename Vector<4, Real>::type *>(out + k);
        *to = first ? *to + four : four;
      }
    for (; k < degree; ++k) out[k] = total<Real, P::lanes>(of(k)) + (first ? out[k] : Real(0));
  });
}

// LeakyReLU and its derivative; for single numbers too without an unpredictable branch.
template <typename V, typename Real>
inline V leaky_relu(V z, Real slope) {
  if constexpr (std::is_same_v<V, Real>) {
    return leaky_relu(typename Vector<16 / sizeof(Real), Real>::type{z}, slope)[0];
  } else {
    return z > 0 ? z : slope * z;
  }
}
template <typename V, typename Real>
inline V leaky_relu_slope(V z, Real slope) {
  if constexpr (std::is_same_v<V, Real>) {
    return leaky_relu_slope(typename Vector<16 / sizeof(Real), Real>::type{z}, slope)[0];
  } else {
    return z > 0 ? V{} + Real(1) : V{} + slope;
  }
}

// The pairs of one node i, k = 0, ..., degree - 1.
struct Row {
  const Pairs &p;
  std::int64_t i;
  std::int32_t start = p.indptr[i], degree = p.indptr[i + 1] - start;

  // Where the signal of head h begins, at this node and at its k-th neighbour.
  std::int64_t own(std::int64_t h, std::int64_t channels) const { return (i * p.heads + h) * channels; }
  std::int64_t other(std::int32_t k, std::int64_t h, std::int64_t channels) const {
    return (p.indices[start + k] * p.heads + h) * channels;
  }
  // The values (degree) of head h at these pairs, and at their reverse.
  template <typename Real>
  Real *values(Real *all, std::int64_t h) const {
    return all + h * p.nnz + start;
  }
  template <typename Real>
  const Real *reversed(const Real *all, std::int64_t h, Buffer<Real> &buffer) const {
    buffer.resize(degree);
    for (std::int32_t k = 0; k < degree; ++k) buffer[k] = all[h * p.nnz + p.reverse[start + k]];
    return buffer.data();
  }
};

template <typename Work>
void for_rows(const Pairs &p, const Work &work) {
  for_balanced_rows(p.indptr, p.n, p.threads, [&](int thread, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) work(Row{p, i}, thread);
  });
}

// sum_k weights[k] rows(k), two sums at a time: a product need not wait for the one before it.
template <typename Real, int Width, typename Rows>
inline Piece<Real, Width> weighted_sum(std::int32_t degree, const Real *weights, const Rows &rows) {
  constexpr int lanes = Piece<Real, Width>::lanes;
  Piece<Real, Width> even, odd;
  std::int32_t k = 0;
  for (; k + 1 < degree; k += 2) {
    const Real *first = rows(k), *second = rows(k + 1);
    even.add([&](int c) { return weights[k] * load<lanes>(first + c); });
    odd.add([&](int c) { return weights[k + 1] * load<lanes>(second + c); });
  }
  if (k < degree) even.add([&](int c) { return weights[k] * load<lanes>(rows(k) + c); });
  for (int block = 0; block < even.blocks; ++block) even.of[block] += odd.of[block];
  return even;
}

// out[k] = <x, rows(k)>
template <typename Real, typename Rows>
inline void inner_products(std::int32_t degree, std::int64_t channels, const Real *x, const Rows &rows, Real *out) {
  sum_columns(degree, channels, out, [&](std::int32_t k, std::int64_t c, auto lanes) {
    return load<lanes>(x + c) * load<lanes>(rows(k) + c);
  });
}

template <typename Real>
void dot(const Pairs &p, std::int64_t channels, const Real *x, const Real *y, Real *out) {
  for_rows(p, [&](const Row &row, int) {
    for (std::int64_t h = 0; h < p.heads; ++h)
      inner_products(row.degree, channels, x + row.own(h, channels),
                     [&](std::int32_t k) { return y + row.other(k, h, channels); }, row.values(out, h));
  });
}

template <typename Real>
void sum(const Pairs &p, std::int64_t channels, bool reversed, const Real *values, const Real *y, Real *out) {
  for_rows(p, [&](const Row &row, int) {
    static thread_local Buffer<Real> buffer;
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const Real *weights = reversed ? row.reversed(values, h, buffer) : row.values(values, h);
      for_pieces<Real>(channels, [&](std::int64_t first, auto width) {
        weighted_sum<Real, width>(row.degree, weights, [&](std::int32_t k) {
          return y + row.other(k, h, channels) + first;
        }).store(out + row.own(h, channels) + first);
      });
    }
  });
}

template <typename Real>
void additive(const Pairs &p, std::int64_t channels, Real slope, const Real *x, const Real *y, const Real *a, Real *out) {
  for_rows(p, [&](const Row &row, int) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const Real *own = x + row.own(h, channels), *vector = a + h * channels;
      sum_columns(row.degree, channels, row.values(out, h), [&](std::int32_t k, std::int64_t c, auto lanes) {
        const auto z = load<lanes>(own + c) + load<lanes>(y + row.other(k, h, channels) + c);
        return load<lanes>(vector + c) * leaky_relu(z, slope);
      });
    }
  });
}

// With s = 1 where x_i + y_j > 0, the slope elsewhere: the gradient with respect to x_i is a sum over the pairs (i, j)
// of g_ij s a, with respect to y_j the same sum over their reverse, and to a the sum of g_ij s (x_i + y_j).
template <typename Real>
void additive_backward(const Pairs &p, std::int64_t channels, Real slope, const Real *x, const Real *y, const Real *a,
                       const Real *grad, Real *grad_x, Real *grad_y, Real *grad_a) {
  std::fill_n(grad_a, p.threads * p.heads * channels, Real(0));
  for_rows(p, [&](const Row &row, int thread) {
    static thread_local Buffer<Real> buffer;
    for (std::int64_t h = 0; h < p.heads; ++h)
      for (bool reversed : {false, true}) {
        const Real *weights = reversed ? row.reversed(grad, h, buffer) : row.values(grad, h);
        const Real *own = (reversed ? y : x) + row.own(h, channels), *others = reversed ? x : y;
        Real *by_own = (reversed ? grad_y : grad_x) + row.own(h, channels);
        for_pieces<Real>(channels, [&](std::int64_t first, auto width) {
          using P = Piece<Real, width>;
          P slopes, values;
          constexpr int lanes = P::lanes;
          for (std::int32_t k = 0; k < row.degree; ++k) {
            const Real *other = others + row.other(k, h, channels) + first;
            for (int block = 0; block < P::blocks; ++block) {
              const auto z = load<lanes>(own + first + block * lanes) + load<lanes>(other + block * lanes);
              const auto weighted = weights[k] * leaky_relu_slope(z, slope);
              slopes.of[block] += weighted;
              if (!reversed) values.of[block] += weighted * z;
            }
          }
          for (int block = 0; block < P::blocks; ++block)
            slopes.of[block] *= load<lanes>(a + h * channels + first + block * lanes);
          slopes.store(by_own + first);
          if (reversed) return;
          Real *total = grad_a + (thread * p.heads + h) * channels + first;
          values.add([&](int c) { return load<lanes>(total + c); });
          values.store(total);
        });
      }
  });
}

inline double exponential(double x) { return std::exp(x); }
// 2^n e^r with |r| <= log(2) / 2, for x <= 0, within 2 units in the last place; the compiler vectorises it.
inline float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  const std::int32_t n = std::int32_t(x * 1.44269504f - 0.5f);
  const float r = (x - float(n) * 0.693359375f) + float(n) * 2.12194440e-4f;
  float e = 1.9875691500e-4f;
  e = e * r + 1.3981999507e-3f;
  e = e * r + 8.3334519073e-3f;
  e = e * r + 4.1665795894e-2f;
  e = e * r + 1.6666665459e-1f;
  e = e * r + 5.0000001201e-1f;
  e = e * r * r + r + 1.0f;
  const std::int32_t bits = (n + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return e * scale;
}

template <typename Real>
inline void softmax(std::int32_t count, const Real *scores, Real *shares) {
  Real largest = -std::numeric_limits<Real>::infinity(), total = 0;
#pragma omp simd reduction(max : largest)
  for (std::int32_t k = 0; k < count; ++k) largest = std::max(largest, scores[k]);
#pragma omp simd reduction(+ : total)
  for (std::int32_t k = 0; k < count; ++k) {
    shares[k] = exponential(scores[k] - largest);
    total += shares[k];
  }
  const Real share = 1 / total;
#pragma omp simd
  for (std::int32_t k = 0; k < count; ++k) shares[k] *= share;
}

template <typename Real>
void attend(const Pairs &p, std::int64_t channels, const Real *scores, const Real *v, Real *shares, Real *out) {
  for_rows(p, [&](const Row &row, int) {
    for (std::int64_t h = 0; h < p.heads; ++h) softmax(row.degree, row.values(scores, h), row.values(shares, h));
    for_pieces<Real>(channels, [&](std::int64_t first, auto width) {
      Piece<Real, width> total;
      for (std::int64_t h = 0; h < p.heads; ++h) {
        const auto of_head = weighted_sum<Real, width>(row.degree, row.values(shares, h), [&](std::int32_t k) {
          return v + row.other(k, h, channels) + first;
        });
        for (int block = 0; block < total.blocks; ++block) total.of[block] += of_head.of[block];
      }
      for (auto &block : total.of) block /= Real(p.heads);
      total.store(out + row.i * channels + first);
    });
  });
}

template <typename Real>
void attend_backward(const Pairs &p, std::int64_t channels, const Real *shares, const Real *v, const Real *grad,
                     Real *grad_scores, Real *grad_v) {
  for_rows(p, [&](const Row &row, int) {
    static thread_local Buffer<Real> buffer;
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const Real *share = row.values(shares, h);
      Real *by_score = row.values(grad_scores, h);
      inner_products(row.degree, channels, grad + row.i * channels,
                     [&](std::int32_t k) { return v + row.other(k, h, channels); }, by_score);
      Real mean = 0;
#pragma omp simd reduction(+ : mean)
      for (std::int32_t k = 0; k < row.degree; ++k) mean += share[k] * by_score[k];
#pragma omp simd
      for (std::int32_t k = 0; k < row.degree; ++k) by_score[k] = share[k] * (by_score[k] - mean) / Real(p.heads);
      const Real *weights = row.reversed(shares, h, buffer);
      for_pieces<Real>(channels, [&](std::int64_t first, auto width) {
        auto sum = weighted_sum<Real, width>(row.degree, weights, [&](std::int32_t k) {
          return grad + p.indices[row.start + k] * channels + first;
        });
        for (auto &block : sum.of) block /= Real(p.heads);
        sum.store(grad_v + row.own(h, channels) + first);
      });
    }
  });
}

template <typename Real>
void hadamard_gradient(const Pairs &p, std::int64_t channels, int sign, const Real *b, const Real *c, const Real *g,
                       const Real *h, Real *out) {
  const std::int64_t alpha = p.heads - 1;
  for_rows(p, [&](const Row &row, int) {
    static thread_local Buffer<Real> products;
    products.resize(row.degree);
    const std::int32_t *neighbours = p.indices + row.start;
    const Real *values = b + row.start;
    Real *total = out + row.start;
    std::fill_n(total, row.degree, Real(0));
    for (std::int64_t rho = alpha; rho > 0; --rho) {  // by Horner's rule in b
      inner_products(row.degree, channels, g + row.own(rho, channels),
                     [&](std::int32_t k) { return h + row.other(k, rho, channels); }, products.data());
      const Real factor = Real(sign < 0 && rho % 2 ? -rho : rho) * c[row.i * alpha + rho - 1];
      for (std::int32_t k = 0; k < row.degree; ++k)
        total[k] = total[k] * values[k] + factor * c[neighbours[k] * alpha + rho - 1] * products[k];
    }
  });
}

}  // namespace

template <typename Real>
PairKernels<Real> pair_kernels() {
  return {dot<Real>,    sum<Real>,             additive<Real>,       additive_backward<Real>,
          attend<Real>, attend_backward<Real>, hadamard_gradient<Real>};
}
template PairKernels<float> pair_kernels();
template PairKernels<double> pair_kernels();

}  // namespace S2GNN_VARIANT
}  // namespace s2gnn
