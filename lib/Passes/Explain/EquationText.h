/// An equation as lines: the equation, and under it what moves for it.
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONTEXT_H
#define TPSP_PASSES_EXPLAIN_EQUATIONTEXT_H

#include "EquationNotation.h"

#include "tpsp/Passes/Program/Repetition.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tpsp {

class EquationText {
public:
  using NameOf = llvm::function_ref<std::string(mlir::Value)>;

  EquationText(EquationNotation &notation, const Mesh &mesh,
               const Repetition &repetition, NameOf nameOf)
      : notation(notation), mesh(mesh), repetition(repetition), nameOf(nameOf) {
  }

  /// "z[b, s] = x[b, s] + y[b, s]", and a note; nothing for collectives alone.
  std::vector<std::string> equation(const Equation &equation);
  /// "> all_gather ...", and a line on axes, bytes and the reason. Tensors of
  /// layers that a collective has in common are one line unless `everyLayer`.
  std::vector<std::string> movement(CollectiveOpInterface op, bool everyLayer);
  /// "xn[b, s, d] is there already"
  std::vector<std::string> present(const Equation &equation);
  /// "z[b, s@tp, d]", in the equation at hand or by itself.
  std::string tensor(const EquationTensor &tensor);
  std::string tensorAlone(const EquationTensor &tensor);
  std::string name(mlir::Value value) { return nameOf(value); }

private:
  std::string function(const Equation &equation);
  std::string moved(CollectiveOpInterface op, unsigned i);
  std::string costs(CollectiveOpInterface op);
  std::vector<llvm::SmallVector<unsigned>>
  layersOf(mlir::Operation *collective) const;

  EquationNotation &notation;
  const Mesh &mesh;
  const Repetition &repetition;
  NameOf nameOf;
};

/// The places in source files that a location names. An inlined operation's is
/// where it is written, not where it is called.
llvm::SmallVector<mlir::FileLineColLoc> writtenPlaces(mlir::Location loc);

/// " (model.mlir:17)"; of a bucket, the lines of all its tensors.
std::string placeOf(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONTEXT_H
