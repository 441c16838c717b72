/// The two parts of a collective between nodes: its steps, and the bytes that
/// adapters carry. CostModel adds them; whoever turns measured times into rates
/// takes them apart.
#ifndef TPSP_SCHEDULE_CROSSINGTIME_H
#define TPSP_SCHEDULE_CROSSINGTIME_H

#include "tpsp/Schedule/CostModel.h"

namespace tpsp {

/// Seconds of the steps of an empty collective over several nodes (NCCL's
/// tuning model). A ring steps from node to node once for each other node; its
/// other steps stay within nodes. A tree is a chain in each node, and has log2
/// levels over the nodes.
double crossingLatency(const CollectiveRates &rates, GroupPlace place);

/// Seconds for which the adapters carry a collective of size S = `bytes`, if
/// each rank has one with `rate` bytes per second. A ring enters and leaves a
/// node through all adapters of its ranks. A permute is counted as if every
/// rank sent to another node.
double acrossSeconds(CollectiveKind kind, double bytes, GroupPlace place,
                     double rate);

} // namespace tpsp

#endif // TPSP_SCHEDULE_CROSSINGTIME_H
