/// The length of a step after each of its commands. It decides which of the
/// ready commands goes first.
#ifndef TPSP_SCHEDULE_COMMANDTAILS_H
#define TPSP_SCHEDULE_COMMANDTAILS_H

#include "tpsp/Abi/NumberedLists.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// For each command, the commands that depend on it.
NumberedLists<int64_t> successorsOf(const OverlapProblem &problem);

/// For each command, the longest chain of commands after it, in seconds: the
/// time that the step still needs when it has ended. If several commands want
/// one stream, the command with the longest chain goes first (Jackson 1955).
/// Its own duration does not matter, because it delays the others or they delay
/// it.
std::vector<double> chainTails(const OverlapProblem &problem);

/// The same with busy streams, in seconds: a command's successors also share
/// their streams with other commands. A reduced gradient has a short chain, but
/// the link may need the rest of the step for all gradients. The tails are the
/// starts in a list schedule of the reversed step, which begins with the step's
/// last commands. (Forward-backward improvement, Li and Willis 1992.) Memory is
/// ignored.
std::vector<double> streamTails(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_COMMANDTAILS_H
