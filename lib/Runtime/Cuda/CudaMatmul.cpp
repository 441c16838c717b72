#include "CudaMatmul.h"

#include "CublasDescriptors.h"

#include "tpsp/Runtime/ElementType.h"

#include <fmt/format.h>

namespace tpsp::rt {
namespace {

/// Per rank and stream; what NVIDIA recommends for Hopper.
constexpr int64_t workspaceBytes = 32 << 20;

/// f32 sums of a batch that are held at a time.
constexpr int64_t maxSumBytes = 64 << 20;

/// Extents that a library call takes.
constexpr int64_t maxExtent = INT32_MAX;

struct MatmulTypes {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};

/// f32 stays f32: without CUBLAS_COMPUTE_32F_FAST_TF32 no operand is cut.
bool typesOf(int64_t dtype, MatmulTypes &out) {
  if (dtype == TPSP_RT_F32)
    out = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  else if (dtype == TPSP_RT_BF16)
    out = {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  else if (dtype == TPSP_RT_F16)
    out = {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  else if (dtype == TPSP_RT_F64)
    out = {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  else
    return false;
  return true;
}

/// Points of a loop that are one library call.
struct StridedBatch {
  MatmulLoop loop;
  /// The other loops.
  std::vector<MatmulLoop> rest;
};

/// The longest loop that `maxPoints` allows.
StridedBatch chooseBatch(const std::vector<MatmulLoop> &loops,
                         int64_t maxPoints) {
  StridedBatch result{{}, loops};
  size_t best = loops.size();
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].extent <= maxPoints &&
        (best == loops.size() || loops[i].extent > loops[best].extent))
      best = i;
  if (best == loops.size())
    return result;
  result.loop = loops[best];
  result.rest.erase(result.rest.begin() + best);
  return result;
}

/// A sum over nothing: zeroes C.
class ZeroMatmul final : public CudaMatmul {
public:
  explicit ZeroMatmul(const MatmulCommand &command)
      : command(command), pitch(LeadingDimensions(command).c) {}

  Status run(const std::byte *, const std::byte *, std::byte *c,
             CudaStream &stream) override {
    size_t width = size_t(elementBytes(command.dtype));
    if (command.m == 0 || command.n == 0)
      return {};
    for (int64_t i = 0; i < pointsOf(command.batch); ++i)
      TPSP_CUDA(cudaMemset2DAsync,
                c + offsetsAt(command.batch, i, {}).c * int64_t(width),
                size_t(pitch) * width, 0, size_t(command.n) * width,
                size_t(command.m), stream.get());
    return {};
  }

private:
  const MatmulCommand command;
  const int64_t pitch;
};

class CublasMatmul final : public CudaMatmul {
public:
  CublasMatmul(const MatmulCommand &command, const CublasHandle &handle,
               const OwnKernels &kernels)
      : command(command), handle(handle), kernels(kernels),
        width(elementBytes(command.dtype)), steps(pointsOf(command.accumulate)),
        batch(chooseBatch(command.batch, maxPoints())),
        points(pointsOf(batch.rest)) {}

  Status prepare(const MatmulTypes &types, const std::byte *a,
                 const std::byte *b, const std::byte *c);
  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             CudaStream &stream) override;

private:
  bool sumsApart() const { return halfFloat(command.dtype) && steps > 1; }
  int64_t pointElements() const { return command.m * command.n; }
  int64_t maxPoints() const {
    if (!sumsApart())
      return maxExtent;
    return std::max<int64_t>(1, maxSumBytes / 4 / pointElements());
  }

  Status describe(const MatmulTypes &types);
  Status chooseAlgorithm(const std::byte *a, const std::byte *b,
                         const std::byte *c);
  uint32_t alignment(const std::byte *start, int64_t MatmulLoop::*stride) const;
  Status multiply(const std::byte *a, const std::byte *b, void *c, bool add,
                  CudaStream &stream) const;
  Status round(const std::byte *sums, std::byte *c, CudaStream &stream) const;

  const MatmulCommand command;
  const CublasHandle &handle;
  const OwnKernels &kernels;
  const int64_t width, steps;
  const StridedBatch batch;
  const int64_t points;
  MatmulDescriptor descriptor;
  MatrixLayout layoutA, layoutB, layoutC;
  cublasLtMatmulAlgo_t algorithm;
};

Status CublasMatmul::prepare(const MatmulTypes &types, const std::byte *a,
                             const std::byte *b, const std::byte *c) {
  TPSP_TRY(describe(types));
  return chooseAlgorithm(a, b, c);
}

Status CublasMatmul::describe(const MatmulTypes &types) {
  const MatmulCommand &m = command;
  LeadingDimensions ld(m);
  TPSP_TRY(descriptor.create(types.compute, types.scale, m.transposeB,
                             m.transposeA));
  int32_t count = int32_t(batch.loop.extent);
  auto layout = [&](MatrixLayout &out, bool transposed, int64_t rows,
                    int64_t columns, int64_t pitch, int64_t stride) {
    // A row of ours is a column of cuBLASLt's.
    return out.create(types.element, transposed ? rows : columns,
                      transposed ? columns : rows, pitch, count, stride);
  };
  TPSP_TRY(layout(layoutB, m.transposeB, m.k, m.n, ld.b, batch.loop.strideB));
  TPSP_TRY(layout(layoutA, m.transposeA, m.m, m.k, ld.a, batch.loop.strideA));
  if (sumsApart())
    return layoutC.create(CUDA_R_32F, m.n, m.m, m.n, count, pointElements());
  return layout(layoutC, false, m.m, m.n, ld.c, batch.loop.strideC);
}

/// The power of two, at most 256, that divides the addresses of all calls.
uint32_t CublasMatmul::alignment(const std::byte *start,
                                 int64_t MatmulLoop::*stride) const {
  uint64_t all = reinterpret_cast<uintptr_t>(start) | 256;
  for (const auto *loops : {&batch.rest, &command.accumulate})
    for (const MatmulLoop &loop : *loops)
      all |= uint64_t(loop.*stride * width);
  return uint32_t(all & (~all + 1));
}

Status CublasMatmul::chooseAlgorithm(const std::byte *a, const std::byte *b,
                                     const std::byte *c) {
  MatmulPreference preference;
  TPSP_TRY(preference.create());
  TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                          uint64_t(workspaceBytes)));
  // The other schemes add up parts of a sum in 16 bits where that is the
  // result.
  TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                          uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  uint32_t ofC = sumsApart() ? 256 : alignment(c, &MatmulLoop::strideC);
  // cuBLASLt's first operand is our second.
  TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                          alignment(b, &MatmulLoop::strideB)));
  TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          alignment(a, &MatmulLoop::strideA)));
  TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, ofC));
  TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, ofC));
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  TPSP_CUBLAS(cublasLtMatmulAlgoGetHeuristic, handle.get(), descriptor.get(),
              layoutB.get(), layoutA.get(), layoutC.get(), layoutC.get(),
              preference.get(), 1, &found, &count);
  if (count == 0)
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("cuBLASLt has no algorithm for {}x{}x{} {}", command.m,
                        command.n, command.k, elementName(command.dtype))};
  TPSP_TRY(checkCublas(found.state, "cublasLtMatmulAlgoGetHeuristic"));
  algorithm = found.algo;
  return {};
}

