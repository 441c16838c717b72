/// Where an inlined operation was written, and the calls that it was inlined
/// from.
#ifndef TPSP_PASSES_PROGRAM_CALLPLACE_H
#define TPSP_PASSES_PROGRAM_CALLPLACE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace tpsp {

struct CallPlace {
  /// The place in the called function, without names.
  mlir::Location written;
  /// Outermost first; empty if the operation was not inlined. For several
  /// locations: the calls that all of them were inlined from.
  llvm::SmallVector<mlir::Location> calls;
};

CallPlace callPlaceOf(mlir::Location loc);

/// The names that these calls' results have in the source, outermost first:
/// "layer0".
llvm::SmallVector<llvm::StringRef> callNamesOf(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_CALLPLACE_H
