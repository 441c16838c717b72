/// What an explanation says beside the equations.
#ifndef TPSP_PASSES_EXPLAIN_EXPLANATIONTABLES_H
#define TPSP_PASSES_EXPLAIN_EXPLANATIONTABLES_H

#include "EquationLayers.h"
#include "EquationText.h"

namespace tpsp {

/// Equations as they are to be written.
struct WrittenEquations {
  llvm::ArrayRef<Equation> equations;
  llvm::ArrayRef<EquationBlock> blocks;
  const Mesh &mesh;
};

/// Over all collectives, for each phase, kind and axes, then for each phase and
/// axes. A collective in a layer that repeats counts as often as the layer.
void printTotals(const WrittenEquations &written, llvm::raw_ostream &out);

/// What the backward pass reads of the forward pass.
void printSaved(mlir::FunctionOpInterface function, const Mesh &mesh,
                llvm::raw_ostream &out);

/// Every tensor in every placement that it has: extents, one rank's, bytes.
void printExtents(const WrittenEquations &written, EquationText &text,
                  llvm::raw_ostream &out);

/// The documents' rule (BackwardRule.h) for every input of every operation of
/// the forward pass, and what is derived for its gradient.
void printRule(const WrittenEquations &written, EquationText &text,
               llvm::raw_ostream &out);

/// Equations in LaTeX, with the axes' numbers as subscripts of the indices that
/// they shard, and once more with these indices divided.
void printLatex(const WrittenEquations &written, EquationText::NameOf nameOf,
                llvm::raw_ostream &out);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EXPLANATIONTABLES_H
