/// The planner's facts about a program's tensors: arguments, values that
/// functions hand to each other, and attention's queries, keys and values.
#ifndef TPSP_PLANNING_TENSORSOFPROGRAM_H
#define TPSP_PLANNING_TENSORSOFPROGRAM_H

#include "HandedTensors.h"
#include "NameClasses.h"
#include "tpsp/Algebra/IndexStructure.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Planner/ProgramFacts.h"

#include "llvm/ADT/SetVector.h"

namespace tpsp {

/// The numbers of the program's arguments that the tensor stands for.
llvm::SmallVector<unsigned> argumentsOf(const HandedTensor &handed,
                                        mlir::func::FuncOp program);

/// `padded`: the module with the padded extents of indices.
planner::TensorFacts tensorFacts(const HandedTensor &handed,
                                 mlir::func::FuncOp program,
                                 mlir::ModuleOp padded,
                                 const NameClasses &names,
                                 SourceNames &sources);

/// `values`: those of attentionTensors(), in their order.
std::vector<planner::TensorFacts>
attentionFacts(llvm::ArrayRef<mlir::Value> values, mlir::ModuleOp padded,
               const NameClasses &names);

/// Finds the classes that axes may divide in activations: those of inputs that
/// no parameter has. A class of both is one like d of x[b, s, d].
void findActivationClasses(planner::ProgramFacts &facts);

/// Collects the classes that all tensors of every attention have.
class SharedHeads {
public:
  /// `classes`: of each index of the attention's structure.
  void note(const IndexStructure &structure,
            llvm::ArrayRef<planner::ClassId> classes);
  /// Those that are not among `others`.
  std::vector<planner::ClassId>
  without(llvm::ArrayRef<planner::ClassId> others) const;

private:
  /// nullopt before the first attention.
  std::optional<llvm::SmallSetVector<planner::ClassId, 4>> heads;
};

} // namespace tpsp

#endif // TPSP_PLANNING_TENSORSOFPROGRAM_H
