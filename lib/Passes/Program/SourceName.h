/// The names that values have in the source, as their locations carry them
/// (tpsp-name-values).
#ifndef TPSP_PASSES_PROGRAM_SOURCENAME_H
#define TPSP_PASSES_PROGRAM_SOURCENAME_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace tpsp {

/// "xn"; "layer0.xn" for the xn of a function whose call, now inlined, was
/// named layer0, so that every call's values have names of their own.
std::optional<std::string> sourceName(mlir::Location loc);

/// The place and name of a value. Results of one operation share its place. The
/// first may have its name, too; others are parts of it, "o.statistic", unless
/// they were given names.
mlir::Location locationOf(mlir::Value value);

/// Gives a name to an operation's result.
void setName(mlir::Value result, mlir::StringAttr name);

/// "xn", whichever call of its function it belongs to.
std::optional<std::string> nameInCallee(mlir::Location loc);

/// The same place, for a part of what has the name: "o.softmax" of "o". Without
/// a name, the place.
mlir::Location partOfSource(mlir::Location loc, llvm::StringRef part);

/// The same place, for a value that stands there but is not what has the name.
mlir::Location withoutSourceName(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_SOURCENAME_H
