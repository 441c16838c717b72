/// A program whose placements are to be found: what the planner knows of it,
/// and the program with a candidate's mesh and subscripts written in.
#ifndef TPSP_PLANNING_PLANNEDPROGRAM_H
#define TPSP_PLANNING_PLANNEDPROGRAM_H

#include "tpsp/Planner/Candidate.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace tpsp {

struct PlannedProgramOptions {
  /// As in CompileOptions.
  std::string function;
  /// Plan as if nothing were placed, and there were no mesh. A program without
  /// a mesh is planned so anyway.
  bool forgetsPlacements = false;
  /// As in CompileOptions: the type that all tensors are stored as, and
  /// "s=8192".
  std::string dtype = {};
  std::vector<std::string> extents = {};
  /// "v=8": axes divide what these indices are padded to.
  std::vector<std::string> pad = {};
  /// As in CompileOptions.
  bool forGpu = false;
};

/// Tensors that are placed stay where they are. The planner places arguments,
/// and values that functions hand to each other; the latter so that every call
/// of a function begins and ends alike. All else is left to propagation.
class PlannedProgram {
public:
  /// Reads `path`. Diagnostics go to the context's handler as they arise; the
  /// error then is a one-sentence summary.
  static llvm::Expected<std::unique_ptr<PlannedProgram>>
  read(mlir::MLIRContext &context, llvm::StringRef path,
       const PlannedProgramOptions &options);
  ~PlannedProgram();

  /// What is placed ("isFree"), has a row for each such tensor.
  const planner::ProgramFacts &facts() const { return program; }

  /// A copy of the module with the candidate's mesh and subscripts. Not
  /// checked: the compiler refuses what is illegal.
  mlir::OwningOpRef<mlir::ModuleOp>
  place(const planner::Candidate &candidate) const;

  /// How many layers each run of more than `shortest` has: calls of one
  /// function that follow each other.
  llvm::SmallVector<size_t> layersOfRuns(size_t shortest) const;

private:
  explicit PlannedProgram(mlir::OwningOpRef<mlir::ModuleOp> module);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  planner::ProgramFacts program;
};

} // namespace tpsp

#endif // TPSP_PLANNING_PLANNEDPROGRAM_H
