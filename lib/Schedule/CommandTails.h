/// How much of a step is left behind each of its commands: what decides which
/// of the ready commands goes first.
#ifndef TPSP_SCHEDULE_COMMANDTAILS_H
#define TPSP_SCHEDULE_COMMANDTAILS_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// For each command, those that come after it.
std::vector<std::vector<int64_t>> successorsOf(const OverlapProblem &problem);

/// For each command, the longest chain of those behind it, in seconds: what the
/// step still needs when it has ended. If several commands want one stream, the
/// one with the longest chain goes first (Jackson 1955). How long it takes
/// itself does not matter, since the others have to wait for it or it for them.
std::vector<double> chainTails(const OverlapProblem &problem);

/// The same where streams are busy, in seconds: behind a command are also those
/// that its successors have to share a stream with. A gradient that is reduced
/// has a short chain, but the link may need the rest of the step for all of
/// them. They are the starts in a list schedule of the reversed step, which
/// begins with what the step ends with. (Forward-backward improvement, Li and
/// Willis 1992.) Memory is left out.
std::vector<double> streamTails(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_COMMANDTAILS_H
