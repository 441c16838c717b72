#include "EquationNotation.h"

#include "ExplicitIndices.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

class Subscripts : public EquationNotation {
public:
  std::string write(StringRef name, RankedTensorType type) override {
    return (name + "[" + subscripts(type) + "]").str();
  }
};

class Explicit : public EquationNotation {
public:
  Explicit(const Mesh &mesh, std::set<std::string> taken)
      : indices(mesh, std::move(taken)) {}

  void begin(ArrayRef<RankedTensorType> types) override {
    indices.begin(types);
  }
  std::string write(StringRef name, RankedTensorType type) override {
    std::vector<std::string> letters;
    for (const ExplicitIndex &index : indices.of(type))
      letters.push_back(index.letter +
                        (index.axis ? std::to_string(*index.axis) : ""));
    return (name + "_{" + llvm::join(letters, " ") + "}").str();
  }
  void printLegend(raw_ostream &out) const override {
    out << "\nindices\n";
    for (const std::string &line : indices.legend())
      out << "  " << line << "\n";
  }

private:
  ExplicitIndices indices;
};

} // namespace

SmallVector<EquationTensor> tpsp::tensorsOf(const Equation &equation) {
  SmallVector<EquationTensor> tensors;
  llvm::append_range(tensors, equation.results);
  llvm::append_range(tensors, equation.operands);
  for (CollectiveOpInterface collective : equation.collectives)
    for (auto values : {ValueRange(collective->getOperands()),
                        ValueRange(collective->getResults())})
      for (Value value : values)
        tensors.push_back({namedValue(value), typeOf(value)});
  llvm::append_range(tensors, equation.present);
  return tensors;
}

std::vector<RankedTensorType> tpsp::typesOf(const Equation &equation) {
  std::vector<RankedTensorType> types;
  for (const auto &tensors : {ArrayRef<EquationTensor>(equation.results),
                              ArrayRef<EquationTensor>(equation.operands)})
    for (const EquationTensor &tensor : tensors)
      types.push_back(tensor.type);
  return types;
}

std::set<std::string> tpsp::indexNamesOf(ArrayRef<Equation> equations) {
  std::set<std::string> names;
  for (const Equation &equation : equations)
    for (const EquationTensor &tensor : tensorsOf(equation))
      for (StringRef name : indexNames(tensor.type))
        names.insert(name.str());
  return names;
}

std::unique_ptr<EquationNotation>
tpsp::makeNotation(StringRef name, const Mesh &mesh,
                   ArrayRef<Equation> equations) {
  if (name == "subscripts")
    return std::make_unique<Subscripts>();
  if (name == "explicit")
    return std::make_unique<Explicit>(mesh, indexNamesOf(equations));
  return nullptr;
}
