/// Matmuls with an epilogue on the CPU: the plain product, then a loop over its
/// results. This code aims to be right, not fast. On CPUs a kernel is as fast
/// as an epilogue, so plans for CPUs have no epilogues by default.
///
/// The results are the same as if the product had been stored and read again:
/// 16-bit results are rounded before the epilogue. Its arithmetic is in f64.
#ifndef TPSP_RUNTIME_CPU_MATMULWITHEPILOGUE_H
#define TPSP_RUNTIME_CPU_MATMULWITHEPILOGUE_H

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

#endif // TPSP_RUNTIME_CPU_MATMULWITHEPILOGUE_H
