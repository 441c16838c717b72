/// Errors that say where they are, even without a source location. The
/// locations of an operation may have been stripped, and an option of a pass
/// has none.
#ifndef TPSP_DIALECT_TPSP_IR_ERRORPLACE_H
#define TPSP_DIALECT_TPSP_IR_ERRORPLACE_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tpsp {

/// An error at `op`. If its location has no line of a file, the message begins
/// with names: "'tpsp.einsum' in @f: ".
mlir::InFlightDiagnostic emitErrorAt(mlir::Operation *op);

/// An error at an argument. Without a line it begins with the function: "@f: ".
mlir::InFlightDiagnostic emitErrorAt(mlir::BlockArgument argument);

/// An error at a value's argument or operation.
mlir::InFlightDiagnostic emitErrorAt(mlir::Value value);

/// An error about a pass's option, reported at the program `root`: "option
/// 'mode' of tpsp-rematerialize: ".
mlir::InFlightDiagnostic emitOptionError(mlir::Operation *root,
                                         llvm::StringRef pass,
                                         llvm::StringRef option);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_ERRORPLACE_H
