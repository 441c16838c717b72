/// What the ranks' summands of a partial tensor come to.
#ifndef TPSP_RUNTIME_DRIVER_PARTIALTENSOR_H
#define TPSP_RUNTIME_DRIVER_PARTIALTENSOR_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Runtime/World.h"

namespace tpsp::rt {

/// Adds a rank's summand, or takes the larger of the two.
void combine(double value, bool isMaximum, double &combined);

/// The whole values (row-major) of a partial tensor: the sum of the ranks'
/// summands, or their maximum, in the order of the ranks. Of replicas along
/// other axes the first counts. Of several processes that with rank 0 gets
/// them.
Status combinePartial(World &world, const Plan &plan, const PlanBuffer &tensor,
                      std::vector<double> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PARTIALTENSOR_H
