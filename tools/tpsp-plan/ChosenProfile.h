// The profile of the system whose steps are predicted.
#ifndef TPSP_TOOLS_TPSP_PLAN_CHOSENPROFILE_H
#define TPSP_TOOLS_TPSP_PLAN_CHOSENPROFILE_H

#include "Options.h"

#include "tpsp/Planner/Profile.h"

#include <memory>

namespace tpsp::plantool {

/// Reads the profile of --profile, or of --for if there is one of this name.
/// Sets the options that it has and that the command line does not give.
/// Returns null if there is no profile. An error names an option that is
/// unknown or has no such value.
llvm::Expected<std::shared_ptr<const planner::Profile>>
applyProfile(Options &options);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_CHOSENPROFILE_H
