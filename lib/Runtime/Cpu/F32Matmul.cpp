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
    dnnl_status_t status = dnnl_sgemm(
        command.transposeA ? 'T' : 'N', command.transposeB ? 'T' : 'N',
        command.m, command.n, command.k, /*alpha=*/1.0f, a, ld.a, b, ld.b,
        /*beta=*/add ? 1.0f : 0.0f, c, ld.c);
    if (status == dnnl_success)
      return {};
    return {TPSP_RT_INTERNAL,
            fmt::format("oneDNN's sgemm failed: {}", dnnl_status2str(status))};
  }

  MatmulCommand command;
  MatmulWalk walk;
  LeadingDimensions ld;
};

} // namespace

Status prepareF32Matmul(const MatmulCommand &command, int threads,
                        std::unique_ptr<PreparedMatmul> &out) {
  out = std::make_unique<F32Matmul>(command, threads);
  return {};
}

} // namespace tpsp::rt
