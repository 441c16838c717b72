/// The squares of a program's gradients, for their norm.
#ifndef TPSP_LIB_CHECK_NORM_H
#define TPSP_LIB_CHECK_NORM_H

#include "RightValues.h"

#include "tpsp/Check/GradientNorm.h"

namespace tpsp::check {

/// Adds the squares of a program's gradients of parameters. `results` are those
/// of its own step, in the order of the plan's results; `right` has what
/// rounding does to them.
void addSquares(const Plan &plan, const rt::RankMesh &mesh,
                const RightValues &right,
                const std::vector<RankValues> &results, GradientSquares &out);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_NORM_H
