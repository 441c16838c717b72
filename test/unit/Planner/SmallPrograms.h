/// Programs of a few products as plain values.
#ifndef TPSP_TEST_PLANNER_SMALLPROGRAMS_H
#define TPSP_TEST_PLANNER_SMALLPROGRAMS_H

#include "tpsp/Planner/Space.h"

namespace tpsp::planner {

/// Returns x[b, s, d] through up[e, d] and down[d, e], with a norm after. The
/// classes are b 0, s 1, d 2, e 3.
ProgramFacts mlp(int64_t b, int64_t s, int64_t d, int64_t e);

/// Returns the leaf with one axis, a.
SpaceNode oneAxis(int64_t size, AxisUse use);

} // namespace tpsp::planner

#endif // TPSP_TEST_PLANNER_SMALLPROGRAMS_H
