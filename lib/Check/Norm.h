/// The norm of all gradients, as a run reports it.
#ifndef TPSP_LIB_CHECK_NORM_H
#define TPSP_LIB_CHECK_NORM_H

#include "BoundTensors.h"

namespace tpsp::check {

/// Judges a dumped norm by the program's gradients of parameters. `results` are
/// those of its own step, in the order of the plan's results; `right` has what
/// rounding does to them.
TensorVerdict judgeNorm(const DumpEntry &entry, const Plan &plan,
                        const rt::RankMesh &mesh, const RightValues &right,
                        const std::vector<RankValues> &results, double scale);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_NORM_H
