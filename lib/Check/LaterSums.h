/// Sums inside of a program that a run takes later than the program.
#ifndef TPSP_LIB_CHECK_LATERSUMS_H
#define TPSP_LIB_CHECK_LATERSUMS_H

#include "BoundTensors.h"

namespace tpsp::check {

/// Settles the verdicts on values inside of a program of which the ranks have
/// summands. If all results are right, the summands are added up later, and
/// nothing is wrong. If no result was compared, that is not known.
void settleSummands(const Plan &plan, const rt::RankMesh &mesh,
                    std::vector<BoundTensor> &tensors);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_LATERSUMS_H
