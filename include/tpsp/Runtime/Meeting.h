/// Processes of a run that tell each other numbers.
///
///   std::vector<std::vector<uint64_t>> all;
///   TPSP_TRY(exchangeAll(transport, {hash}, "to begin", 30, all));
///   differingRanks(all, 0);   // the ranks whose hash is not that of rank 0
#ifndef TPSP_RUNTIME_MEETING_H
#define TPSP_RUNTIME_MEETING_H

#include "tpsp/Runtime/Transport.h"

namespace tpsp::rt {

/// A timeout for waits that another process's work bounds, and not a time.
constexpr double unboundedSeconds = 1e9;

/// Sends `mine` to all processes and receives one list of each; `all` is in
/// order of ranks. All call with lists of one length. `what` continues "waited
/// 30.0 s for rank 2 ...". TIMEOUT names who does not come; ABORTED if another
/// process has failed, with what it said.
Status exchangeAll(Transport &transport, const std::vector<uint64_t> &mine,
                   const char *what, double timeoutSeconds,
                   std::vector<std::vector<uint64_t>> &all);

/// One exchange over the channel of all processes, with such failures.
Status exchangeWith(Transport &transport, const Exchange &exchange,
                    const char *what);

/// The ranks whose number `i` is not that of rank 0, ascending.
std::vector<int64_t>
differingRanks(const std::vector<std::vector<uint64_t>> &all, size_t i);

/// A refusal that all processes come to alike, from what all were told. INVALID
/// in the process with rank 0, which is to announce it and to tell people.
/// ABORTED in the others, once it has: none says it twice, however slow one is.
Status refuseTogether(Transport &transport, const std::string &message);

/// "rank 1", "ranks 1, 3", "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 120 more".
std::string ranksText(const std::vector<int64_t> &ranks);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MEETING_H
