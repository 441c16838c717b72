/// The overlap problem of a step on a machine.
#ifndef TPSP_SCHEDULE_STEPOVERLAP_H
#define TPSP_SCHEDULE_STEPOVERLAP_H

#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// The commands of `plan`, which has no events and one stream, with what they
/// cost and what they must wait for. Collectives go on communication streams,
/// one for what CostModel::linksOf() says, numbered from 1 in the order in
/// which the step first uses them. So two that share links run one after the
/// other: at once each would take twice as long, and both would hold cores.
///
/// `bytes`: of memory that a rank has for the step, what lasts included.
OverlapProblem overlapProblemOf(const Plan &plan, const CostModel &cost,
                                int64_t bytes);

} // namespace tpsp

#endif // TPSP_SCHEDULE_STEPOVERLAP_H
