#include "EquationGraph.h"

#include "Passes/Collectives/Ledger.h"
#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace tpsp;

/// The color of sums that are pending, and of what completes them.
static constexpr const char *pendingColor = "firebrick";

/// A text in quotes; lines are centred.
static std::string quoted(ArrayRef<std::string> lines) {
  std::string text = "\"";
  for (const std::string &line : lines) {
    if (text.size() > 1)
      text += "\\n";
    for (char c : line)
      text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return text + "\"";
}

namespace {

/// Prints one function's graph: frames with the nodes of equations and
/// collectives, in the order of the program, then arguments and edges.
class GraphPrinter {
public:
  GraphPrinter(const WrittenEquations &written, EquationText &text,
               raw_ostream &out)
      : written(written), text(text), out(out) {}

  void print(StringRef title) {
    out << "digraph " << quoted({title.str()}) << " {\n"
        << "  node [shape=box, fontname=Helvetica, fontsize=10];\n"
        << "  edge [fontname=Helvetica, fontsize=9];\n";
    size_t next = 0;
    for (const EquationBlock &block : written.blocks) {
      // Equations before this block that are not drawn repeat the last one.
      repeatUntil(block.equations.front(), next);
      drawBlock(block);
      next = block.equations.back() + 1;
      last = &block;
    }
    repeatUntil(written.equations.size(), next);
    beginPhase("");
    for (const std::string &statement : statements)
      out << "  " << statement << ";\n";
    out << "}\n";
  }

private:
  bool isPending(RankedTensorType type) const {
    return !placementOf(type, written.mesh).pending.empty();
  }

  std::string freshNode() { return "n" + std::to_string(nodes++); }

  /// Closes the frame of the last phase and opens one; "" opens none.
  void beginPhase(StringRef name) {
    if (name == phase)
      return;
    if (!phase.empty())
      out << "  }\n";
    phase = name.str();
    if (!name.empty())
      out << "  subgraph cluster_" << frames++
          << " {\n    label=" << quoted({phase}) << ";\n";
  }

  void drawBlock(const EquationBlock &block) {
    // Only a block that is not repeated has equations of several phases.
    beginPhase(written.equations[block.equations.front()].phase);
    if (block.times > 1) {
      std::string label = "x " + std::to_string(block.times);
      if (!block.firstCall.empty() && block.firstCall != block.lastCall)
        label += " (" + block.firstCall + " to " + block.lastCall + ")";
      out << "    subgraph cluster_" << frames++
          << " {\n    style=rounded; label=" << quoted({label}) << ";\n";
    }
    for (size_t i : block.equations) {
      beginPhase(written.equations[i].phase);
      drawEquation(written.equations[i]);
    }
    if (block.times > 1)
      out << "    }\n";
    for (auto [first, second] : block.handedOn)
      edge(nodeOf(second), nodeOf(first, /*isTarget=*/true),
           "constraint=false, style=dotted, label=" +
               quoted({"next of " + std::to_string(block.times)}));
  }

  void drawEquation(const Equation &equation) {
    llvm::DenseMap<Value, std::string> movedHere;
    SmallVector<CollectiveOpInterface> after;
    for (CollectiveOpInterface op : equation.collectives)
      if (movesResult(equation, op))
        after.push_back(op);
      else
        drawCollective(op, movedHere);
    if (!equation.isCollectiveAlone())
      drawOperation(equation, movedHere, after);
    for (CollectiveOpInterface op : after)
      drawCollective(op, made);
  }

  static bool movesResult(const Equation &equation, CollectiveOpInterface op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::any_of(equation.results, [&](const EquationTensor &result) {
        return result.named == namedValue(operand);
      });
    });
  }

  /// The type in which an operation makes its result, before `after` move it.
  static RankedTensorType typeMade(const EquationTensor &result,
                                   ArrayRef<CollectiveOpInterface> after) {
    for (CollectiveOpInterface op : after)
      for (Value operand : op->getOperands())
        if (namedValue(operand) == result.named)
          return typeOf(operand);
    return result.type;
  }

  void drawOperation(const Equation &equation,
                     const llvm::DenseMap<Value, std::string> &movedHere,
                     ArrayRef<CollectiveOpInterface> after) {
    std::string node = freshNode();
    SmallVector<std::string> lines;
    bool pending = false;
    for (const EquationTensor &result : equation.results) {
      RankedTensorType type = typeMade(result, after);
      lines.push_back(text.tensorAlone({result.named, type}));
      pending |= isPending(type);
    }
    lines.push_back(equation.function.empty()
                        ? equation.op->getName().stripDialect().str()
                        : equation.function);
    out << "    " << node << " [label=" << quoted(lines);
    if (pending)
      out << ", style=dashed, color=" << pendingColor;
    out << "];\n";
    for (const EquationTensor &operand : equation.operands)
      edge(originOf(operand, equation, movedHere), node,
           isPending(operand.type) && !movedHere.contains(operand.named)
               ? pendingStyle()
               : "");
    for (const EquationTensor &result : equation.results)
      made[result.named] = node;
  }

  /// The node whose tensor an equation reads: what moved it for this equation
  /// or, if it is present already, for an earlier one.
  std::string originOf(const EquationTensor &operand, const Equation &equation,
                       const llvm::DenseMap<Value, std::string> &movedHere) {
    if (auto it = movedHere.find(operand.named); it != movedHere.end())
      return it->second;
    bool isPresent =
        llvm::any_of(equation.present, [&](const EquationTensor &tensor) {
          return tensor.named == operand.named;
        });
    auto it = moved.find(operand.named);
    return isPresent && it != moved.end() ? it->second : nodeOf(operand.named);
  }

  /// Draws a collective, and notes where its results are now.
  void drawCollective(CollectiveOpInterface op,
                      llvm::DenseMap<Value, std::string> &places) {
    std::string node = freshNode();
    LedgerRow row = ledgerOf(op, written.mesh);
    bool completes = isPending(typeOf(op->getOperand(0)));
    out << "    " << node << " [shape=hexagon, style=filled, fillcolor="
        << (completes ? "mistyrose" : "aliceblue") << ", label="
        << quoted({op->getName().stripDialect().str() + " over " + axesOf(row),
                   rt::bytesText(double(row.bytes)) + " per rank"})
        << "];\n";
    // Tensors of layers that are not drawn come from one node.
    std::set<std::string> origins;
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults())) {
      Value named = namedValue(operand);
      auto before = ofResult.find(operand);
      std::string origin =
          before != ofResult.end() ? before->second : nodeOf(named);
      if (origins.insert(origin).second)
        edge(origin, node, isPending(typeOf(operand)) ? pendingStyle() : "");
      ofResult[result] = places[named] = moved[named] = node;
    }
  }

  static std::string pendingStyle() {
    return std::string("style=dashed, color=") + pendingColor;
  }

  void edge(const std::string &from, const std::string &to,
            const std::string &style) {
    if (from.empty() || to.empty())
      return;
    statements.push_back(from + " -> " + to +
                         (style.empty() ? "" : " [" + style + "]"));
  }

  /// The node of a value. Arguments get theirs where they are first read. Empty
  /// for a value that nothing drawn makes.
  std::string nodeOf(Value value, bool isTarget = false) {
    if (auto it = made.find(value); it != made.end())
      return it->second;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || isTarget)
      return "";
    std::string node = freshNode();
    statements.push_back(
        node + " [shape=" + (isParameter(argument) ? "cylinder" : "ellipse") +
        ", label=" + quoted({text.tensorAlone({value, typeOf(value)})}) + "]");
    return made[value] = node;
  }

  /// The equations [begin, end) are not drawn: they repeat the last block.
  /// Their results are those of the equations that they repeat.
  void repeatUntil(size_t end, size_t begin) {
    if (!last || last->times < 2)
      return;
    for (size_t i = begin, k = 0; i < end; ++i, ++k) {
      const Equation &drawn =
          written.equations[last->equations[k % last->equations.size()]];
      const Equation &repeated = written.equations[i];
      for (auto [from, to] : llvm::zip(drawn.results, repeated.results))
        if (drawn.function == repeated.function &&
            from.type.getShape() == to.type.getShape())
          made[to.named] = nodeOf(from.named);
    }
  }

  const WrittenEquations &written;
  EquationText &text;
  raw_ostream &out;
  /// The phase whose frame is open; "" if none is.
  std::string phase;
  unsigned nodes = 0, frames = 0;
  /// Arguments' nodes and all edges, which stand in no frame.
  std::vector<std::string> statements;
  /// The last block that was drawn.
  const EquationBlock *last = nullptr;
  /// The node that a named tensor comes from, and the last that moved it.
  llvm::DenseMap<Value, std::string> made, moved;
  /// The nodes of collectives, by the results that they have.
  llvm::DenseMap<Value, std::string> ofResult;
};

} // namespace

void tpsp::printGraph(const WrittenEquations &written, StringRef title,
                      EquationText &text, raw_ostream &out) {
  GraphPrinter(written, text, out).print(title);
}
