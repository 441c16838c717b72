#include "CpuMatmul.h"

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
        addProduct(A + at.a, B + at.b, C + at.c);
      }
      return {};
    });
  }

private:
  void clear(double *c) const {
    for (int64_t i = 0; i < command.m; ++i)
      std::fill_n(c + i * ld.c, command.n, 0.0);
  }

  void addProduct(const double *a, const double *b, double *c) const {
    int64_t blocks = (command.n + blockN - 1) / blockN;
#pragma omp parallel for if (walk.threads == 1)
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t begin = block * blockN, end = std::min(begin + blockN, command.n);
      for (int64_t k = 0; k < command.k; k += blockK)
        addBlock(a, b, c, k, std::min(k + blockK, command.k), begin, end);
    }
  }

  /// C[:, j0..j1] += A[:, k0..k1] B[k0..k1, j0..j1], with the block of B copied
  /// to be contiguous whichever way it is stored.
  void addBlock(const double *a, const double *b, double *c, int64_t k0,
                int64_t k1, int64_t j0, int64_t j1) const {
    double panel[blockK * blockN];
    int64_t strideK = command.transposeB ? 1 : ld.b;
    int64_t strideJ = command.transposeB ? ld.b : 1;
    for (int64_t k = k0; k < k1; ++k)
      for (int64_t j = j0; j < j1; ++j)
        panel[(k - k0) * blockN + j - j0] = b[k * strideK + j * strideJ];
    for (int64_t i = 0; i < command.m; ++i)
      for (int64_t k = k0; k < k1; ++k) {
        double factor = command.transposeA ? a[k * ld.a + i] : a[i * ld.a + k];
        const double *from = panel + (k - k0) * blockN;
        double *to = c + i * ld.c + j0;
        for (int64_t j = 0; j < j1 - j0; ++j)
          to[j] += factor * from[j];
      }
  }

  MatmulCommand command;
  MatmulWalk walk;
  LeadingDimensions ld;
};

} // namespace

Status prepareF64Matmul(const MatmulCommand &command, int threads,
                        std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<F64Matmul>(command, threads);
  return {};
}

} // namespace tpsp::rt
