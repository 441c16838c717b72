#include "CpuMatmul.h"

#include <omp.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

constexpr int64_t blockK = 64, blockN = 256;

/// Plain blocked loops: f64 serves for checking, not for speed, and oneDNN has
/// no f64 matmul for CPUs.
class F64Matmul final : public PreparedMatmul {
public:
  F64Matmul(const MatmulCommand &command, int threads)
      : command(command), walk(command, threads), ld(command) {}

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &) override {
    auto *A = reinterpret_cast<const double *>(a);
    auto *B = reinterpret_cast<const double *>(b);
    auto *C = reinterpret_cast<double *>(c);
    return walk.forEachPoint([&](int, MatmulOffsets point) -> Status {
      clear(C + point.c);
      for (int64_t i = 0; i < walk.steps; ++i) {
        MatmulOffsets at = walk.step(point, i);
        Dgemm{command.m, command.n, command.k,          ld.a,
              ld.b,      ld.c,      command.transposeA, command.transposeB}
            .add(A + at.a, B + at.b, C + at.c);
      }
      return {};
    });
  }

private:
  void clear(double *c) const {
    for (int64_t i = 0; i < command.m; ++i)
      std::fill_n(c + i * ld.c, command.n, 0.0);
  }

  MatmulCommand command;
  MatmulWalk walk;
  LeadingDimensions ld;
};

} // namespace

void Dgemm::add(const double *a, const double *b, double *c) const {
  int64_t blocks = (n + blockN - 1) / blockN;
#pragma omp parallel for if (!omp_in_parallel())
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t begin = block * blockN, end = std::min(begin + blockN, n);
    for (int64_t from = 0; from < k; from += blockK)
      addBlock(a, b, c, from, std::min(from + blockK, k), begin, end);
  }
}

/// C[:, j0..j1] += A[:, k0..k1] B[k0..k1, j0..j1], with the block of B copied
/// to be contiguous whichever way it is stored.
void Dgemm::addBlock(const double *a, const double *b, double *c, int64_t k0,
                     int64_t k1, int64_t j0, int64_t j1) const {
  double panel[blockK * blockN];
  int64_t strideK = transposeB ? 1 : ldb, strideJ = transposeB ? ldb : 1;
  for (int64_t at = k0; at < k1; ++at)
    for (int64_t j = j0; j < j1; ++j)
      panel[(at - k0) * blockN + j - j0] = b[at * strideK + j * strideJ];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t at = k0; at < k1; ++at) {
      double factor = transposeA ? a[at * lda + i] : a[i * lda + at];
      const double *from = panel + (at - k0) * blockN;
      double *to = c + i * ldc + j0;
      for (int64_t j = 0; j < j1 - j0; ++j)
        to[j] += factor * from[j];
    }
}

Status prepareF64Matmul(const MatmulCommand &command, int threads,
                        std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<F64Matmul>(command, threads);
  return {};
}

} // namespace tpsp::rt
