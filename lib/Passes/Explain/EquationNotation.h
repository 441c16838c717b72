/// The ways to write where a tensor lies.
///
///   subscripts   z[b, s@tp, d]
///   explicit     z_{b t0 l d}    t in range(4), l in range(128 // 4)
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONNOTATION_H
#define TPSP_PASSES_EXPLAIN_EQUATIONNOTATION_H

#include "Equations.h"

#include <memory>
#include <set>
#include <string>

namespace tpsp {

class EquationNotation {
public:
  virtual ~EquationNotation() = default;

  /// Begins a group of `types`. The tensors that are written until the next
  /// call stand in one equation, or are one tensor before and after a
  /// collective.
  virtual void begin(llvm::ArrayRef<mlir::RankedTensorType> types) {
    (void)types;
  }
  /// A tensor; without a name, where it lies.
  virtual std::string write(llvm::StringRef name,
                            mlir::RankedTensorType type) = 0;
  /// Prints the meaning of the letters in everything that has been written.
  virtual void printLegend(llvm::raw_ostream &out) const { (void)out; }
};

/// "subscripts" or "explicit"; null for any other. Letters of the explicit form
/// are none of the names of indices in `equations`.
std::unique_ptr<EquationNotation>
makeNotation(llvm::StringRef name, const Mesh &mesh,
             llvm::ArrayRef<Equation> equations);

/// Names and types of all tensors in an equation and in what moves for it.
llvm::SmallVector<EquationTensor> tensorsOf(const Equation &equation);

/// The types of the equation's own tensors: of its results, then its operands.
std::vector<mlir::RankedTensorType> typesOf(const Equation &equation);

/// The names of all their indices.
std::set<std::string> indexNamesOf(llvm::ArrayRef<Equation> equations);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONNOTATION_H
