#include "CublasEpilogue.h"

#include "Runtime/Core/MatmulOffsets.h"

#include "tpsp/Abi/LibraryLimits.h"

namespace tpsp::rt {

CublasEpilogue::CublasEpilogue(const MatmulCommand &command,
                               const MatmulBuffers &buffers)
    : command(command), buffers(buffers), width(elementBytes(command.dtype)),
      pitch(LeadingDimensions(command).c) {
  size_t next = 3;
  for (EpilogueStep step : command.epilogue) {
    std::byte *buffer = hasBuffer(step) ? buffers[next++] : nullptr;
    if (step == EpilogueStep::Bias)
      bias = buffer;
    else if (step == EpilogueStep::Keep)
      keep = buffer;
    else if (step == EpilogueStep::Slope)
      slope = buffer;
    else if (step == EpilogueStep::Gelu)
      gelu = true;
    else if (step != EpilogueStep::Add)
      sum = buffer;
  }
}

bool CublasEpilogue::sumsOperand() const { return sum != nullptr; }

bool CublasEpilogue::fitsLibrary() const {
  if (isEmpty() || !hasEpilogues(command.dtype) ||
      pointsOf(command.accumulate) != 1)
    return false;
  // cuBLASLt's tanh may be an instruction with about 11 correct bits, which
  // suffices only for 16-bit results.
  if ((gelu || slope) && !halfFloat(command.dtype))
    return false;
  if (!matrix())
    return true;
  auto start = reinterpret_cast<uintptr_t>(matrix());
  bool fits = command.n % epilogueMatrixUnit == 0 &&
              pitch % epilogueMatrixUnit == 0 &&
              start % epilogueMatrixAlignment == 0;
  for (const MatmulLoop &loop : command.batch)
    fits = fits && loop.strideC % epilogueMatrixUnit == 0;
  return fits;
}

cublasLtEpilogue_t CublasEpilogue::inLibrary() const {
  if (sum)
    return command.epilogue[0] == EpilogueStep::SumA ? CUBLASLT_EPILOGUE_BGRADB
                                                     : CUBLASLT_EPILOGUE_BGRADA;
  if (slope)
    return CUBLASLT_EPILOGUE_DGELU;
  if (!gelu)
    return CUBLASLT_EPILOGUE_BIAS;
  if (keep)
    return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

/// The beginning of a call's results, in elements, chosen so that no other
/// call's matrix has an address with a smaller alignment.
int64_t
CublasEpilogue::leastAligned(const std::vector<MatmulLoop> &calls) const {
  auto alignmentAt = [&](int64_t offset) {
    auto address = reinterpret_cast<uintptr_t>(matrix() + offset * width);
    return address & (~address + 1);
  };
  int64_t least = 0;
  for (const MatmulLoop &loop : calls)
    if (loop.extent > 1 && alignmentAt(loop.strideC) < alignmentAt(least))
      least = loop.strideC;
  return least;
}

Status CublasEpilogue::describe(MatmulDescriptor &descriptor,
                                int64_t batchStride,
                                const std::vector<MatmulLoop> &calls) const {
  TPSP_TRY(descriptor.set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                          static_cast<uint32_t>(inLibrary())));
  // cuBLASLt also reads this pointer's alignment when it chooses an algorithm.
  // The bias has the result's type, as does the matrix. It is the same for the
  // whole batch.
  if (bias || sum)
    TPSP_TRY(descriptor.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                            static_cast<void *>(bias ? bias : sum)));
  if (!matrix())
    return {};
  TPSP_TRY(descriptor.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, pitch));
  TPSP_TRY(descriptor.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
                          batchStride));
  // The algorithm is chosen for matrices of this alignment.
  return moveTo(leastAligned(calls), descriptor);
}

Status CublasEpilogue::moveTo(int64_t offset,
                              MatmulDescriptor &descriptor) const {
  if (!matrix())
    return {};
  return descriptor.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                        static_cast<void *>(matrix() + offset * width));
}

Status CublasEpilogue::finish(const UnfinishedResults &results,
                              const BuiltinKernels &kernels,
                              cudaStream_t stream) const {
  int64_t offset = results.offset * width;
  auto at = [&](std::byte *start) { return start ? start + offset : nullptr; };
  return kernels.finish(command.dtype,
                        {at(buffers[2]), results.source, bias, at(keep),
                         at(slope), gelu, results.blocks, command.m, command.n,
                         results.targetBlock, pitch, results.sourceBlock,
                         results.sourceRow},
                        stream);
}

Status CublasEpilogue::sumOperand(const BuiltinKernels &kernels,
                                  CudaStream &stream) const {
  LeadingDimensions ld(command);
  bool ofA = command.epilogue[0] == EpilogueStep::SumA;
  bool keptIsInner = ofA ? command.transposeA : !command.transposeB;
  int64_t row = ofA ? ld.a : ld.b, kept = ofA ? command.m : command.n;
  int64_t parts = BuiltinKernels::partsOfSum(kept, command.k);
  std::byte *partials = nullptr;
  TPSP_TRY(stream.reserveScratch(kept * parts * 8, partials));
  return kernels.sum(command.dtype,
                     {sum, partials, buffers[ofA ? 0 : 1], kept, command.k,
                      keptIsInner ? 1 : row, keptIsInner ? row : 1, parts},
                     stream.get());
}

} // namespace tpsp::rt
