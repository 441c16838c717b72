#include "PlacementWarnings.h"

#include "Passes/Program/Placed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tpsp;

namespace {

std::string spelled(Type type, const Placement &placement, const Mesh &mesh) {
  return "[" +
         subscripts(
             withPlacement(cast<RankedTensorType>(type), placement, mesh)) +
         "]";
}

/// Suggests several axes in place of one that divides several parts of a merged
/// dimension: "tp0 = 2 and tp1 = 2, as o@tp0@tp1". Empty if no split works.
std::string severalAxes(const IndexStructure &structure,
                        const IndexStructure::Tensor &tensor, unsigned dim,
                        StringRef index, const MeshAxis &axis) {
  std::string sizes, subscript = index.str();
  int64_t left = axis.size;
  unsigned count = 0;
  for (IndexId part : tensor.parts(dim)) {
    int64_t extent = structure.indices[part].extent;
    int64_t size = std::gcd(left, extent);
    if (size > 1) {
      std::string name = axis.name + std::to_string(count);
      sizes += (count++ ? " and " : "") + name + " = " + std::to_string(size);
      subscript += "@" + name;
    }
    left /= size;
    if (size != extent)
      break;
  }
  return left == 1 && count > 1 ? sizes + ", as " + subscript : "";
}

/// Suggests how the operation could divide its work over the axis.
std::string wayOut(IndexedOpInterface op, const PlacedOperation &placed,
                   unsigned operand, AxisId axis) {
  const IndexStructure &structure = placed.structure;
  const MeshAxis &meshAxis = placed.mesh.axis(axis);
  unsigned dim = *placed.operands[operand].dimOf(axis);
  std::string index =
      getIdx(op->getOperand(operand)).getNames()[dim].getValue().str();
  std::string several =
      severalAxes(structure, structure.operands[operand], dim, index, meshAxis);
  if (!several.empty())
    return "@" + meshAxis.name + " divides several parts of '" + index +
           "' at once; write axes in its place that each divide one, " +
           several;
  for (IndexId other = 0; other < structure.indices.size(); ++other) {
    std::optional<unsigned> onto = structure.operands[operand].dimOf(other);
    if (!onto || onto == dim || structure.indices[other].whole)
      continue;
    Placement moved = placed.operands[operand];
    llvm::erase(moved.dims[dim], axis);
    moved.dims[*onto].push_back(axis);
    if (!firstUnevenDim(structure.operands[operand].shape, moved, placed.mesh))
      return "write " + operandName(op, operand) + " as " +
             spelled(op->getOperand(operand).getType(), moved, placed.mesh);
  }
  return "write " + operandName(op, operand) + " without @" + meshAxis.name;
}

/// All other orders of the axes on each dimension.
SmallVector<Placement> otherOrders(const Placement &placement,
                                   const Mesh &mesh) {
  constexpr size_t mostAxes = 3; // orders grow as the factorial
  SmallVector<Placement> found;
  for (auto [dim, axes] : llvm::enumerate(placement.dims)) {
    if (axes.size() < 2 || axes.size() > mostAxes)
      continue;
    Placement other = placement;
    llvm::sort(other.dims[dim]);
    do {
      if (other != placement)
        found.push_back(other);
    } while (
        std::next_permutation(other.dims[dim].begin(), other.dims[dim].end()));
  }
  return found;
}

} // namespace

void PlacementWarnings::see(IndexedOpInterface op,
                            const PlacedOperation &placed,
                            const ComputePlacement &choice) {
  seeGathers(op, placed, choice);
  seeOrders(op, placed, choice);
}

void PlacementWarnings::seeGathers(IndexedOpInterface op,
                                   const PlacedOperation &placed,
                                   const ComputePlacement &choice) {
  for (auto [i, has] : llvm::enumerate(placed.operands))
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
      std::optional<unsigned> dim = has.dimOf(axis);
      if (!dim || mesh.size(axis) == 1 || choice.operands[i].uses(axis))
        continue;
      Gathered gathered{op->getOperand(i), axis};
      IndexList parts = placed.structure.operands[i].parts(*dim);
      // A row of elements is divided for storage alone.
      bool isRow =
          flatCut(placed.structure.operands[i].shape, has, mesh).has_value();
      auto hasNumbers = [&](unsigned other) {
        return isa<FloatType>(
            getElementTypeOrSelf(op->getOperand(other).getType()));
      };
      bool couldDivide = !isRow && llvm::any_of(parts, [&](IndexId index) {
        return !placed.structure.indices[index].whole &&
               !placed.structure.isLookedUp(i, index, hasNumbers);
      });
      if (couldDivide && choice.drives[axis].kind == Drive::Nothing)
        repeated.insert({gathered, {op, wayOut(op, placed, i, axis)}});
      else
        neededWhole.insert(gathered);
    }
}

void PlacementWarnings::seeOrders(IndexedOpInterface op,
                                  const PlacedOperation &placed,
                                  const ComputePlacement &choice) {
  for (auto [i, has] : llvm::enumerate(placed.operands)) {
    auto argument = dyn_cast<BlockArgument>(op->getOperand(i));
    if (!argument || otherOrders(has, mesh).empty())
      continue;
    auto &spellings = orders[argument];
    if (spellings.empty()) {
      spellings.push_back({has});
      for (Placement &other : otherOrders(has, mesh))
        spellings.push_back({std::move(other)});
    }
    for (Spelling &spelling : spellings) {
      SmallVector<Placement, 3> operands(placed.operands);
      operands[i] = spelling.placement;
      PlacedOperation respelled{placed.structure, operands, placed.wanted, mesh,
                                placed.weights};
      auto other = evaluate(respelled, choice.drives);
      spelling.bytes += other ? other->cost.bytes : choice.cost.bytes;
    }
  }
}

void PlacementWarnings::warnOfOrder(BlockArgument argument,
                                    ArrayRef<Spelling> spellings) const {
  const Spelling &written = spellings.front();
  const Spelling &best = *std::min_element(
      spellings.begin(), spellings.end(),
      [](const Spelling &a, const Spelling &b) { return a.bytes < b.bytes; });
  if (written.bytes < 2 * best.bytes || written.bytes == best.bytes)
    return;
  mlir::emitWarning(argument.getLoc())
      << "what uses this argument sends " << formatBytes(written.bytes)
      << " per rank; as " << spelled(argument.getType(), best.placement, mesh)
      << " it would send " << formatBytes(best.bytes);
}

void PlacementWarnings::emit() const {
  for (const auto &[gathered, alike] : repeated) {
    if (neededWhole.contains(gathered))
      continue;
    auto [op, way] = alike;
    const MeshAxis &axis = mesh.axis(gathered.second);
    op->emitWarning("this ")
        << op->getName().stripDialect() << " is done alike on all " << axis.size
        << " ranks of @" << axis.name << ", for which an operand is gathered; "
        << way;
  }
  for (const auto &[argument, spellings] : orders)
    warnOfOrder(argument, spellings);
}
