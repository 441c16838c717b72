/// The parts of an explanation besides the equations.
#ifndef TPSP_PASSES_EXPLAIN_EXPLANATIONTABLES_H
#define TPSP_PASSES_EXPLAIN_EXPLANATIONTABLES_H

#include "EquationLayers.h"
#include "EquationText.h"
#include "tpsp/Abi/TextTable.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {

/// Equations in the form in which they are printed.
struct WrittenEquations {
  llvm::ArrayRef<Equation> equations;
  llvm::ArrayRef<EquationBlock> blocks;
  const Mesh &mesh;
};

/// Calls visit(name, tensor, times) for every tensor in every placement that it
/// has, once, and adds a line to `table` where a phase begins. The tensor's
/// layer repeats `times` times.
void forEachTensor(
    const WrittenEquations &written, EquationText &text, TextTable &table,
    llvm::function_ref<void(std::string, const EquationTensor &, size_t)>
        visit);

/// Prints totals over all collectives, for each phase, kind and axes, then for
/// each phase and axes. A collective in a layer that repeats counts as often as
/// the layer.
void printTotals(const WrittenEquations &written, llvm::raw_ostream &out);

/// Prints what the backward pass reads of the forward pass.
void printSaved(mlir::FunctionOpInterface function, const Mesh &mesh,
                llvm::raw_ostream &out);

/// Prints every tensor in every placement that it has: its extents, those of
/// one rank's part, and bytes.
void printExtents(const WrittenEquations &written, EquationText &text,
                  llvm::raw_ostream &out);

/// Prints every tensor in every placement that it has, in the words of DTensor:
/// a word for each axis of the mesh, in its order. Placements that DTensor
/// cannot express are said.
void printDtensor(const WrittenEquations &written, EquationText &text,
                  mlir::ModuleOp module, llvm::raw_ostream &out);

/// Prints the documents' rule (BackwardRule.h) for every input of every
/// operation of the forward pass, and the collectives derived for its gradient.
void printRule(const WrittenEquations &written, EquationText &text,
               llvm::raw_ostream &out);

/// Prints equations in LaTeX. First, indices have the numbers of the axes that
/// shard them as subscripts. Then these indices are divided.
void printLatex(const WrittenEquations &written, EquationText::NameOf nameOf,
                llvm::raw_ostream &out);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EXPLANATIONTABLES_H
