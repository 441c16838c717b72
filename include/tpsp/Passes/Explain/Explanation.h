/// A program in sharded einsum notation, as text.
#ifndef TPSP_PASSES_EXPLAIN_EXPLANATION_H
#define TPSP_PASSES_EXPLAIN_EXPLANATION_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tpsp {

/// The text that `tpsp-opt --tpsp-explain` prints for a module with
/// collectives: equations, under each the collectives that it needs, and
/// totals. Ends with a newline.
std::string explanationOf(mlir::ModuleOp module);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EXPLANATION_H
