// The page that --html writes.
#ifndef TPSP_TOOLS_TPSP_PLAN_PAGE_H
#define TPSP_TOOLS_TPSP_PLAN_PAGE_H

#include "common/Progress.h"

#include "tpsp/Planning/Planning.h"

namespace tpsp::plantool {

/// The matrix, and the steps of the best plans, which are compiled once more,
/// whole. These are three, or as many as twenty seconds are expected to allow.
/// `warnings` says of which plan there is no step, and why: a line each.
std::string pageOf(mlir::MLIRContext &context, const Planning &planning,
                   tool::Progress &progress, std::string &warnings);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_PAGE_H
