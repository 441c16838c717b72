/// Random scheduling problems.
#ifndef TPSP_TEST_UNIT_PLANNER_RANDOMPROBLEM_H
#define TPSP_TEST_UNIT_PLANNER_RANDOMPROBLEM_H

#include "tpsp/Schedule/OverlapProblem.h"

#include <random>

namespace tpsp {

/// Returns a problem like a real step: a chain of computations, some of them
/// joined by a collective, with side work for which nothing waits.
OverlapProblem randomProblem(std::mt19937 &random, size_t commands,
                             bool withMemory);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLANNER_RANDOMPROBLEM_H
