/// Gathers a tensor's unsharded values, and combines the ranks' summands of a
/// partial tensor.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_PARTIALTENSOR_H
#define TPSP_RUNTIME_DRIVER_TENSORS_PARTIALTENSOR_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Runtime/World.h"

#include <vector>

namespace tpsp::rt {

/// Adds a rank's summand to `combined`, or takes the larger of the two.
void combine(double value, bool isMaximum, double &combined);

/// Gathers a tensor's unsharded values (row-major), each part from the first
/// rank that holds it. For a partial tensor they are the sum or the maximum of
/// the ranks' summands, in the order of ranks. If there are several processes,
/// the one with rank 0 gets them.
Status gatherTensor(World &world, const Plan &plan, const PlanBuffer &tensor,
                    std::vector<double> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_PARTIALTENSOR_H
