#include "CpuMatmul.h"

#include <dnnl.h>
#include <dnnl_debug.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

namespace tpsp::rt {

template <>
Status Gemm<float>::run(const float *a, const float *b, float *c) const {
  dnnl_status_t status =
      dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, alpha,
                 a, lda, b, ldb, beta, c, ldc);
  if (status == dnnl_success)
    return {};
  return {TPSP_RT_INTERNAL,
          fmt::format("oneDNN's sgemm failed: {}", dnnl_status2str(status))};
}

static constexpr int64_t blockK = 64, blockN = 256;

/// C[:, j0..j1] += alpha op(A)[:, k0..k1] op(B)[k0..k1, j0..j1]. The block of B
/// is copied, so that it is contiguous however B is stored.
static void addBlock(const Gemm<double> &of, const double *a, const double *b,
                     double *c, int64_t k0, int64_t k1, int64_t j0,
                     int64_t j1) {
  double panel[blockK * blockN];
  int64_t strideK = of.transposeB ? 1 : of.ldb;
  int64_t strideJ = of.transposeB ? of.ldb : 1;
  for (int64_t at = k0; at < k1; ++at)
    for (int64_t j = j0; j < j1; ++j)
      panel[(at - k0) * blockN + j - j0] = b[at * strideK + j * strideJ];
  for (int64_t i = 0; i < of.m; ++i)
    for (int64_t at = k0; at < k1; ++at) {
      double factor =
          of.alpha * (of.transposeA ? a[at * of.lda + i] : a[i * of.lda + at]);
      const double *from = panel + (at - k0) * blockN;
      double *to = c + i * of.ldc + j0;
      for (int64_t j = 0; j < j1 - j0; ++j)
        to[j] += factor * from[j];
    }
}

/// Plain blocked loops. f64 is for checking, not for speed, and oneDNN has no
/// f64 matmul for CPUs.
template <>
Status Gemm<double>::run(const double *a, const double *b, double *c) const {
  for (int64_t i = 0; i < m; ++i)
    for (double *at = c + i * ldc, *end = at + n; at < end; ++at)
      *at = beta == 0 ? 0 : *at * beta;
  int64_t blocks = (n + blockN - 1) / blockN;
#pragma omp parallel for if (blocks > 1 && !omp_in_parallel())
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t begin = block * blockN, end = std::min(begin + blockN, n);
    for (int64_t from = 0; from < k; from += blockK)
      addBlock(*this, a, b, c, from, std::min(from + blockK, k), begin, end);
  }
  return {};
}

namespace {

template <typename T> class GemmMatmul final : public PreparedMatmul {
public:
  GemmMatmul(const MatmulCommand &c, LeadingDimensions ld, int threads)
      : walk(c, threads),
        adds(c.adds()), product{c.m,  c.n,  c.k,          ld.a,
                                ld.b, ld.c, c.transposeA, c.transposeB} {}

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &) override {
    auto *A = reinterpret_cast<const T *>(a);
    auto *B = reinterpret_cast<const T *>(b);
    auto *C = reinterpret_cast<T *>(c);
    return walk.forEachPoint([&](int, MatmulOffsets point) -> Status {
      Gemm<T> product = this->product;
      for (int64_t i = 0; i < walk.steps; ++i) {
        MatmulOffsets at = walk.step(point, i);
        product.beta = adds || i > 0 ? 1 : 0;
        TPSP_TRY(product.run(A + at.a, B + at.b, C + at.c));
      }
      return {};
    });
  }

private:
  MatmulWalk walk;
  bool adds;
  Gemm<T> product;
};

} // namespace

template <typename T>
Status prepareGemm(const MatmulCommand &command, int threads,
                   std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<GemmMatmul<T>>(command, LeadingDimensions(command),
                                        threads);
  return {};
}

template Status prepareGemm<float>(const MatmulCommand &, int,
                                   std::unique_ptr<PreparedMatmul> &);
template Status prepareGemm<double>(const MatmulCommand &, int,
                                    std::unique_ptr<PreparedMatmul> &);

} // namespace tpsp::rt
