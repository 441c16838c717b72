/// The total bytes of a program's tensors, which are limited so that sums of
/// bytes fit in 64 bits.
///
/// Ledger, memory account, planner and simulation add bytes up as int64_t. Each
/// of them counts a tensor a few times (its gradient, its state, its
/// collectives). So a program whose tensors come near 2^63 bytes is refused.
/// The limits are 128 PiB before it is differentiated, and 2 EiB on one rank
/// after.
#ifndef TPSP_PASSES_PROGRAM_TENSORBYTES_H
#define TPSP_PASSES_PROGRAM_TENSORBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// The bytes of an undivided tensor; 0 if the type is not a tensor of static
/// shape.
double wholeBytes(mlir::Type type);

struct TensorBytes {
  /// Floating-point numbers, which cannot wrap around; only their magnitude
  /// matters.
  double all = 0, largest = 0;
  /// A tensor with the largest number of bytes; null if there is none.
  mlir::Value largestTensor;

  void add(mlir::Value tensor, double bytes);
  /// Adds the tensors of a call.
  void add(const TensorBytes &others);
};

/// The most bytes of a program as written, and of a rank's step.
constexpr double mostProgramBytes = double(int64_t(1) << 57);
constexpr double mostRankBytes = double(int64_t(1) << 61);

/// Fails with an error at `function` that names the largest tensor, if there
/// are more than `most` bytes. `whose` says what has them: "the program".
mlir::LogicalResult checkBytes(const TensorBytes &bytes, double most,
                               llvm::StringRef whose,
                               mlir::FunctionOpInterface function);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_TENSORBYTES_H
