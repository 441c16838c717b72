/// Exchanges of small numbers between all processes of a run.
///
///   std::vector<std::vector<uint64_t>> all;
///   TPSP_TRY(exchangeAll(transport, {hash}, "to begin", 30, all));
///   differingRanks(all, 0);   // the ranks whose hash is not that of rank 0
#ifndef TPSP_RUNTIME_MEETING_H
#define TPSP_RUNTIME_MEETING_H

#include "tpsp/Runtime/Transport.h"

namespace tpsp::rt {

/// Timeout, in seconds, for waits whose length depends on another process's
/// work.
constexpr double unboundedSeconds = 1e9;

/// Sends `mine` to all processes and receives one list from each, in the order
/// of ranks. All processes call with lists of one length. `what` completes the
/// message "waited 30.0 s for rank 2 ...". TIMEOUT names the missing ranks.
/// ABORTED, with the other process's message, if another process has failed.
Status exchangeAll(Transport &transport, const std::vector<uint64_t> &mine,
                   const char *what, double timeoutSeconds,
                   std::vector<std::vector<uint64_t>> &all);

/// Makes one exchange over the channel of all processes, with the same
/// failures.
Status exchangeWith(Transport &transport, const Exchange &exchange,
                    const char *what);

/// The ranks, ascending, whose number `i` differs from that of rank 0.
std::vector<int64_t>
differingRanks(const std::vector<std::vector<uint64_t>> &all, size_t i);

/// A refusal at which every process arrives from the same exchanged numbers.
/// Returns INVALID in the process with rank 0, which announces it and tells the
/// user. The others wait for that announcement and return ABORTED, so the
/// message appears once.
Status refuseTogether(Transport &transport, const std::string &message);

/// "rank 1", "ranks 1, 3", "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 120 more".
std::string ranksText(const std::vector<int64_t> &ranks);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MEETING_H
