/// The source names of values, as their locations carry them
/// (tpsp-name-values).
#ifndef TPSP_PASSES_PROGRAM_SOURCENAME_H
#define TPSP_PASSES_PROGRAM_SOURCENAME_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace tpsp {

/// "xn", or "layer0.xn" for the value xn of a function whose inlined call was
/// named layer0. So the values of every call have different names.
std::optional<std::string> sourceName(mlir::Location loc);

/// The location and name of a value. Results of one operation share its
/// location. The first may have its name, too. Others are named as parts of it,
/// "o.statistic", unless they have names of their own.
mlir::Location locationOf(mlir::Value value);

/// Gives a name to an operation's result.
void setName(mlir::Value result, mlir::StringAttr name);

/// "xn", without the name of the call.
std::optional<std::string> nameInCallee(mlir::Location loc);

/// The same location, for a part of the named value: "o.softmax" for "o".
/// Without a name, the location itself.
mlir::Location partOfSource(mlir::Location loc, llvm::StringRef part);

/// The same location without its name, for a value at that place that is not
/// the named one.
mlir::Location withoutSourceName(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_SOURCENAME_H
