#include "CudaMatmul.h"

#include "CublasDescriptors.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

namespace tpsp::rt {
namespace {

/// For each rank and stream; NVIDIA's recommendation for Hopper.
constexpr int64_t workspaceBytes = 32 << 20;

/// The largest size of f32 sums of a batch that are held at once.
constexpr int64_t maxSumBytes = 64 << 20;

/// The largest number of batch points in a library call. cuBLASLt's kernels
/// have a block for each point along the third axis of their grid.
constexpr int64_t maxBatch = 65535;

struct MatmulTypes {
  /// The types of the factors, of alpha and beta, and of C.
  cudaDataType_t element, scale, result;
  cublasComputeType_t compute;
};

/// f32 operands keep all their bits, because CUBLAS_COMPUTE_32F_FAST_TF32 is
/// not used.
bool typesOf(const MatmulCommand &command, MatmulTypes &out) {
  if (command.dtype == TPSP_RT_F32)
    out = {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  else if (command.dtype == TPSP_RT_BF16)
    out = {CUDA_R_16BF, CUDA_R_32F, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
  else if (command.dtype == TPSP_RT_F16)
    out = {CUDA_R_16F, CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
  else if (command.dtype == TPSP_RT_F64)
    out = {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  else
    return false;
  if (command.adds()) // products are summed in the type of the scale
    out.result = out.scale;
  return true;
}

int64_t partsOf(int64_t extent, int64_t maxPoints) {
  return (extent + maxPoints - 1) / maxPoints;
}

/// The points of a loop that are one library call: all points, or a part of
/// them.
struct StridedBatch {
  MatmulLoop loop;
  /// The loops around the calls: the other loops and, if there are several
  /// parts, the loop over the parts as the last.
  std::vector<MatmulLoop> rest;
  /// All parts have the same length. So the last part begins this many points
  /// early, and they are computed twice.
  int64_t overlap = 0;

  /// The offsets at which call `index` begins.
  MatmulOffsets start(int64_t index) const {
    MatmulOffsets at = offsetsAt(rest, index, {});
    if (overlap == 0 || (index + 1) % rest.back().extent != 0)
      return at;
    return {at.a - overlap * loop.strideA, at.b - overlap * loop.strideB,
            at.c - overlap * loop.strideC};
  }

  /// Loops whose strides give all differences between the starts of calls.
  std::vector<MatmulLoop> steps() const {
    std::vector<MatmulLoop> result = rest;
    if (overlap != 0) {
      result.push_back(loop);
      result.back().extent = 2;
    }
    return result;
  }
};

/// The number of calls for a loop if none may compute points twice.
int64_t exactPartsOf(int64_t extent, int64_t maxPoints) {
  int64_t parts = partsOf(extent, maxPoints);
  while (parts > 0 && extent % parts != 0)
    ++parts;
  return parts;
}

/// Chooses the loop with the most points in one call. With `once`, no point is
/// computed twice.
StridedBatch chooseBatch(const std::vector<MatmulLoop> &loops,
                         int64_t maxPoints, bool once) {
  StridedBatch result{{}, loops};
  size_t best = 0;
  auto count = [&](const MatmulLoop &loop) {
    return once ? exactPartsOf(loop.extent, maxPoints)
                : partsOf(loop.extent, maxPoints);
  };
  auto inCall = [&](const MatmulLoop &loop) {
    int64_t parts = count(loop);
    return (loop.extent + parts - 1) / parts;
  };
  for (size_t i = 1; i < loops.size(); ++i)
    if (inCall(loops[i]) > inCall(loops[best]))
      best = i;
  if (loops.empty())
    return result;
  MatmulLoop whole = result.loop = loops[best];
  result.rest.erase(result.rest.begin() + int64_t(best));
  int64_t parts = count(whole), points = inCall(whole);
  if (parts == 1)
    return result;
  result.loop.extent = points;
  result.rest.push_back({parts, points * whole.strideA, points * whole.strideB,
                         points * whole.strideC});
  result.overlap = parts * points - whole.extent;
  return result;
}

/// A sum without terms: leaves C, or writes zeros to it, or the epilogue
/// applied to zeros.
class ZeroMatmul final : public CudaMatmul {
public:
  ZeroMatmul(const MatmulCommand &command, const MatmulBuffers &buffers,
             const BuiltinKernels &kernels)
      : command(command), buffers(buffers), kernels(kernels),
        pitch(LeadingDimensions(command).c) {}

  Status run(CudaStream &stream) override {
    CublasEpilogue epilogue(command, buffers);
    if (epilogue.sumsOperand())
      TPSP_TRY(epilogue.sumOperand(kernels, stream));
    if (command.m == 0 || command.n == 0 || command.adds())
      return {};
    for (int64_t i = 0; i < pointsOf(command.batch); ++i) {
      UnfinishedResults zeros;
      zeros.offset = offsetsAt(command.batch, i, {}).c;
      if (epilogue.isEmpty() || epilogue.sumsOperand())
        TPSP_TRY(clear(zeros.offset, stream));
      else
        TPSP_TRY(epilogue.finish(zeros, kernels, stream.get()));
    }
    return {};
  }

private:
  Status clear(int64_t offset, CudaStream &stream) const {
    auto width = size_t(elementBytes(command.dtype));
    TPSP_CUDA(cudaMemset2DAsync, buffers[2] + offset * int64_t(width),
              size_t(pitch) * width, 0, size_t(command.n) * width,
              size_t(command.m), stream.get());
    return {};
  }

  const MatmulCommand command;
  const MatmulBuffers buffers;
  const BuiltinKernels &kernels;
  const int64_t pitch;
};

class CublasMatmul final : public CudaMatmul {
public:
  /// `fused`: cuBLASLt computes the epilogue.
  CublasMatmul(const MatmulCommand &command, const MatmulBuffers &buffers,
               bool fused, const CublasHandle &handle,
               const BuiltinKernels &kernels)
      : command(command), buffers(buffers),
        epilogue(this->command, this->buffers), fused(fused), handle(handle),
        kernels(kernels), width(elementBytes(command.dtype)),
        widthC(elementBytes(command.resultType())),
        steps(pointsOf(command.accumulate)),
        batch(chooseBatch(command.batch, maxPoints(), command.adds())),
        points(pointsOf(batch.rest)) {}

  /// Sets `found` to false if cuBLASLt has no algorithm.
  Status prepare(const MatmulTypes &types, bool &found) {
    TPSP_TRY(describe(types));
    return chooseAlgorithm(found);
  }
  Status run(CudaStream &stream) override {
    if (!stream.matmulWorkspace.data())
      TPSP_TRY(stream.matmulWorkspace.allocate(workspaceBytes,
                                               "cuBLASLt's workspace"));
    if (epilogue.sumsOperand() && !fused)
      TPSP_TRY(epilogue.sumOperand(kernels, stream));
    std::byte *sums = nullptr;
    if (sumsApart())
      TPSP_TRY(
          stream.reserveScratch(batch.loop.extent * pointElements() * 4, sums));
    for (int64_t i = 0; i < points; ++i)
      TPSP_TRY(runPoint(batch.start(i), sums, stream));
    return {};
  }

private:
  /// Whether a kernel finishes the results.
  bool finishes() const {
    return !fused && !epilogue.isEmpty() && !epilogue.sumsOperand();
  }
  bool sumsApart() const {
    return halfFloat(command.resultType()) && (steps > 1 || finishes());
  }
  int64_t pointElements() const { return command.m * command.n; }
  int64_t maxPoints() const {
    if (!sumsApart())
      return maxBatch;
    return std::clamp<int64_t>(maxSumBytes / 4 / pointElements(), 1, maxBatch);
  }

  Status describe(const MatmulTypes &types) {
    TPSP_TRY(descriptor.create(types.compute, types.scale, command.transposeB,
                               command.transposeA));
    if (fused)
      TPSP_TRY(
          epilogue.describe(descriptor, batch.loop.strideC, batch.steps()));
    return describeLayouts(types);
  }

  Status describeLayouts(const MatmulTypes &types) {
    const MatmulCommand &m = command;
    LeadingDimensions ld(m);
    int32_t count = int32_t(batch.loop.extent);
    auto layout = [&](MatrixLayout &out, bool transposed, int64_t rows,
                      int64_t columns, int64_t pitch, int64_t stride) {
      bool isC = &out == &layoutC;
      // A row of tpsp's is a column of cuBLASLt's.
      return out.create(isC ? types.result : types.element,
                        transposed ? rows : columns,
                        transposed ? columns : rows, pitch, count, stride);
    };
    TPSP_TRY(layout(layoutB, m.transposeB, m.k, m.n, ld.b, batch.loop.strideB));
    TPSP_TRY(layout(layoutA, m.transposeA, m.m, m.k, ld.a, batch.loop.strideA));
    if (sumsApart())
      return layoutC.create(CUDA_R_32F, m.n, m.m, m.n, count, pointElements());
    return layout(layoutC, false, m.m, m.n, ld.c, batch.loop.strideC);
  }

  Status chooseAlgorithm(bool &found) {
    MatmulPreference preference;
    TPSP_TRY(setPreference(preference));
    cublasLtMatmulHeuristicResult_t result = {};
    int count = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle.get(), descriptor.get(), layoutB.get(), layoutA.get(),
        layoutC.get(), layoutC.get(), preference.get(), 1, &result, &count);
    found = status == CUBLAS_STATUS_SUCCESS && count > 0 &&
            result.state == CUBLAS_STATUS_SUCCESS;
    // With the epilogue, cuBLASLt may report a missing algorithm as not
    // supported or as invalid. The caller then tries without it.
    if (!fused && status != CUBLAS_STATUS_NOT_SUPPORTED)
      TPSP_TRY(checkCublas(status, "cublasLtMatmulAlgoGetHeuristic"));
    if (!found)
      return {};
    algorithm = result.algo;
    return {};
  }

  Status setPreference(MatmulPreference &preference) const {
    TPSP_TRY(preference.create());
    TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                            uint64_t(workspaceBytes)));
    // The other schemes add up parts of a sum in 16 bits if the result has 16
    // bits.
    TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                            uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
    uint32_t ofC =
        sumsApart() ? 256 : alignment(buffers[2], &MatmulLoop::strideC, widthC);
    // cuBLASLt's first operand is our second.
    TPSP_TRY(
        preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                       alignment(buffers[1], &MatmulLoop::strideB, width)));
    TPSP_TRY(
        preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                       alignment(buffers[0], &MatmulLoop::strideA, width)));
    TPSP_TRY(preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, ofC));
    return preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, ofC);
  }

  /// The largest power of two, at most 256, that divides the addresses of all
  /// calls. `width`: bytes of an element.
  uint32_t alignment(const std::byte *start, int64_t MatmulLoop::*stride,
                     int64_t width) const {
    uint64_t all = reinterpret_cast<uintptr_t>(start) | 256;
    for (const auto &loops : {batch.steps(), command.accumulate})
      for (const MatmulLoop &loop : loops)
        all |= uint64_t(loop.*stride * width);
    return uint32_t(all & (~all + 1));
  }

  Status runPoint(MatmulOffsets point, std::byte *sums, CudaStream &stream) {
    std::byte *target = buffers[2] + point.c * widthC;
    if (fused && points > 1)
      TPSP_TRY(epilogue.moveTo(point.c, descriptor));
    for (int64_t step = 0; step < steps; ++step) {
      MatmulOffsets at = offsetsAt(command.accumulate, step, point);
      TPSP_TRY(multiply(buffers[0] + at.a * width, buffers[1] + at.b * width,
                        sums ? sums : target,
                        /*add=*/step > 0 || command.adds(), stream));
    }
    if (finishes())
      return finish(point, sums, stream);
    return sums ? round(sums, target, stream) : Status();
  }

  Status multiply(const std::byte *a, const std::byte *b, void *c, bool add,
                  CudaStream &stream) const {
    // Constants in the scale's type.
    double one64 = 1, beta64 = add ? 1 : 0;
    float one32 = 1, beta32 = add ? 1 : 0;
    bool isWide = command.dtype == TPSP_RT_F64;
    const void *alpha = isWide ? static_cast<const void *>(&one64) : &one32;
    const void *beta = isWide ? static_cast<const void *>(&beta64) : &beta32;
    Status status = checkCublas(
        cublasLtMatmul(handle.get(), descriptor.get(), alpha, b, layoutB.get(),
                       a, layoutA.get(), beta, c, layoutC.get(), c,
                       layoutC.get(), &algorithm, stream.matmulWorkspace.data(),
                       size_t(workspaceBytes), stream.get()),
        "cublasLtMatmul");
    if (status.ok())
      return {};
    return {status.code(),
            status.message() + "; with CUBLASLT_LOG_LEVEL=1 it says why"};
  }

  /// Finishes results in C, or f32 sums in scratch memory.
  Status finish(MatmulOffsets point, const std::byte *sums,
                CudaStream &stream) const {
    UnfinishedResults results{point.c,
                              buffers[2] + point.c * width,
                              batch.loop.extent,
                              batch.loop.strideC,
                              batch.loop.strideC,
                              LeadingDimensions(command).c};
    if (sums) {
      results.source = sums;
      results.sourceBlock = pointElements();
      results.sourceRow = command.n;
    }
    return epilogue.finish(results, kernels, stream.get());
  }

  Status round(const std::byte *sums, std::byte *c, CudaStream &stream) const {
    return kernels.round(command.dtype,
                         {c, reinterpret_cast<const float *>(sums),
                          batch.loop.extent, command.m, command.n,
                          batch.loop.strideC, LeadingDimensions(command).c},
                         stream.get());
  }

  const MatmulCommand command;
  const MatmulBuffers buffers;
  const CublasEpilogue epilogue;
  const bool fused;
  const CublasHandle &handle;
  const BuiltinKernels &kernels;
  const int64_t width, widthC, steps;
  const StridedBatch batch;
  const int64_t points;
  MatmulDescriptor descriptor;
  MatrixLayout layoutA, layoutB, layoutC;
  cublasLtMatmulAlgo_t algorithm;
};

