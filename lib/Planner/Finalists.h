/// What the plans that people are shown get once the search is over.
#ifndef TPSP_PLANNER_FINALISTS_H
#define TPSP_PLANNER_FINALISTS_H

#include "EvaluationPool.h"

#include <map>
#include <optional>
#include <set>

namespace tpsp::planner {

/// What is to be tried of the candidate that may take at most `longest`
/// seconds.
SettingsToTry
settingsFor(const Candidate &candidate, const Bounds &bounds,
            const SearchOptions &options,
            double longest = std::numeric_limits<double>::infinity());

/// Tries what the search left out of these rows' settings, because it could not
/// beat the best plan: each is to be as fast as it can be. Rows may change
/// places.
void trySlowerSettings(llvm::ArrayRef<Evaluation *> rows, EvaluationPool &pool,
                       const Bounds &bounds, const SearchOptions &options,
                       int64_t &evaluations);

/// Whether its settings are those with overlap, too: the schedule's memory is
/// bounded.
bool surelyFits(const Evaluation &serial, const SearchOptions &options);

/// Whether other orders of its commands, or the whole program where it is
/// composed of fewer layers, are too large, too: they may need a little less.
bool isMuchTooLarge(const Evaluation &evaluation, const SearchOptions &options);

/// Where time ran out before a plan was overlapped that is better than this
/// one without, this one counts: overlap makes it no slower. Or there is none.
/// `all`, of steps without overlap, is by their subscripts.
std::optional<Evaluation>
bestSerial(const std::map<std::string, std::shared_ptr<const Evaluation>> &all,
           const std::set<std::string> &overlapped,
           const std::vector<Evaluation> &evaluations,
           const SearchOptions &options, const ProgramFacts &facts);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_FINALISTS_H
