// Evaluations with the memory of another system.
#ifndef TPSP_LIB_PLANNING_PROFILEDEVALUATOR_H
#define TPSP_LIB_PLANNING_PROFILEDEVALUATOR_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planner/Profile.h"

namespace tpsp {

/// Makes evaluators that add the profile's memory to the evaluations of
/// `makeOwn`. A plan then needs the larger of both.
planner::EvaluatorFactory
profiledEvaluators(planner::EvaluatorFactory makeOwn,
                   std::shared_ptr<const planner::Profile> profile,
                   const planner::ProgramFacts &facts,
                   const planner::TermNames &names, bool hasState);

} // namespace tpsp

#endif // TPSP_LIB_PLANNING_PROFILEDEVALUATOR_H
