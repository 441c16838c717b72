// Equations for papers in LaTeX, in both of the documents' notations.
#include "ExplanationTables.h"

#include "ExplicitIndices.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

/// "\mathrm{w\_0}"; a single letter stays as it is.
static std::string named(StringRef name) {
  if (name.size() == 1)
    return name.str();
  std::string text = "\\mathrm{";
  for (char letter : name) {
    if (StringRef("_#&%$").contains(letter))
      text += '\\';
    text += letter;
  }
  return text + "}";
}

namespace {

/// b s_{0} d
class Implicit : public EquationNotation {
public:
  explicit Implicit(const Mesh &mesh) : mesh(mesh) {}

  std::string write(StringRef name, RankedTensorType type) override {
    Placement placement = placementOf(type, mesh);
    std::vector<std::string> indices;
    for (auto [index, axes] : llvm::zip_equal(indexNames(type), placement.dims))
      indices.push_back(named(index) + numbers(axes));
    std::string text = named(name) + "_{" + llvm::join(indices, " ") + "}";
    if (placement.pending.empty())
      return text;
    StringRef combined = placement.reduction == Reduction::Sum ? "sum" : "max";
    return ("\\mathtt{" + combined + "}" + numbers(placement.pending) + "\\, " +
            text)
        .str();
  }

private:
  static std::string numbers(ArrayRef<AxisId> axes) {
    if (axes.empty())
      return "";
    return "_{" +
           llvm::join(
               llvm::map_range(
                   axes, [](AxisId axis) { return std::to_string(axis); }),
               ",") +
           "}";
  }

  const Mesh &mesh;
};

/// b t_{0} l d
class Divided : public EquationNotation {
public:
  Divided(const Mesh &mesh, std::set<std::string> taken)
      : indices(mesh, std::move(taken)) {}

  void begin(ArrayRef<RankedTensorType> types) override {
    indices.begin(types);
  }
  std::string write(StringRef name, RankedTensorType type) override {
    std::vector<std::string> letters;
    for (const ExplicitIndex &index : indices.of(type))
      letters.push_back(withAxis(index));
    return named(name) + "_{" + llvm::join(letters, " ") + "}";
  }
  void printLegend(raw_ostream &out) const override {
    for (const std::string &line : indices.legend())
      out << "% " << line << "\n";
  }

private:
  /// "t'_{0}"
  static std::string withAxis(const ExplicitIndex &index) {
    StringRef letter = StringRef(index.letter).rtrim('\'');
    std::string text =
        named(letter) + std::string(index.letter.size() - letter.size(), '\'');
    if (index.axis)
      text += "_{" + std::to_string(*index.axis) + "}";
    return text;
  }

  ExplicitIndices indices;
};

class LatexPrinter {
public:
  LatexPrinter(const WrittenEquations &written, EquationNotation &notation,
               EquationText::NameOf nameOf, raw_ostream &out)
      : written(written), notation(notation), nameOf(nameOf), out(out) {}

  void print() {
    std::string phase;
    for (const EquationBlock &block : written.blocks) {
      for (size_t i : block.equations) {
        const Equation &equation = written.equations[i];
        if (equation.phase != phase)
          begin(phase.empty(), equation.phase);
        phase = equation.phase;
        if (block.times > 1 && i == block.equations.front())
          out << "% " << block.times << " times\n";
        print(equation);
      }
      if (block.times > 1)
        out << "% (to here " << block.times << " times)\n";
    }
    if (!phase.empty())
      out << "\\end{align*}\n";
  }

private:
  void begin(bool isFirst, StringRef phase) {
    if (!isFirst)
      out << "\\end{align*}\n";
    out << "% " << phase << "\n\\begin{align*}\n";
  }

  std::string tensor(const EquationTensor &tensor) {
    return notation.write(nameOf(tensor.named), tensor.type);
  }

  std::string list(ArrayRef<EquationTensor> tensors) {
    std::vector<std::string> texts;
    for (const EquationTensor &each : tensors)
      texts.push_back(tensor(each));
    return llvm::join(texts, ", ");
  }

  void print(const Equation &equation) {
    if (equation.op) {
      notation.begin(typesOf(equation));
      out << "  " << list(equation.results) << " &= " << rightOf(equation)
          << " \\\\\n";
    }
    for (CollectiveOpInterface op : equation.collectives)
      printMovement(op);
  }

  std::string rightOf(const Equation &equation) {
    std::vector<std::string> operands;
    for (const EquationTensor &operand : equation.operands)
      operands.push_back(tensor(operand));
    if (equation.function.empty())
      return llvm::join(operands, equation.sign == "+" ? " + " : " \\, ");
    StringRef function = StringRef(equation.function).rtrim('\'');
    return named(function) +
           std::string(equation.function.size() - function.size(), '\'') + "(" +
           llvm::join(operands, ", ") + ")";
  }

  void printMovement(CollectiveOpInterface op) {
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults())) {
      auto from = typeOf(operand);
      auto to = typeOf(result);
      notation.begin({from, to});
      out << "  &\\qquad " << tensor({operand, from}) << " \\xrightarrow{"
          << named(op->getName().stripDialect()) << "} "
          << tensor({operand, to}) << " \\\\\n";
    }
  }

  const WrittenEquations &written;
  EquationNotation &notation;
  EquationText::NameOf nameOf;
  raw_ostream &out;
};

} // namespace

void tpsp::printLatex(const WrittenEquations &written,
                      EquationText::NameOf nameOf, raw_ostream &out) {
  for (AxisId axis = 0; axis < written.mesh.numAxes(); ++axis)
    out << "% mesh axis " << axis << ": " << written.mesh.axis(axis).name
        << ", " << written.mesh.size(axis) << " ranks\n";
  out << "\n% implicit: a subscript is the mesh axis that shards an index\n";
  Implicit implicit(written.mesh);
  LatexPrinter(written, implicit, nameOf, out).print();
  out << "\n% explicit: sharded indices divided into a device's and a local "
         "one\n";
  Divided divided(written.mesh, indexNamesOf(written.equations));
  LatexPrinter(written, divided, nameOf, out).print();
  divided.printLegend(out);
}
