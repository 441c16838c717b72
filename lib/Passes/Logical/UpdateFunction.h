/// The update of a function's parameters, as a function of its own.
#ifndef TPSP_PASSES_LOGICAL_UPDATEFUNCTION_H
#define TPSP_PASSES_LOGICAL_UPDATEFUNCTION_H

#include "TrainedParameters.h"

namespace tpsp {

/// Adds state and the step's numbers to the arguments of `function`, passes the
/// step's number to operations that draw, and adds `f_update` after it.
void buildUpdateFunction(mlir::func::FuncOp function,
                         std::vector<Trained> trained,
                         const UpdateSettings &settings);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_UPDATEFUNCTION_H
