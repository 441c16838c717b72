/// The squares of a program's gradients, for their norm.
#ifndef TPSP_LIB_CHECK_NORM_H
#define TPSP_LIB_CHECK_NORM_H

#include "RightValues.h"

#include "tpsp/Check/GradientNorm.h"

namespace tpsp::check {

/// Adds the squares of a program's gradients of parameters.
void addSquares(const Plan &plan, const rt::RankMesh &mesh,
                const RightValues &right, GradientSquares &out);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_NORM_H
