/// Errors that say where they are, also where the program does not. The
/// locations of an operation may have been stripped, and an option of a pass
/// has none.
#ifndef TPSP_DIALECT_TPSP_IR_ERRORPLACE_H
#define TPSP_DIALECT_TPSP_IR_ERRORPLACE_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tpsp {

/// An error at `op`. Without a line of a file it begins with names instead:
/// "'tpsp.einsum' in @f: ".
mlir::InFlightDiagnostic emitErrorAt(mlir::Operation *op);

/// An error at an argument, or so: "@f: ".
mlir::InFlightDiagnostic emitErrorAt(mlir::BlockArgument argument);

/// At a value's argument or operation.
mlir::InFlightDiagnostic emitErrorAt(mlir::Value value);

/// An error of a pass's option, about the program `root`: "option 'mode' of
/// tpsp-rematerialize: ".
mlir::InFlightDiagnostic emitOptionError(mlir::Operation *root,
                                         llvm::StringRef pass,
                                         llvm::StringRef option);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_ERRORPLACE_H
