/// Makes the overlap problem of a step on a machine.
#ifndef TPSP_SCHEDULE_STEPOVERLAP_H
#define TPSP_SCHEDULE_STEPOVERLAP_H

#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// The problem has the commands of `plan`, which must have no events and one
/// stream, with their costs and dependences. Collectives go on communication
/// streams, one stream for each name of CostModel::linksOf(). Streams are
/// numbered from 1 in the order of their first use in the step. So collectives
/// that share links run one after the other. At once, each would take twice as
/// long, and both would occupy cores.
///
/// `bytes`: the memory of a rank for the step, lasting buffers included.
OverlapProblem overlapProblemOf(const Plan &plan, const CostModel &cost,
                                int64_t bytes);

} // namespace tpsp

#endif // TPSP_SCHEDULE_STEPOVERLAP_H
