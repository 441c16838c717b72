/// Exports a parallel plan (mesh, subscripts and settings) to the systems of
/// Target.h, in the form that each reads, and as tpsp's own neutral JSON.
#ifndef TPSP_PLANNER_EXPORT_H
#define TPSP_PLANNER_EXPORT_H

#include "tpsp/Planner/Target.h"

namespace tpsp::planner {

/// The features of the plan's step besides its mesh and settings. Systems have
/// flags for them.
struct StepTerms {
  /// "f32", "bf16" or "f16": the type of the parameters.
  std::string dtype = "f32";
  /// "none", "adamw", "sgd", ...
  std::string optimizer = "none";
  /// The largest norm of all gradients; 0: any.
  double clip = 0;
  /// Whether communication runs under computation, and whether products are cut
  /// for it.
  bool overlaps = false, cutsProducts = false;
  /// Bytes of a bucket of gradients.
  int64_t bucketBytes = 25 << 20;
  /// The type in which gradients are summed over ranks; empty: the parameters'.
  std::string reduceDtype = {};
  /// Whether gathered parameters are kept for the backward pass.
  bool keepsGathered = false;
};

struct ExportOptions {
  TermNames names = {};
  StepTerms step = {};
  /// Sentences about the plan, for the head of the text.
  std::vector<std::string> head = {};
};

struct Exported {
  /// The exported text; ends with a newline. Formats with comments have the
  /// head and the notes in it.
  std::string text;
  /// Sentences on differences of the target, if the text cannot have them.
  std::vector<std::string> notes;
  /// A sentence: why the target cannot express the plan, and what would help.
  /// Empty if it can.
  std::string problem;
};

/// Exports to a target. docs/Planner.md describes the texts.
Exported exportPlan(const Target &target, const Candidate &candidate,
                    const ProgramFacts &facts, const ExportOptions &options);

/// The plan as `tpsp-placement-1`, which has a word for every plan.
std::string placementJson(const Candidate &candidate,
                          const ProgramFacts &facts);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_EXPORT_H
