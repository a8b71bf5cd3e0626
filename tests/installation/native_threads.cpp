// Every kernel that divides its work among threads, for ThreadSanitizer: a race ends the process, and so does a result
// that depends on the number of threads. It needs neither Python nor OpenMP's runtime, which is not compiled with the
// sanitizer, so that all its locks would look like races: parallel regions are run by std::thread.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "kernel.hpp"

namespace {

constexpr int kThreads = 4;
constexpr std::int64_t kNodes = 257, kHeads = 3;
thread_local int number_in_team = 0, team_size = 1;

}  // namespace

// What GCC calls in `#pragma omp parallel for schedule(static)`.
extern "C" {
void GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned) {
  const auto run = [=](int number) {
    number_in_team = number;
    team_size = int(threads);
    region(data);
    number_in_team = 0;
    team_size = 1;
  };
  std::vector<std::thread> others;
  for (int number = 1; number < int(threads); ++number) others.emplace_back(run, number);
  run(0);
  for (auto &other : others) other.join();
}
int omp_get_thread_num() { return number_in_team; }
int omp_get_num_threads() { return team_size; }
}

namespace {

std::mt19937 generator(0);
int checked = 0;

template <typename Real>
std::vector<Real> random_numbers(std::int64_t count) {
  std::uniform_real_distribution<Real> between(Real(0.1), Real(1));
  std::vector<Real> numbers(count);
  for (auto &number : numbers) number = between(generator);
  return numbers;
}

// A hub, random neighbours, and every tenth node isolated; symmetric and sorted.
struct Pattern {
  std::vector<std::int32_t> indptr = {0}, indices, reverse;

