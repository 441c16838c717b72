/// What a program's tensors take together, so that sums of their bytes are
/// known to fit 64 bits.
///
/// Ledger, memory account, planner and simulation add bytes up as int64_t. Each
/// of them counts a tensor a few times (its gradient, its state, its
/// collectives). So a program is refused whose tensors come anywhere near 2^63
/// bytes: 128 PiB before it is differentiated, 2 EiB of one rank after.
#ifndef TPSP_PASSES_PROGRAM_TENSORBYTES_H
#define TPSP_PASSES_PROGRAM_TENSORBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// The bytes of an undivided tensor; 0 if the type is no tensor, or has no
/// static shape.
double wholeBytes(mlir::Type type);

struct TensorBytes {
  /// Floating-point: it does not wrap, and no more than its size matters.
  double all = 0, largest = 0;
  /// One with the largest number of bytes; null if there is none.
  mlir::Value largestTensor;

  void add(mlir::Value tensor, double bytes);
  /// Adds what a call brings.
  void add(const TensorBytes &others);
};

/// Most bytes of a program as it is written, and of a rank's step.
constexpr double mostProgramBytes = double(int64_t(1) << 57);
constexpr double mostRankBytes = double(int64_t(1) << 61);

/// An error at `function`, which names the largest tensor, if there are more
/// than `most` bytes. `whose` has them: "the program".
mlir::LogicalResult checkBytes(const TensorBytes &bytes, double most,
                               llvm::StringRef whose,
                               mlir::FunctionOpInterface function);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_TENSORBYTES_H
