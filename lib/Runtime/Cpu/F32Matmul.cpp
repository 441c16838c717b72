#include "CpuMatmul.h"

#include <dnnl.h>
#include <dnnl_debug.h>
#include <fmt/format.h>

namespace tpsp::rt {
namespace {

class F32Matmul final : public PreparedMatmul {
public:
  F32Matmul(const MatmulCommand &command, int threads)
      : command(command), walk(command, threads), ld(command) {}

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &) override {
    auto *A = reinterpret_cast<const float *>(a);
    auto *B = reinterpret_cast<const float *>(b);
    auto *C = reinterpret_cast<float *>(c);
    return walk.forEachPoint([&](int, MatmulOffsets point) -> Status {
      for (int64_t i = 0; i < walk.steps; ++i) {
        MatmulOffsets at = walk.step(point, i);
        TPSP_TRY(multiply(A + at.a, B + at.b, C + at.c, /*add=*/i > 0));
      }
      return {};
    });
  }

private:
  Status multiply(const float *a, const float *b, float *c, bool add) const {
    return Sgemm{command.m,
                 command.n,
                 command.k,
                 ld.a,
                 ld.b,
                 ld.c,
                 command.transposeA,
                 command.transposeB,
                 /*alpha=*/1,
                 /*beta=*/add ? 1.0f : 0.0f}
        .run(a, b, c);
  }

  MatmulCommand command;
  MatmulWalk walk;
  LeadingDimensions ld;
};

} // namespace

Status Sgemm::run(const float *a, const float *b, float *c) const {
  dnnl_status_t status =
      dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, alpha,
                 a, lda, b, ldb, beta, c, ldc);
  if (status == dnnl_success)
    return {};
  return {TPSP_RT_INTERNAL,
          fmt::format("oneDNN's sgemm failed: {}", dnnl_status2str(status))};
}

Status prepareF32Matmul(const MatmulCommand &command, int threads,
                        std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<F32Matmul>(command, threads);
  return {};
}

} // namespace tpsp::rt
