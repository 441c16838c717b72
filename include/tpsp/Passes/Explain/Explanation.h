/// A program in sharded einsum notation, as text.
#ifndef TPSP_PASSES_EXPLAIN_EXPLANATION_H
#define TPSP_PASSES_EXPLAIN_EXPLANATION_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tpsp {

/// What `tpsp-opt --tpsp-explain` prints of a module that has its collectives:
/// equations, under each what moves for it, and totals. Ends with a newline.
std::string explanationOf(mlir::ModuleOp module);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EXPLANATION_H
