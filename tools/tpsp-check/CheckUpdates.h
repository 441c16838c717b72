// Updates of parameters, which a step of its own has.
#ifndef TPSP_TOOLS_TPSP_CHECK_CHECKUPDATES_H
#define TPSP_TOOLS_TPSP_CHECK_CHECKUPDATES_H

#include "Opened.h"

#include <functional>

namespace tpsp::checktool {

/// The names of the update's arguments that a step without it lacks: learning
/// rate, step number, state.
rt::Status namesOfUpdate(const Options &options, tool::Progress &progress,
                         std::set<std::string> &out);

/// Checks new parameters in the way that `check` does it. If nothing explains
/// one, the run may divide the optimizer's state by axes that --optimizer-axes
/// does not name, so each is tried. Verdicts on gradients in `report` decide
/// between explanations.
rt::Status checkWithAxes(
    const Options &options,
    const std::function<rt::Status(const Options &, check::CheckReport &)>
        &check,
    const check::CheckReport &report, check::CheckReport &out);

/// Checks new parameters, with the arguments that the whole dump has.
rt::Status checkUpdates(const Options &options, const check::Dump &all,
                        const check::Dump &updated, tool::Progress &progress,
                        check::CheckReport &report);

} // namespace tpsp::checktool

#endif // TPSP_TOOLS_TPSP_CHECK_CHECKUPDATES_H
