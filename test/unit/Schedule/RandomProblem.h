/// Random scheduling problems.
#ifndef TPSP_TEST_UNIT_PLANNER_RANDOMPROBLEM_H
#define TPSP_TEST_UNIT_PLANNER_RANDOMPROBLEM_H

#include "tpsp/Schedule/OverlapProblem.h"

#include <random>

namespace tpsp {

/// Steps as they are: a chain of computations, some of whose links go through a
/// collective, with side work that nobody waits for.
OverlapProblem randomProblem(std::mt19937 &random, size_t commands,
                             bool withMemory);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLANNER_RANDOMPROBLEM_H