Status CublasMatmul::run(const std::byte *a, const std::byte *b, std::byte *c,
                         CudaStream &stream) {
  if (!stream.matmulWorkspace.data())
    TPSP_TRY(stream.matmulWorkspace.allocate(workspaceBytes,
                                             "cuBLASLt's workspace"));
  std::byte *sums = nullptr;
  if (sumsApart())
    TPSP_TRY(
        stream.scratch.reserve(batch.loop.extent * pointElements() * 4, sums));
  for (int64_t i = 0; i < points; ++i) {
    MatmulOffsets point = offsetsAt(batch.rest, i, {});
    std::byte *target = c + point.c * width;
    for (int64_t step = 0; step < steps; ++step) {
      MatmulOffsets at = offsetsAt(command.accumulate, step, point);
      TPSP_TRY(multiply(a + at.a * width, b + at.b * width,
                        sums ? sums : target, /*add=*/step > 0, stream));
    }
    if (sums)
      TPSP_TRY(round(sums, target, stream));
  }
  return {};
}

Status CublasMatmul::multiply(const std::byte *a, const std::byte *b, void *c,
                              bool add, CudaStream &stream) const {
  // Of the scale's type.
  double one64 = 1, beta64 = add ? 1 : 0;
  float one32 = 1, beta32 = add ? 1 : 0;
  bool isWide = command.dtype == TPSP_RT_F64;
  const void *alpha = isWide ? static_cast<const void *>(&one64) : &one32;
  const void *beta = isWide ? static_cast<const void *>(&beta64) : &beta32;
  TPSP_CUBLAS(cublasLtMatmul, handle.get(), descriptor.get(), alpha, b,
              layoutB.get(), a, layoutA.get(), beta, c, layoutC.get(), c,
              layoutC.get(), &algorithm, stream.matmulWorkspace.data(),
              size_t(workspaceBytes), stream.get());
  return {};
}

Status CublasMatmul::round(const std::byte *sums, std::byte *c,
                           CudaStream &stream) const {
  return kernels.round(command.dtype,
                       {c, reinterpret_cast<const float *>(sums),
                        batch.loop.extent, command.m, command.n,
                        batch.loop.strideC, LeadingDimensions(command).c},
                       stream.get());
}

bool isEmptySum(const MatmulCommand &c) {
  return c.m == 0 || c.n == 0 || c.k == 0 || pointsOf(c.batch) == 0 ||
         pointsOf(c.accumulate) == 0;
}

} // namespace

Status prepareCudaMatmul(const MatmulCommand &command,
                         const CublasHandle &handle, const OwnKernels &kernels,
                         const std::byte *a, const std::byte *b,
                         const std::byte *c, std::unique_ptr<CudaMatmul> &out) {
  MatmulTypes types;
  if (!typesOf(command.dtype, types))
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a matmul of {}; expected f32, bf16, f16 or f64",
                        elementName(command.dtype))};
  if (isEmptySum(command)) {
    out = std::make_unique<ZeroMatmul>(command);
    return {};
  }
  auto prepared = std::make_unique<CublasMatmul>(command, handle, kernels);
  TPSP_TRY(prepared->prepare(types, a, b, c));
  out = std::move(prepared);
  return {};
}

} // namespace tpsp::rt
