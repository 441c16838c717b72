// The page that --html writes.
#ifndef TPSP_TOOLS_TPSP_PLAN_PAGE_H
#define TPSP_TOOLS_TPSP_PLAN_PAGE_H

#include "common/Progress.h"

#include "tpsp/Planning/Planning.h"

namespace tpsp::plantool {

/// Returns a page of the matrix and the steps of the best plans. For the steps,
/// up to three plans are compiled again with all their layers, as long as the
/// expected time is within twenty seconds. `warnings` has a line for each plan
/// without a step, with the reason.
std::string pageOf(mlir::MLIRContext &context, const Planning &planning,
                   tool::Progress &progress, std::string &warnings);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_PAGE_H
