// What the kernels of one instruction set share: its vectors, and rows divided among threads. Each source file that
// includes this is compiled once for each instruction set, into its own namespace (S2GNN_VARIANT).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

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

template <int Lanes, typename Real = float>
struct Vector {
  typedef Real type __attribute__((vector_size(Lanes * sizeof(Real)), aligned(sizeof(Real)), may_alias));
};
template <typename Real>
struct Vector<1, Real> {
  typedef Real type;
};

template <int Lanes, typename Real>
inline typename Vector<Lanes, Real>::type load(const Real *from) {
  return *reinterpret_cast<const typename Vector<Lanes, Real>::type *>(from);
}

template <int Lanes, typename Real>
inline void store(Real *to, typename Vector<Lanes, Real>::type value) {
  *reinterpret_cast<typename Vector<Lanes, Real>::type *>(to) = value;
}

// An array that grows. Templates of the standard library would be compiled for each instruction set under one name, and
// the linker would keep any of them.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::int64_t size = 0) { resize(size); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { delete[] data_; }
  void resize(std::int64_t size) {  // contents are lost
    if (size <= size_) return;
    delete[] data_;
    data_ = nullptr;
    size_ = 0;  // if there is no memory
    data_ = new T[size];
    size_ = size;
  }
  T *data() { return data_; }
  T &operator[](std::int64_t i) { return data_[i]; }

 private:
  T *data_ = nullptr;
  std::int64_t size_ = 0;
};

// Calls work(thread, begin, end) for contiguous rows of each thread with about the same number of edges (a row costs
// about as much as 8 edges).
template <typename Work>
void for_balanced_rows(const std::int32_t *indptr, std::int64_t n, int threads, const Work &work) {
  const auto cost = [&](std::int64_t row) { return std::int64_t(indptr[row]) + 8 * row; };
  Buffer<std::int64_t> bounds(threads + 1);
  bounds[0] = 0;
  bounds[threads] = n;
  for (int thread = 1; thread < threads; ++thread) {
    const std::int64_t wanted = cost(n) * thread / threads;
    std::int64_t low = bounds[thread - 1], high = n;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (cost(middle) < wanted) low = middle + 1; else high = middle;
    }
    bounds[thread] = low;
  }
  bool out_of_memory = false;  // an exception must not leave the parallel region
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    try {
      work(thread, bounds[thread], bounds[thread + 1]);
    } catch (const std::bad_alloc &) {
#pragma omp atomic write
      out_of_memory = true;
    }
  }
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace
}  // namespace S2GNN_VARIANT
}  // namespace s2gnn
