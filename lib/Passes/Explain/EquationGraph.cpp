#include "EquationGraph.h"

#include "Passes/Collectives/Ledger.h"
#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace tpsp;

/// The color of sums that are pending, and of what completes them.
static constexpr const char *pendingColor = "firebrick";

/// A style for browsers: the picture is at most as wide as the page.
static constexpr const char *fitsPage =
    "data:text/css,svg{max-width:100%25;height:auto}";

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

/// An equation or a collective. Equal ones that read the same nodes are one
/// node.
struct GraphNode {
  std::string name;
  SmallVector<std::string> label;
  std::string style;
  unsigned times = 1;

  std::string text() const {
    if (name.empty())
      return "";
    SmallVector<std::string> all = label;
    if (times > 1)
      all.back() += " x " + std::to_string(times);
    return "    " + name + " [" + (style.empty() ? "" : style + ", ") +
           "label=" + quoted(all) + "];";
  }
};

/// The node that an edge comes from, and the edge's style.
using GraphEdge = std::pair<std::string, std::string>;

/// Text between nodes, or a node.
struct GraphLine {
  std::string text;
  GraphNode node;
};

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
        << "  edge [fontname=Helvetica, fontsize=9];\n"
        << "  graph [stylesheet=" << quoted({fitsPage}) << "];\n";
    for (const EquationBlock &block : written.blocks) {
      drawBlock(block);
      repeat(block);
    }
    beginPhase("");
    for (const GraphLine &line : lines)
      out << line.text << line.node.text() << "\n";
    for (const std::string &statement : statements)
      out << "  " << statement << ";\n";
    out << "}\n";
  }

