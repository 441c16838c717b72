/// A tensor's whole values, and how the ranks' summands of a partial tensor are
/// combined.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_PARTIALTENSOR_H
#define TPSP_RUNTIME_DRIVER_TENSORS_PARTIALTENSOR_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Runtime/World.h"

#include <vector>

namespace tpsp::rt {

/// Adds a rank's summand, or takes the larger of the two.
void combine(double value, bool isMaximum, double &combined);

/// A tensor's whole values (row-major), from the first rank that holds each
/// part. Of a partial tensor they are the sum of the ranks' summands, or their
/// maximum, in the order of the ranks. Of several processes that with rank 0
/// gets them.
Status gatherTensor(World &world, const Plan &plan, const PlanBuffer &tensor,
                    std::vector<double> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_PARTIALTENSOR_H
