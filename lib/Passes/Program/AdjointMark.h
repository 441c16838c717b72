/// Marks an operation of the backward pass as part of the adjoint of an
/// operation of the forward pass. The mark is a location, because attributes
/// would keep CSE from merging operations that two adjoints share.
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
  /// The source name of the operation's result, and that name within the called
  /// function; empty if it has none.
  llvm::StringRef result, resultInCallee;
  /// The name of the operation: "rms_norm".
  llvm::StringRef operation;
};

/// The location of `primal`, without its name, for a part of its adjoint.
mlir::Location adjointLocation(mlir::Operation *primal);

/// The mark in a location from `adjointLocation`, which may have been named
/// since.
std::optional<AdjointMark> adjointMark(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_ADJOINTMARK_H