  Pattern() {
    std::vector<std::vector<char>> joined(kNodes, std::vector<char>(kNodes));
    std::bernoulli_distribution edge(0.05);
    for (std::int64_t i = 0; i < kNodes; ++i)
      for (std::int64_t j = i + 1; j < kNodes; ++j)
        joined[i][j] = joined[j][i] = i % 10 && j % 10 && (i == 1 || edge(generator));
    std::vector<std::vector<std::int32_t>> place(kNodes, std::vector<std::int32_t>(kNodes));
    for (std::int64_t i = 0; i < kNodes; ++i) {
      for (std::int64_t j = 0; j < kNodes; ++j)
        if (joined[i][j]) {
          place[i][j] = std::int32_t(indices.size());
          indices.push_back(std::int32_t(j));
        }
      indptr.push_back(std::int32_t(indices.size()));
    }
    for (std::int64_t i = 0; i < kNodes; ++i)
      for (std::int32_t e = indptr[i]; e < indptr[i + 1]; ++e) reverse.push_back(place[indices[e]][i]);
  }
  std::int64_t nnz() const { return std::int64_t(indices.size()); }
};

// Calls a kernel with one thread and with several; `sizes` are those of its results.
template <typename Real>
void compare(const char *name, const std::vector<std::int64_t> &sizes,
             const std::function<void(int, std::vector<std::vector<Real>> &)> &call) {
  std::vector<std::vector<Real>> one, several;
  for (std::int64_t size : sizes) one.emplace_back(size);
  several = one;
  call(1, one);
  call(kThreads, several);
  ++checked;
  if (one == several) return;
  std::fprintf(stderr, "%s depends on the number of threads\n", name);
  std::exit(1);
}

template <typename Real>
using Map = void (*)(const s2gnn::Powers<Real> &, const Real *, Real *, std::int64_t);

template <typename Real>
void check_products(const Pattern &g, Map<Real> fan_out, Map<Real> fan_in, Map<Real> branchwise, int alpha,
                    std::int64_t f) {
  auto b = random_numbers<Real>(g.nnz());
  for (std::int64_t e = 0; e < g.nnz(); ++e) b[g.reverse[e]] = b[e];
  const auto c = random_numbers<Real>(kNodes * alpha), t = random_numbers<Real>(kNodes);
  const std::int64_t one = kNodes * f, many = (alpha + 1) * one;
  const auto h = random_numbers<Real>(one), signals = random_numbers<Real>(many);
  for (const std::int64_t tile : {256, 1 << 23}) {
    const auto product = [&](const char *name, Map<Real> kernel, const std::vector<Real> &in, std::int64_t size) {
      compare<Real>(name, {size}, [&](int threads, auto &out) {
        kernel({g.indptr.data(), g.indices.data(), b.data(), c.data(), t.data(), nullptr, kNodes, alpha, 1, threads,
                tile}, in.data(), out[0].data(), f);
      });
    };
    product("fan_out", fan_out, h, many);
    product("fan_in", fan_in, signals, one);
    product("branchwise", branchwise, signals, many);
  }
}

template <typename Real>
void check_pairs(const Pattern &g, const s2gnn::PairKernels<Real> &kernels, std::int64_t f) {
  const std::int64_t signal = kNodes * kHeads * f, value = kHeads * g.nnz(), one = kNodes * f;
  const auto x = random_numbers<Real>(signal), y = random_numbers<Real>(signal), a = random_numbers<Real>(kHeads * f);
  const auto values = random_numbers<Real>(value), grad = random_numbers<Real>(one), b = random_numbers<Real>(g.nnz());
  const auto c = random_numbers<Real>(kNodes * (kHeads - 1));
  const auto pairs = [&](int threads) {
    return s2gnn::Pairs{g.indptr.data(), g.indices.data(), g.reverse.data(), kNodes, g.nnz(), kHeads, threads};
  };
  const Real slope = Real(0.2);
  compare<Real>("dot", {value}, [&](int threads, auto &out) {
    kernels.dot(pairs(threads), f, x.data(), y.data(), out[0].data());
  });
  for (const bool reversed : {false, true})
    compare<Real>("sum", {signal}, [&](int threads, auto &out) {
      kernels.sum(pairs(threads), f, reversed, values.data(), y.data(), out[0].data());
    });
  compare<Real>("additive", {value}, [&](int threads, auto &out) {
    kernels.additive(pairs(threads), f, slope, x.data(), y.data(), a.data(), out[0].data());
  });
  compare<Real>("additive_backward", {signal, signal}, [&](int threads, auto &out) {
    std::vector<Real> by_a(threads * kHeads * f);  // a sum for each thread
    kernels.additive_backward(pairs(threads), f, slope, x.data(), y.data(), a.data(), values.data(), out[0].data(),
                              out[1].data(), by_a.data());
  });
  compare<Real>("attend", {value, one}, [&](int threads, auto &out) {
    kernels.attend(pairs(threads), f, values.data(), x.data(), out[0].data(), out[1].data());
  });
  compare<Real>("attend_backward", {value, signal}, [&](int threads, auto &out) {
    kernels.attend_backward(pairs(threads), f, values.data(), x.data(), grad.data(), out[0].data(), out[1].data());
  });
  compare<Real>("hadamard_gradient", {g.nnz()}, [&](int threads, auto &out) {
    kernels.hadamard_gradient(pairs(threads), f, 1, b.data(), c.data(), x.data(), y.data(), out[0].data());
  });
}

void check_activation(const s2gnn::Variant &kernels, std::int64_t f) {
  constexpr std::int64_t branches = 3;
  const std::int64_t one = kNodes * f, many = branches * one;
  const auto x = random_numbers<float>(many), bias = random_numbers<float>(branches * f);
  const auto mu = random_numbers<float>(branches), grad = random_numbers<float>(one);
  for (const std::uint32_t drop_below : {0u, 1u << 30}) {
    const auto activation = [&](int threads) {
      return s2gnn::Activation{kNodes, branches, f, branches * f, f, drop_below, 1.5f, 7u, threads};
    };
    compare<float>("activate", {many}, [&](int threads, auto &out) {
      kernels.activate(activation(threads), x.data(), bias.data(), out[0].data());
    });
    compare<float>("activate_backward", {many}, [&](int threads, auto &out) {
      kernels.activate_backward(activation(threads), x.data(), x.data(), out[0].data());
    });
    compare<float>("combine", {one}, [&](int threads, auto &out) {
      kernels.combine(activation(threads), x.data(), bias.data(), mu.data(), out[0].data());
    });
    compare<float>("combine_backward", {many, branches * f, branches}, [&](int threads, auto &out) {
      kernels.combine_backward(activation(threads), x.data(), bias.data(), mu.data(), grad.data(), out[0].data(),
                               out[1].data(), out[2].data());
    });
  }
}

}  // namespace

int main() {
  const auto kernels = s2gnn::portable_variant();
  const Pattern g;
  for (const std::int64_t f : {1, 5, 17, 64}) {
    for (const int alpha : {1, 3, 8, 9}) {
      check_products<float>(g, kernels.fan_out32, kernels.fan_in32, kernels.branchwise32, alpha, f);
      check_products<double>(g, kernels.fan_out64, kernels.fan_in64, kernels.branchwise64, alpha, f);
    }
    check_pairs<float>(g, kernels.pairs32, f);
    check_pairs<double>(g, kernels.pairs64, f);
    check_activation(kernels, f);
  }
  std::printf("%s: %d calls with %d threads, no race\n", kernels.name, checked, kThreads);
}
