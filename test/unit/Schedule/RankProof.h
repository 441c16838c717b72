/// Proof of a step whose ranks do not all run the same commands. The compiler
/// makes no such step.
#ifndef TPSP_TEST_UNIT_SCHEDULE_RANKPROOF_H
#define TPSP_TEST_UNIT_SCHEDULE_RANKPROOF_H

#include "tpsp/Schedule/HappensBefore.h"

namespace tpsp {

/// Proves that the ranks of every communicator issue the same collectives with
/// the same sizes in the same order. Also proves that ranks do not wait for
/// each other in a circle. `plans` has one plan per rank of their mesh, each
/// proved by itself before. The fault's message names the rank.
std::optional<StepFault> proveRanks(const std::vector<Plan> &plans);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_SCHEDULE_RANKPROOF_H
