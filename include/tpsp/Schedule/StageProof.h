/// Proves that the stages of a plan cannot wait for each other in vain.
#ifndef TPSP_SCHEDULE_STAGEPROOF_H
#define TPSP_SCHEDULE_STAGEPROOF_H

#include "tpsp/Abi/Plan.h"

#include <optional>
#include <string>

namespace tpsp {

/// Returns nullopt if the orders of all stages are right together, else a
/// sentence about the first fault, with the actions to blame:
///
/// - every segment runs on each of its stages, once for every micro-batch, and
///   nowhere else;
/// - a receive has as many commands as its send, of the same bytes, on a stream
///   of the same number;
/// - the sends and receives between two stages on one stream come in the same
///   order on both;
/// - all actions end if each waits for those before it on its stream, for those
///   that the memory it accesses requires (Abi/StepOrder.h), and for the other
///   side of a transfer.
///
/// Takes time linear in the actions.
std::optional<std::string> proveStages(const Plan &plan);

} // namespace tpsp

#endif // TPSP_SCHEDULE_STAGEPROOF_H
