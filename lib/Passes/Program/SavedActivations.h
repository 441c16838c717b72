/// The values that the backward pass saves from the forward pass.
///
/// A tensor is saved if the forward pass computes it or receives it as an
/// input, and an operation of the backward pass uses it. Parameters, and the
/// cotangents that the backward pass starts from, exist anyway and do not
/// count. A view counts as its operand: bytes are counted once, under whatever
/// names they are used. The result of a collective is a tensor of its own. If
/// the backward pass uses a gathered tensor, it is saved whole. Its shard is
/// saved only if that is used, too.
///
///     y = w0 x; v = gelu(y); z = w1 v     saves x, y and v
///
/// Works on a function of tpsp-differentiate whose values are placed, on global
/// or local types. Finds nothing in other functions.
#ifndef TPSP_PASSES_PROGRAM_SAVEDACTIVATIONS_H
#define TPSP_PASSES_PROGRAM_SAVEDACTIVATIONS_H

#include "Placed.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

struct SavedActivation {
  mlir::Value value;
  int64_t bytes = 0; ///< of one rank's part
  /// From the micro-batch that computes it to the last whose backward pass uses
  /// it.
  int64_t firstPart = 0, lastPart = 0;
};

/// In the order in which they are computed.
llvm::SmallVector<SavedActivation>
savedActivations(mlir::FunctionOpInterface function, const Mesh &mesh);

/// The most bytes that are saved at one time: those of one micro-batch, and
/// those that several share.
int64_t savedBytes(mlir::FunctionOpInterface function, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_SAVEDACTIVATIONS_H
