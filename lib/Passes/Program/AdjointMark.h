/// Which operation of the forward pass an operation of the backward pass is a
/// part of the adjoint of. Its location says it: attributes would keep CSE from
/// merging what two adjoints both compute.
#ifndef TPSP_PASSES_PROGRAM_ADJOINTMARK_H
#define TPSP_PASSES_PROGRAM_ADJOINTMARK_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tpsp {

struct AdjointMark {
  /// The marked location, which all parts of the adjoint share.
  mlir::Location location;
  /// The source's name of what the operation makes, and that name within the
  /// function that was called; "" if it has none.
  llvm::StringRef result, resultInCallee;
  /// What the operation is: "rms_norm".
  llvm::StringRef operation;
};

/// The place of `primal`, without its name, for a part of its adjoint.
mlir::Location adjointLocation(mlir::Operation *primal);

/// What `adjointLocation` said, perhaps under a name given since.
std::optional<AdjointMark> adjointMark(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_ADJOINTMARK_H
