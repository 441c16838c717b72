/// Further work after the search on the plans that are shown.
#ifndef TPSP_PLANNER_FINALISTS_H
#define TPSP_PLANNER_FINALISTS_H

#include "EvaluationPool.h"

#include <map>
#include <optional>
#include <set>

namespace tpsp::planner {

/// The candidate's settings to try that may take at most `longest` seconds.
SettingsToTry
settingsFor(const Candidate &candidate, const Bounds &bounds,
            const SearchOptions &options,
            double longest = std::numeric_limits<double>::infinity());

/// Makes each of these rows as fast as possible. Tries their settings that the
/// search left out because they could not beat the best plan. The order of rows
/// may change.
void trySlowerSettings(llvm::ArrayRef<Evaluation *> rows, EvaluationPool &pool,
                       const Bounds &bounds, const SearchOptions &options,
                       int64_t &evaluations);

/// Whether its settings also fit with overlap, since the schedule's memory is
/// bounded.
bool surelyFits(const Evaluation &serial, const SearchOptions &options);

/// Whether it is clearly too large. Another order of its commands, or the whole
/// program of a composed plan, may need a little less, but would not fit
/// either.
bool isMuchTooLarge(const Evaluation &evaluation, const SearchOptions &options);

/// The best step without overlap that was not overlapped for lack of time, if
/// it beats all `evaluations`. It counts as a plan, because overlap makes it no
/// slower. `all` has the steps without overlap by their subscripts.
std::optional<Evaluation>
bestSerial(const std::map<std::string, std::shared_ptr<const Evaluation>> &all,
           const std::set<std::string> &overlapped,
           const std::vector<Evaluation> &evaluations,
           const SearchOptions &options, const ProgramFacts &facts);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_FINALISTS_H
