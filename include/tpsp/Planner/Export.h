/// Exports a plan for other systems: Megatron-LM's command line, torchtitan's
/// TOML, transformers' base_model_tp_plan, and tpsp's own neutral JSON.
#ifndef TPSP_PLANNER_EXPORT_H
#define TPSP_PLANNER_EXPORT_H

#include "tpsp/Planner/Candidate.h"

namespace tpsp::planner {

struct ExportOptions {
  /// The names of the class that micro-batches cut, and of positions.
  std::string batchIndex = "b", sequenceIndex = "s";
  /// Whether parameters are updated.
  bool hasOptimizer = false;
};

struct Exported {
  /// The exported text; ends with a newline.
  std::string text;
  /// A sentence: why the target cannot express the plan, and what would help.
  /// Empty if it can.
  std::string problem;
};

/// `target`: "megatron", "torchtitan", "hf" or "json". docs/Planner.md
/// describes each.
Exported exportPlan(const std::string &target, const Candidate &candidate,
                    const ProgramFacts &facts, const ExportOptions &options);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_EXPORT_H
