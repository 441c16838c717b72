/// A program whose placements are to be found: the planner's facts about it,
/// and copies with a candidate's mesh and subscripts.
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
  /// Plan as if nothing were placed and there were no mesh. A program without a
  /// mesh is always planned so.
  bool forgetsPlacements = false;
  /// As in CompileOptions: the element type of all tensors, and extents
  /// ("s=8192").
  std::string dtype = {};
  std::vector<std::string> extents = {};
  /// "v=8": axes divide the padded extents of these indices.
  std::vector<std::string> pad = {};
  /// As in CompileOptions.
  bool forGpu = false;
};

/// Tensors that the program places keep their placement. The planner places
/// arguments, and values that functions pass to each other, so that all calls
/// of a function are placed alike. Propagation places all other values.
class PlannedProgram {
public:
  /// Reads `path`. Diagnostics go to the context's handler as they arise, and
  /// the error is a one-sentence summary.
  static llvm::Expected<std::unique_ptr<PlannedProgram>>
  read(mlir::MLIRContext &context, llvm::StringRef path,
       const PlannedProgramOptions &options);
  ~PlannedProgram();

  /// The facts, with a row for each tensor that the planner places (`isFree`).
  const planner::ProgramFacts &facts() const { return program; }

  /// A copy of the module with the candidate's mesh and subscripts. It is not
  /// checked: the compiler refuses illegal candidates.
  mlir::OwningOpRef<mlir::ModuleOp>
  place(const planner::Candidate &candidate) const;

  /// The number of layers of each run that has more than `shortest`. A run is
  /// consecutive calls of one function.
  llvm::SmallVector<size_t> layersOfRuns(size_t shortest) const;

private:
  explicit PlannedProgram(mlir::OwningOpRef<mlir::ModuleOp> module);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  planner::ProgramFacts program;
};

} // namespace tpsp

#endif // TPSP_PLANNING_PLANNEDPROGRAM_H
