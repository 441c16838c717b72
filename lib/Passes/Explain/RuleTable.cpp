// Compares the documents' rule of thumb for backward communication with what
// the adjoint's index structure needs under its compute placement.
#include "ExplanationTables.h"

#include "tpsp/Algebra/BackwardRule.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// The collectives that one operand's gradient needs: "all_gather of g[z]".
struct Derived {
  /// Collectives on the result's gradient as an operand, and on the operand's
  /// gradient as a result.
  SmallVector<std::string> ofGradient;
  /// Collectives on the other operands that the adjoint reads.
  SmallVector<std::string> ofOthers;

  bool any() const { return !ofGradient.empty() || !ofOthers.empty(); }
};

/// A placement as the rule assumes it, with completed sums.
Placement completed(Type type, const Mesh &mesh) {
  Placement placement = placementOf(type, mesh);
  placement.pending.clear();
  return placement;
}

class RuleTable {
public:
  RuleTable(const WrittenEquations &written, EquationText &text)
      : written(written), mesh(written.mesh), text(text) {}

  void print(raw_ostream &out) {
    out << "\nwhich gradients need collectives (must_have_bwd_comms, and what "
           "is derived)\n";
    for (const EquationBlock &block : written.blocks)
      for (size_t i : block.equations)
        printOperation(written.equations[i], out);
  }

private:
  static bool isDifferentiated(const Equation &equation) {
    auto indexed = dyn_cast_or_null<IndexedOpInterface>(equation.op);
    return indexed && !indexed.stopsGradient() && !isBackward(equation.op);
  }

  void printOperation(const Equation &equation, raw_ostream &out) {
    if (!isDifferentiated(equation))
      return;
    auto op = cast<IndexedOpInterface>(equation.op);
    IndexStructure structure = op.getIndexStructure();
    SmallVector<Placement> operands;
    for (const EquationTensor &operand : equation.operands)
      operands.push_back(completed(operand.type, mesh));
    Placement result = completed(equation.results.front().type, mesh);
    SmallVector<bool, 3> must =
        mustHaveBackwardCollective(structure, operands, result);
    out << "  " << text.equation(equation).front() << "\n";
    for (auto [i, operand] : llvm::enumerate(equation.operands)) {
      if (!isa<FloatType>(operand.type.getElementType()))
        continue;
      std::optional<Derived> derived =
          derive(equation, structure, operands, result, i);
      if (derived)
        printOperand(operand, must[i], *derived, out);
    }
  }

  void printOperand(const EquationTensor &operand, bool must,
                    const Derived &derived, raw_ostream &out) {
    out << "    g[" << text.tensor(operand) << "]: rule "
        << (must ? "yes" : "no") << ", derived "
        << (derived.any() ? "yes" : "no");
    SmallVector<std::string> all = derived.ofGradient;
    llvm::append_range(all, derived.ofOthers);
    if (!all.empty())
      out << ": " << llvm::join(all, ", ");
    out << "\n";
    if (must != derived.any())
      out << "      they differ: " << why(must, derived) << "\n";
  }

  static StringRef why(bool must, const Derived &derived) {
    if (must)
      return "on an axis of one rank nothing is sent";
    if (derived.ofGradient.empty())
      return "the rule does not see that the other inputs, which the gradient "
             "reads, have to move again";
    return "the rule does not see a sum over an index that only another input "
           "has on the axis";
  }

  /// nullopt if the adjoint has no legal placement.
  std::optional<Derived> derive(const Equation &equation,
                                const IndexStructure &structure,
                                ArrayRef<Placement> operands,
                                const Placement &result, unsigned operand) {
    IndexStructure gradient = adjoint(structure, operand);
    SmallVector<Placement> placements = {result};
    SmallVector<std::string> names = {"g[" + nameOf(equation.results.front()) +
                                      "]"};
    // A sum's adjoint reads only the gradient.
    if (structure.linearity == Linearity::Joint)
      gradient.operands.resize(1);
    else
      for (auto [i, placement] : llvm::enumerate(operands))
        if (i != operand) {
          placements.push_back(placement);
          names.push_back(nameOf(equation.operands[i]));
        }
    std::optional<Placement> wanted = operands[operand];
    std::optional<ComputePlacement> choice =
        chooseComputePlacement({gradient, placements, wanted, mesh});
    if (!choice)
      return std::nullopt;
    Derived derived;
    for (auto [i, placement] : llvm::enumerate(placements))
      add(placement, choice->operands[i], names[i],
          i == 0 ? derived.ofGradient : derived.ofOthers);
    add(choice->results[0], *wanted,
        "g[" + nameOf(equation.operands[operand]) + "]", derived.ofGradient);
    return derived;
  }

  void add(const Placement &from, const Placement &to, StringRef name,
           SmallVector<std::string> &moved) const {
    std::optional<Transition> steps = planTransition(from, to, mesh);
    if (!steps)
      return;
    for (const CollectiveStep &step : *steps)
      if (step.kind != CollectiveKind::Slice && mesh.groupSize(step.axes) > 1)
        moved.push_back((tpsp::name(step.kind) + " of " + name + " over " +
                         mesh.names(step.axes))
                            .str());
  }

  std::string nameOf(const EquationTensor &tensor) {
    return text.name(tensor.named);
  }

  const WrittenEquations &written;
  const Mesh &mesh;
  EquationText &text;
};

} // namespace

void tpsp::printRule(const WrittenEquations &written, EquationText &text,
                     raw_ostream &out) {
  RuleTable(written, text).print(out);
}
