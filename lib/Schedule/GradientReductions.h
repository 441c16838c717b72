/// The part of an update that combines gradients over ranks.
#ifndef TPSP_SCHEDULE_GRADIENTREDUCTIONS_H
#define TPSP_SCHEDULE_GRADIENTREDUCTIONS_H

#include "tpsp/Abi/Plan.h"

namespace tpsp {

/// The commands of `update` that reduce gradients, and those that they need,
/// without events. Linear in the commands.
Plan reductionsOf(const Plan &update);

} // namespace tpsp

#endif // TPSP_SCHEDULE_GRADIENTREDUCTIONS_H
