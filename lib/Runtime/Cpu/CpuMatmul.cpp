#include "CpuMatmul.h"

#include "CpuStream.h"
#include "MatmulWithEpilogue.h"
#include "SharedOperandMatmul.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>
#include <omp.h>

#include <cstring>

namespace tpsp::rt {
namespace {

/// A point of more FLOPs than this uses all threads, since the library splits
/// it well.
constexpr double largePointFlops = 5e8;

/// A sum without terms: writes zeros to C, or leaves it.
class EmptySum final : public PreparedMatmul {
public:
  EmptySum(const MatmulCommand &command)
      : walk(command, 1), rows(command.adds() ? 0 : command.m),
        rowBytes(command.n * elementBytes(command.dtype)),
        stride(LeadingDimensions(command).c * elementBytes(command.dtype)),
        width(elementBytes(command.dtype)) {}

  Status run(const std::byte *, const std::byte *, std::byte *c,
             ScratchBuffer &) override {
    return walk.forEachPoint([&](int, MatmulOffsets point) -> Status {
      for (int64_t i = 0; i < rows; ++i)
        std::memset(c + point.c * width + i * stride, 0, rowBytes);
      return {};
    });
  }

private:
  MatmulWalk walk;
  int64_t rows, rowBytes, stride, width;
};

} // namespace

int threadsOver(int64_t products, double flops, int available) {
  return products >= available && flops < largePointFlops ? available : 1;
}

int teamThread() { return omp_get_thread_num(); }

MatmulWalk::MatmulWalk(const MatmulCommand &command, int available)
    : batch(command.batch), accumulate(command.accumulate),
      points(pointsOf(batch)), steps(pointsOf(accumulate)) {
  threads = threadsOver(points, 2.0 * command.m * command.n * command.k * steps,
                        available);
}

Status prepareMatmul(const MatmulCommand &command, int threads,
                     std::unique_ptr<PreparedMatmul> &out) {
  MatmulWalk walk(command, threads);
  if (command.k == 0 || walk.steps == 0 || walk.points == 0 || command.m == 0 ||
      command.n == 0) {
    out = std::make_unique<EmptySum>(command);
    return {};
  }
  if (std::optional<MergedRows> merged = mergeRows(command)) {
    std::unique_ptr<PreparedMatmul> product;
    TPSP_TRY(prepareMatmul(merged->command, threads, product));
    out = runMerged(command, *merged, std::move(product));
    return {};
  }
  switch (command.dtype) {
  case TPSP_RT_F32:
    return prepareGemm<float>(command, threads, out);
  case TPSP_RT_BF16:
  case TPSP_RT_F16:
    return prepareHalfMatmul(command, threads, out);
  case TPSP_RT_F64:
    return prepareGemm<double>(command, threads, out);
  default:
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a matmul of {}; expected f32, bf16, f16 or f64",
                        elementName(command.dtype))};
  }
}

Status CpuStream::matmulWithEpilogue(Call &call, const MatmulCommand &command) {
  if (!call.state) {
    std::unique_ptr<MatmulWithEpilogue> prepared;
    TPSP_TRY(prepareMatmulWithEpilogue(command, threads, prepared));
    prepared->buffers = addresses(call);
    call.state = std::move(prepared);
  }
  auto &prepared = static_cast<MatmulWithEpilogue &>(*call.state);
  return prepared.run(prepared.buffers, scratch);
}

Status CpuStream::matmul(Call &call, const MatmulCommand &command) {
  if (!command.epilogue.empty() && !command.adds())
    return matmulWithEpilogue(call, command);
  if (!call.state) {
    std::unique_ptr<PreparedMatmul> prepared;
    TPSP_TRY(prepareMatmul(command, threads, prepared));
    call.state = std::move(prepared);
  }
  return static_cast<PreparedMatmul &>(*call.state)
      .run(buffer(call, 0), buffer(call, 1), buffer(call, 2), scratch);
}

} // namespace tpsp::rt
