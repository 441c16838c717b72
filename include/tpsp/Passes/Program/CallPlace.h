/// Where an inlined operation is written, and the calls it was inlined from.
#ifndef TPSP_PASSES_PROGRAM_CALLPLACE_H
#define TPSP_PASSES_PROGRAM_CALLPLACE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace tpsp {

struct CallPlace {
  /// In the function that was called, without names.
  mlir::Location written;
  /// Outermost first; empty if it was not inlined. Of several locations: those
  /// that all of them were inlined from.
  llvm::SmallVector<mlir::Location> calls;
};

CallPlace callPlaceOf(mlir::Location loc);

/// Likewise the names that the calls' results have in the source: "layer0".
llvm::SmallVector<llvm::StringRef> callNamesOf(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_CALLPLACE_H
