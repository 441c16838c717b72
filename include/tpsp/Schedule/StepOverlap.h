/// The overlap problem of a step on a machine.
#ifndef TPSP_SCHEDULE_STEPOVERLAP_H
#define TPSP_SCHEDULE_STEPOVERLAP_H

#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// The commands of `plan`, which has no events and one stream, with what they
/// cost and what they must wait for. Collectives go on communication streams,
/// one for each communicator, numbered from 1 in the order in which the step
/// first uses them.
///
/// Temporaries into which a stream's collectives write, and those that wait to
/// be read by them, are two pools for each stream. A pool's capacity is
/// `buffers` times the most that is in use when the step runs one command after
/// another. 2 is double buffering: while one layer's gathered weights are being
/// used the next's arrive, and no more.
OverlapProblem overlapProblemOf(const Plan &plan, const CostModel &cost,
                                int64_t buffers = 2);

} // namespace tpsp

#endif // TPSP_SCHEDULE_STEPOVERLAP_H
