/// Makes a training program return its logits, so that tokens can be drawn.
#ifndef TPSP_PASSES_PROGRAM_RETURNLOGITS_H
#define TPSP_PASSES_PROGRAM_RETURNLOGITS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace tpsp {

/// The name of the result with the logits of all tokens.
inline constexpr const char *logitsName = "logits";

/// Adds a result `logits` to a function that has none. It is the first operand
/// of its only cross_entropy: [b, s, v] if the targets are [b, s]. Returns a
/// sentence with a way out if the function has no such operand, or an empty
/// string.
std::string returnLogits(mlir::func::FuncOp function);

/// The smallest extents, "b=2", of the indices of sequences in the argument of
/// tokens: the number of ranks that divide each. `mesh` has sizes that differ
/// from the module's, "dp=2". Indices in `given` ("b=4") are left out.
std::vector<std::string> fewestSequences(mlir::func::FuncOp function,
                                         const std::vector<std::string> &mesh,
                                         const std::vector<std::string> &given);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_RETURNLOGITS_H
