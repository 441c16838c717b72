/// Matmuls with an epilogue on the CPU.
///
/// A product is done in blocks of rows whose results fit the cache, each with
/// the epilogue's sweep over it right behind. The results are the same as if
/// the product had been stored and read again: bf16 is rounded between the two.
/// Arithmetic is in f32, in f64 for f64.
#ifndef TPSP_RUNTIME_CPU_MATMULEPILOGUE_H
#define TPSP_RUNTIME_CPU_MATMULEPILOGUE_H

#include "CpuMatmul.h"

namespace tpsp::rt {

/// The starts of a command's buffers: A, B, C, then those of the epilogue.
using MatmulBuffers = std::vector<std::byte *>;

class MatmulWithEpilogue : public CommandState {
public:
  virtual Status run(const MatmulBuffers &buffers, ScratchBuffer &scratch) = 0;
  /// Kept with the command, so that a step allocates nothing.
  MatmulBuffers buffers;
};

/// Prepares a checked command that has an epilogue. UNSUPPORTED for integers.
Status prepareMatmulWithEpilogue(const MatmulCommand &command, int threads,
                                 std::unique_ptr<MatmulWithEpilogue> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_MATMULEPILOGUE_H
