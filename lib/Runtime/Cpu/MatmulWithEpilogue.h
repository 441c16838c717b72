/// Matmuls with an epilogue on the CPU: the product as if it had none, then a
/// plain loop over its results. They are right and not fast: on CPUs a kernel
/// does the same no slower, so plans for them have none by default.
///
/// The results are the same as if the product had been stored and read again:
/// 16 bits are rounded between the two. Arithmetic is in f64.
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
