/// What the backward pass keeps of the forward pass.
///
/// A tensor is saved if the forward pass makes it, or gets it as an input, and
/// an operation of the backward pass uses it. Parameters are there anyhow, and
/// so are the cotangents that the backward pass starts from. A view is its
/// operand: bytes are counted once, under whatever names they are used. The
/// result of a collective counts as it is. A gathered tensor that the backward
/// pass uses is saved whole, and its shard only if that is used too.
///
///     y = w0 x; v = gelu(y); z = w1 v     saves x, y and v
///
/// Works on a function of tpsp-differentiate whose values are placed, on global
/// types and on local ones alike, and finds nothing in any other.
#ifndef TPSP_PASSES_PROGRAM_SAVEDACTIVATIONS_H
#define TPSP_PASSES_PROGRAM_SAVEDACTIVATIONS_H

#include "Placed.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

struct SavedActivation {
  mlir::Value value;
  int64_t bytes = 0; ///< of one rank's part
  /// From the micro-batch that makes it to the last whose backward pass uses
  /// it.
  int64_t firstPart = 0, lastPart = 0;
};

/// In the order in which they come to be.
llvm::SmallVector<SavedActivation>
savedActivations(mlir::FunctionOpInterface function, const Mesh &mesh);

/// The bytes that are saved at once, at most: those of one micro-batch, and
/// what several share.
int64_t savedBytes(mlir::FunctionOpInterface function, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_SAVEDACTIVATIONS_H