bool isEmptySum(const MatmulCommand &c) {
  return c.m == 0 || c.n == 0 || c.k == 0 || pointsOf(c.batch) == 0 ||
         pointsOf(c.accumulate) == 0;
}

} // namespace

Status beginCudaMatmul(const MatmulCommand &command,
                       const MatmulBuffers &buffers, const CublasHandle &handle,
                       const BuiltinKernels &kernels, CudaStream &stream,
                       std::unique_ptr<CudaMatmul> &out) {
  MatmulTypes types;
  if (!typesOf(command, types))
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a matmul of {}; expected f32, bf16, f16 or f64",
                        elementName(command.dtype))};
  if (isEmptySum(command)) {
    out = std::make_unique<ZeroMatmul>(command, buffers, kernels);
    return out->run(stream);
  }
  bool canFuse = CublasEpilogue(command, buffers).fitsLibrary();
  for (bool fused : {true, false}) {
    if (fused && !canFuse)
      continue;
    auto prepared = std::make_unique<CublasMatmul>(command, buffers, fused,
                                                   handle, kernels);
    bool found = false;
    TPSP_TRY(prepared->prepare(types, found));
    if (!found)
      continue;
    Status status = prepared->run(stream);
    if (fused && !status.ok())
      continue;
    out = std::move(prepared);
    return status;
  }
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("cuBLASLt has no algorithm for {}x{}x{} {}", command.m,
                      command.n, command.k, elementName(command.dtype))};
}

} // namespace tpsp::rt
