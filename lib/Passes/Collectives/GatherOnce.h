/// Moves gathers of parameters out of the micro-batches.
///
///   each micro-batch, twice: w divided --all_gather--> w, products
///   once a step:             w divided --all_gather--> w
///   each micro-batch:        products
#ifndef TPSP_PASSES_COLLECTIVES_GATHERONCE_H
#define TPSP_PASSES_COLLECTIVES_GATHERONCE_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// Moves every all-gather of parameters to the prologue, with the operations on
/// them that come before it. They lose the marks of micro-batches, chunks and
/// the backward pass. Equal gathers can then become one. The gather's reason
/// says so. Linear in the operations.
void gatherOnce(mlir::FunctionOpInterface function);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_GATHERONCE_H