private:
  /// Whether ranks hold summands. An axis of one rank has nothing to add.
  bool isPending(RankedTensorType type) const {
    return written.mesh.groupSize(placementOf(type, written.mesh).pending) > 1;
  }

  std::string freshNode() { return "n" + std::to_string(nodes++); }

  /// Closes the frame of the last phase and opens one; "" opens none.
  void beginPhase(StringRef name) {
    if (name == phase)
      return;
    if (!phase.empty())
      write("  }");
    phase = name.str();
    drawn.clear();
    if (!name.empty())
      openFrame("  ", "label=" + quoted({phase}));
  }

  void openFrame(StringRef margin, StringRef attributes) {
    write((margin + "subgraph cluster_" + Twine(frames++) + " {").str());
    write((margin + "  " + attributes + ";").str());
  }

  void write(std::string text) { lines.push_back({std::move(text), {}}); }

  /// Draws a node and the edges to it. If the phase has an equal one, which
  /// reads the same nodes, it is counted there. `form` has what the label
  /// lacks.
  std::string drawNode(GraphNode node, ArrayRef<GraphEdge> edges,
                       const std::string &form) {
    std::string key = node.style + " " + node.label.back() + " " + form;
    for (const auto &[origin, style] : edges)
      key += "\n" + origin + " " + style;
    auto [place, isNew] = drawn.try_emplace(key, lines.size());
    if (!isNew) {
      GraphNode &first = lines[place->second].node;
      ++first.times;
      return first.name;
    }
    node.name = freshNode();
    for (const auto &[origin, style] : edges)
      edge(origin, node.name, style);
    lines.push_back({"", std::move(node)});
    return lines.back().node.name;
  }

  void drawBlock(const EquationBlock &block) {
    // Only a block that is not repeated has equations of several phases.
    beginPhase(written.equations[block.equations.front()].phase);
    if (block.times > 1) {
      std::string label = "x " + std::to_string(block.times);
      if (!block.firstCall.empty() && block.firstCall != block.lastCall)
        label += " (" + block.firstCall + " to " + block.lastCall + ")";
      openFrame("    ", "style=rounded; label=" + quoted({label}));
    }
    for (size_t i : block.equations) {
      beginPhase(written.equations[i].phase);
      drawEquation(written.equations[i]);
    }
    if (block.times > 1)
      write("    }");
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
    GraphNode node;
    bool pending = false;
    std::string form;
    for (const EquationTensor &result : equation.results) {
      RankedTensorType type = typeMade(result, after);
      node.label.push_back(text.tensorAlone({result.named, type}));
      llvm::raw_string_ostream(form) << type << " ";
      pending |= isPending(type);
    }
    node.label.push_back(equation.function.empty()
                             ? equation.op->getName().stripDialect().str()
                             : equation.function);
    if (pending)
      node.style = pendingStyle();
    for (NamedAttribute attribute : equation.attributes)
      form += " " + textOf(attribute);
    SmallVector<GraphEdge> edges;
    for (const EquationTensor &operand : equation.operands)
      edges.emplace_back(originOf(operand, equation, movedHere),
                         isPending(operand.type) &&
                                 !movedHere.contains(operand.named)
                             ? pendingStyle()
                             : "");
    std::string name = drawNode(std::move(node), edges, form);
    for (const EquationTensor &result : equation.results)
      made[result.named] = name;
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

  /// The axes of a collective that have several ranks.
  std::string axesText(CollectiveOpInterface op) const {
    SmallVector<StringRef> names;
    for (AxisId axis : stepOf(op, written.mesh).axes)
      if (written.mesh.size(axis) > 1)
        names.push_back(written.mesh.axis(axis).name);
    return llvm::join(names, ",");
  }

  /// The node that a collective reads an operand from.
  std::string originOf(Value operand) {
    auto before = ofResult.find(operand);
    return before != ofResult.end() ? before->second
                                    : nodeOf(namedValue(operand));
  }

  /// Draws a collective, and notes where its results are now. If the axes have
  /// one rank, nothing happens, and the results are where the operands are.
  void drawCollective(CollectiveOpInterface op,
                      llvm::DenseMap<Value, std::string> &places) {
    LedgerRow row = ledgerOf(op, written.mesh);
    if (row.group == 1) {
      for (auto [operand, result] :
           llvm::zip_equal(op->getOperands(), op->getResults())) {
        Value named = namedValue(operand);
        ofResult[result] = places[named] = moved[named] = originOf(operand);
      }
      return;
    }
    bool completes = isPending(typeOf(op->getOperand(0)));
    GraphNode node;
    node.label = {op->getName().stripDialect().str() + " over " + axesText(op),
                  rt::bytesText(double(row.bytes)) + " per rank"};
    node.style = std::string("shape=hexagon, style=filled, fillcolor=") +
                 (completes ? "mistyrose" : "aliceblue");
    // Tensors of layers that are not drawn come from one node.
    SmallVector<GraphEdge> edges;
    for (Value operand : op->getOperands()) {
      GraphEdge edge(originOf(operand),
                     isPending(typeOf(operand)) ? pendingStyle() : "");
      if (!llvm::is_contained(edges, edge))
        edges.push_back(std::move(edge));
    }
    std::string form = node.label.front();
    std::string name = drawNode(std::move(node), edges, form);
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults())) {
      Value named = namedValue(operand);
      ofResult[result] = places[named] = moved[named] = name;
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

  /// Later repetitions of a block are not drawn: their results come from the
  /// nodes of the first.
  void repeat(const EquationBlock &block) {
    for (auto [k, number] : llvm::enumerate(block.repeated)) {
      const Equation &drawn =
          written.equations[block.equations[k % block.equations.size()]];
      const Equation &repeated = written.equations[number];
      for (auto [from, to] :
           llvm::zip_equal(drawn.collectives, repeated.collectives))
        repeatCollective(from, to);
      for (auto [from, to] : llvm::zip_equal(drawn.results, repeated.results))
        made[to.named] = nodeOf(from.named);
    }
  }

  void repeatCollective(CollectiveOpInterface drawn,
                        CollectiveOpInterface repeated) {
    for (auto [from, to] :
         llvm::zip_equal(drawn->getResults(), repeated->getResults()))
      ofResult[to] = moved[namedValue(to)] = ofResult.lookup(from);
  }

  const WrittenEquations &written;
  EquationText &text;
  raw_ostream &out;
  /// The phase whose frame is open; "" if none is.
  std::string phase;
  unsigned nodes = 0, frames = 0;
  /// The frames, and the nodes in them.
  std::vector<GraphLine> lines;
  /// The line of each node of the phase, by what it is and reads.
  std::map<std::string, size_t> drawn;
  /// Arguments' nodes and all edges, which stand in no frame.
  std::vector<std::string> statements;
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
