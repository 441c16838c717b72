// The texts of a plan that the targets read, one function each. The plan breaks
// no rule of the target.
#ifndef TPSP_LIB_PLANNER_EXPORT_WRITERS_H
#define TPSP_LIB_PLANNER_EXPORT_WRITERS_H

#include "tpsp/Planner/Export.h"

namespace tpsp::planner {

/// Everything that a writer may need of a plan.
struct ExportedPlan {
  const Target &target;
  const Candidate &candidate;
  const ProgramFacts &facts;
  const ExportOptions &options;
  UsualTerms terms;
};

/// Each line of `sentences` after "# ".
std::string asComments(const std::vector<std::string> &sentences);

/// An array of a shell: PLAN_ARGS=(--tensor-model-parallel-size 8 ...).
std::string megatronFlags(const ExportedPlan &plan);
/// Tables of the TOML that torchtitan 0.2 reads.
std::string torchtitanToml(const ExportedPlan &plan);
/// A function that gives a Trainer.Config of torchtitan 0.3 the plan.
std::string torchtitanPython(const ExportedPlan &plan);
/// The JSON of transformers' base_model_tp_plan, with the head's style.
std::string transformersPlan(const ExportedPlan &plan);
/// Python that applies the program of `tpsp-plan -o` to a module.
std::string torchPython(const ExportedPlan &plan);

} // namespace tpsp::planner

#endif // TPSP_LIB_PLANNER_EXPORT_WRITERS_H
