#include "EquationLayers.h"

#include "EquationNotation.h"
#include "LayerFolding.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Logical/SeedCalls.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// A number for each text.
using Forms = llvm::StringMap<unsigned>;

unsigned numberOf(const std::string &text, Forms &forms) {
  return forms.try_emplace(text, forms.size()).first->second;
}

/// Everything about an equation but names and places in the source.
std::string formOf(const Equation &equation, const Mesh &mesh) {
  std::string form;
  llvm::raw_string_ostream stream(form);
  stream << equation.sign << " " << equation.function;
  for (NamedAttribute attribute : equation.attributes)
    stream << " " << textOf(withWrittenSeed(attribute));
  if (equation.op && isRecomputed(equation.op))
    stream << " recomputed";
  if (equation.op)
    stream << " " << equation.op->getAttr(noteAttrName);
  for (CollectiveOpInterface collective : equation.collectives) {
    LedgerRow row = ledgerOf(collective, mesh);
    stream << " " << collective->getName() << " "
           << collective->getNumOperands() << " " << axesOf(row) << " "
           << row.index << " " << row.bytes << " " << row.reason;
  }
  for (const EquationTensor &tensor : tensorsOf(equation))
    stream << " " << tensor.type;
  return form;
}

/// The last operation of the backward pass that makes an operand; null if there
/// is none.
Operation *lastMaker(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands()) {
    Operation *maker = namedValue(operand).getDefiningOp();
    if (maker && isBackward(maker) && (!last || last->isBeforeInBlock(maker)))
      last = maker;
  }
  return last;
}

/// The operation that tells the equation's layer. A sum of gradients is of the
/// layer that makes its last summand, not of the one whose tensor it is the
/// gradient of.
Operation *ofLayer(const Equation &equation) {
  if (!equation.op)
    return equation.collectives.front();
  Operation *op = equation.op;
  while (isa<AddOp>(op) && isBackward(op)) {
    Operation *maker = lastMaker(op);
    if (!maker)
      break;
    op = maker;
  }
  return op;
}

FoldedItem itemOf(const Equation &equation, const Mesh &mesh, Forms &forms) {
  FoldedItem item;
  item.form = numberOf(formOf(equation, mesh), forms);
  item.phase = numberOf(equation.phase, forms);
  for (const EquationTensor &tensor : tensorsOf(equation))
    item.tensors.push_back(tensor.named);
  item.op = ofLayer(equation);
  if (equation.op)
    for (const EquationTensor &result : equation.results)
      item.made.push_back(result.named);
  return item;
}

/// The layers among some of the equations.
struct Layers {
  /// Numbers of the equations that were looked at.
  std::vector<size_t> considered;
  std::vector<FoldedItem> items;
  /// The number of lines of each item's text.
  std::vector<size_t> lines;
  std::vector<LayerFold> folds;

  /// Lines that need not be written.
  size_t saved() const {
    size_t sum = 0;
    for (const LayerFold &fold : folds)
      for (size_t i = fold.begin; i < fold.begin + fold.saved(); ++i)
        sum += lines[i];
    return sum;
  }
};

class BlockFinder {
public:
  BlockFinder(ArrayRef<Equation> equations, const Mesh &mesh,
              const Repetition &repetition)
      : equations(equations), repetition(repetition) {
    Forms forms;
    for (const Equation &equation : equations)
      items.push_back(itemOf(equation, mesh, forms));
  }

  std::vector<EquationBlock> find() {
    Layers all = layersAmong(/*withCollectivesAlone=*/true);
    Layers others = layersAmong(/*withCollectivesAlone=*/false);
    return blocksOf(others.saved() > all.saved() ? others : all);
  }

private:
  /// A line for each tensor of a collective, and one for what it costs.
  static size_t linesOf(const Equation &equation) {
    size_t lines = equation.isCollectiveAlone() ? 0 : 1;
    for (CollectiveOpInterface collective : equation.collectives)
      lines += collective->getNumOperands() + 1;
    return lines;
  }

  Layers layersAmong(bool withCollectivesAlone) const {
    Layers layers;
    for (auto [i, equation] : llvm::enumerate(equations)) {
      if (!withCollectivesAlone && equation.isCollectiveAlone())
        continue;
      layers.considered.push_back(i);
      layers.items.push_back(items[i]);
      layers.lines.push_back(linesOf(equation));
    }
    layers.folds = foldLayers(layers.items, repetition);
    return layers;
  }

  std::vector<EquationBlock> blocksOf(const Layers &layers) const {
    std::vector<EquationBlock> blocks;
    size_t next = 0;
    for (const LayerFold &fold : layers.folds) {
      size_t begin = layers.considered[fold.begin];
      size_t end = layers.considered[fold.end() - 1] + 1;
      blocks.push_back(between(next, begin));
      blocks.push_back(folded(layers, fold));
      // Equations between the layers that belong to none of them.
      EquationBlock alone;
      for (size_t i = begin; i < end; ++i)
        if (!std::binary_search(layers.considered.begin(),
                                layers.considered.end(), i))
          alone.equations.push_back(i);
      blocks.push_back(std::move(alone));
      next = end;
    }
    blocks.push_back(between(next, equations.size()));
    llvm::erase_if(blocks, [](const EquationBlock &block) {
      return block.equations.empty();
    });
    return blocks;
  }

  static EquationBlock between(size_t begin, size_t end) {
    EquationBlock block;
    for (size_t i = begin; i < end; ++i)
      block.equations.push_back(i);
    return block;
  }

  EquationBlock folded(const Layers &layers, const LayerFold &fold) const {
    EquationBlock block;
    block.times = fold.times;
    for (size_t i = fold.begin; i < fold.begin + fold.period; ++i)
      block.equations.push_back(layers.considered[i]);
    for (size_t i = fold.begin + fold.period; i < fold.end(); ++i)
      block.repeated.push_back(layers.considered[i]);
    block.firstCall = nameOf(layers, fold, fold.begin);
    block.lastCall = nameOf(layers, fold, fold.end() - fold.period);
    block.handedOn.assign(fold.handedOn.begin(), fold.handedOn.end());
    return block;
  }

  /// The name of the call that made the block that begins at `begin`.
  std::string nameOf(const Layers &layers, const LayerFold &fold,
                     size_t begin) const {
    auto call = callOf(ArrayRef(layers.items).slice(begin, fold.period),
                       fold.level, repetition);
    return repetition.nameOf(fold.level, *call).str();
  }

  ArrayRef<Equation> equations;
  const Repetition &repetition;
  std::vector<FoldedItem> items;
};

} // namespace

std::vector<EquationBlock> tpsp::blocksOf(ArrayRef<Equation> equations,
                                          const Mesh &mesh,
                                          const Repetition &repetition,
                                          bool everyLayer) {
  if (!everyLayer)
    return BlockFinder(equations, mesh, repetition).find();
  EquationBlock all;
  for (size_t i = 0; i < equations.size(); ++i)
    all.equations.push_back(i);
  return {all};
}
