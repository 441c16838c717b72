/// Tells plans that can have the same schedule.
#ifndef TPSP_PASSES_PLAN_ALIKEPLANS_H
#define TPSP_PASSES_PLAN_ALIKEPLANS_H

#include "tpsp/Schedule/CostModel.h"

#include <string>

namespace tpsp {

/// A text that two plans share if their commands take the same times on the
/// same links. They access the same parts of equally large buffers, which are
/// known by their numbers. So a schedule of one plan is one of the other, with
/// the same times and the same memory. Linear in the plan.
std::string scheduleKey(const Plan &plan, const CostModel &cost);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_ALIKEPLANS_H
