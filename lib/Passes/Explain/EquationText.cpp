#include "EquationText.h"

#include "Passes/Collectives/Ledger.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

static void collectPlaces(Location loc,
                          SmallVectorImpl<FileLineColLoc> &places) {
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return collectPlaces(call.getCallee(), places);
  if (auto named = dyn_cast<NameLoc>(loc))
    return collectPlaces(named.getChildLoc(), places);
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      collectPlaces(part, places);
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    places.push_back(place);
}

SmallVector<FileLineColLoc> tpsp::writtenPlaces(Location loc) {
  SmallVector<FileLineColLoc> places;
  collectPlaces(loc, places);
  return places;
}

std::string tpsp::placeOf(Location loc) {
  SmallVector<FileLineColLoc> places = writtenPlaces(loc);
  llvm::SmallSetVector<unsigned, 4> lines;
  for (FileLineColLoc place : places)
    lines.insert(place.getLine());
  std::string text;
  for (unsigned line : lines)
    text += (text.empty() ? ":" : ", ") + std::to_string(line);
  return lines.empty() ? ""
                       : " (" + places.front().getFilename().str() + text + ")";
}

std::string EquationText::tensor(const EquationTensor &tensor) {
  return notation.write(nameOf(tensor.named), tensor.type);
}

std::string EquationText::tensorAlone(const EquationTensor &alone) {
  notation.begin({alone.type});
  return tensor(alone);
}

std::string EquationText::function(const Equation &equation) {
  std::vector<std::string> operands;
  for (const EquationTensor &operand : equation.operands)
    operands.push_back(tensor(operand));
  if (!equation.sign.empty())
    return llvm::join(operands, (" " + equation.sign + " ").str());
  for (NamedAttribute attribute : equation.attributes)
    operands.push_back(textOf(attribute));
  return equation.function + "(" + llvm::join(operands, ", ") + ")";
}

std::vector<std::string> EquationText::equation(const Equation &equation) {
  if (equation.isCollectiveAlone())
    return {};
  notation.begin(typesOf(equation));
  bool isAgain = isRecomputed(equation.op);
  std::vector<std::string> left;
  for (const EquationTensor &result : equation.results)
    left.push_back(tensor(result));
  std::vector<std::string> lines = {llvm::join(left, ", ") + " = " +
                                    function(equation) +
                                    (isAgain ? "  (recomputed)" : "")};
  if (auto note = equation.op->getAttrOfType<StringAttr>(noteAttrName))
    lines.push_back("  * " + note.getValue().str());
  return lines;
}

/// The operands of a collective. Those that layers have in common stand
/// together.
std::vector<SmallVector<unsigned>>
EquationText::layersOf(Operation *collective) const {
  llvm::DenseMap<std::tuple<unsigned, unsigned, Type>, unsigned> numbers;
  std::vector<SmallVector<unsigned>> layers;
  for (auto [i, operand] : llvm::enumerate(collective->getOperands())) {
    auto result = dyn_cast<OpResult>(namedValue(operand));
    if (!result || !repetition.layerOf(result.getOwner())) {
      layers.push_back({unsigned(i)});
      continue;
    }
    std::tuple key(repetition.placeOf(result.getOwner()).what,
                   result.getResultNumber(), operand.getType());
    auto [it, isNew] = numbers.try_emplace(key, unsigned(layers.size()));
    if (isNew)
      layers.emplace_back();
    layers[it->second].push_back(i);
  }
  return layers;
}

std::string EquationText::moved(CollectiveOpInterface op, unsigned i) {
  auto from = typeOf(op->getOperand(i));
  auto to = typeOf(op->getResult(i));
  notation.begin({from, to});
  return "  > " + op->getName().stripDialect().str() + " " +
         tensor({op->getOperand(i), from}) + " -> " + notation.write("", to);
}

std::vector<std::string> EquationText::movement(CollectiveOpInterface op,
                                                bool everyLayer) {
  std::vector<std::string> lines;
  if (everyLayer)
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      lines.push_back(moved(op, i));
  else
    for (const SmallVector<unsigned> &layers : layersOf(op)) {
      lines.push_back(moved(op, layers.front()));
      if (layers.size() > 1)
        lines.back() += "  x " + std::to_string(layers.size()) + ", to " +
                        nameOf(op->getOperand(layers.back()));
    }
  lines.push_back(costs(op));
  return lines;
}

std::string EquationText::costs(CollectiveOpInterface op) {
  LedgerRow row = ledgerOf(op, mesh);
  std::string over = "    over " + axesOf(row);
  if (!row.index.empty())
    over += " along " + row.index;
  return over + ", " + formatBytes(row.bytes) + " per rank: " + row.reason +
         placeOf(op->getLoc());
}

std::vector<std::string> EquationText::present(const Equation &equation) {
  std::vector<std::string> lines;
  for (const EquationTensor &operand : equation.present)
    lines.push_back("    " + tensorAlone(operand) + " is there already");
  return lines;
}
