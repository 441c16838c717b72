// Where one operation is computed, given where its operands are and its result
// is wanted.
#include "tpsp/Algebra/ComputePlacement.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace tpsp;

namespace {

/// The number of operands that are pending over `axis` with this reduction.
unsigned countPending(const PlacedOperation &operation, AxisId axis,
                      Reduction reduction) {
  return llvm::count_if(operation.operands, [&](const Placement &placement) {
    return placement.isPending(axis) && placement.reduction == reduction;
  });
}

/// The operands' pending reduction over `axis` that may be done after the
/// operation, if any.
std::optional<Reduction> pendingThatPasses(const PlacedOperation &operation,
                                           AxisId axis) {
  const IndexStructure &structure = operation.structure;
  unsigned all = operation.operands.size();
  if (all == 0)
    return std::nullopt;
  if (structure.selects && countPending(operation, axis, Reduction::Max) == all)
    return Reduction::Max;
  unsigned sums = countPending(operation, axis, Reduction::Sum);
  bool passes = (structure.linearity == Linearity::Joint && sums == all) ||
                (structure.linearity == Linearity::Multi && sums == 1);
  return passes ? std::optional(Reduction::Sum) : std::nullopt;
}

/// For each index, the axes that drive it, major to minor.
using AxesOfIndices = llvm::SmallVector<AxisList, 6>;

/// A tensor with its present or wanted subscripts.
using Carrier = std::pair<const IndexStructure::Tensor *, const Placement *>;

llvm::SmallVector<Carrier, 4> carriers(const PlacedOperation &operation) {
  llvm::SmallVector<Carrier, 4> found;
  for (auto [tensor, placement] :
       llvm::zip_equal(operation.structure.operands, operation.operands))
    found.push_back({&tensor, &placement});
  for (auto [tensor, placement] :
       llvm::zip_equal(operation.structure.results, operation.wanted))
    if (placement)
      found.push_back({&tensor, &*placement});
  return found;
}

/// Adds the axes that `carrier` has on the indices that they drive, in the
/// carrier's order.
void collectAxes(const Carrier &carrier, llvm::ArrayRef<Drive> drives,
                 AxesOfIndices &axes) {
  for (auto [dim, carried] : llvm::enumerate(carrier.second->dims))
    for (AxisId axis : carried) {
      IndexId index = drives[axis].index;
      if (drives[axis].kind == Drive::Index &&
          carrier.first->dimOf(index) == dim &&
          !llvm::is_contained(axes[index], axis))
        axes[index].push_back(axis);
    }
}

/// The axes of each index, sorted by `order`.
AxesOfIndices sorted(const AxesOfIndices &axes, llvm::ArrayRef<AxisId> order) {
  AxesOfIndices result(axes.size());
  for (auto [from, to] : llvm::zip_equal(axes, result))
    for (AxisId axis : order)
      if (llvm::is_contained(from, axis))
        to.push_back(axis);
  return result;
}

/// Every order of axes is tried only on meshes of at most this many axes.
constexpr size_t mostPermutedAxes = 4;

/// The orders worth trying if several axes drive one index. The tensors' own
/// orders come first, because they cost those tensors nothing. All other orders
/// follow, because a compromise may cost less in total.
llvm::SmallVector<AxesOfIndices, 2>
ordersOfAxes(const PlacedOperation &operation, llvm::ArrayRef<Drive> drives) {
  llvm::SmallVector<Carrier, 4> all = carriers(operation);
  llvm::SmallVector<AxesOfIndices, 2> orders;
  auto addLedBy = [&](llvm::ArrayRef<Carrier> leaders) {
    AxesOfIndices axes(operation.structure.indices.size());
    for (const Carrier &leader : leaders)
      collectAxes(leader, drives, axes);
    for (const Carrier &carrier : all)
      collectAxes(carrier, drives, axes);
    // Axes that no tensor carries yet come last.
    for (auto [axis, drive] : llvm::enumerate(drives))
      if (drive.kind == Drive::Index &&
          !llvm::is_contained(axes[drive.index], AxisId(axis)))
        axes[drive.index].push_back(axis);
    if (!llvm::is_contained(orders, axes))
      orders.push_back(std::move(axes));
  };
  addLedBy({});
  bool severalOrders = llvm::any_of(
      orders.front(), [](const AxisList &axes) { return axes.size() > 1; });
  if (!severalOrders)
    return orders;
  // An operation without operands and without wanted results has no carriers.
  for (const Carrier &leader : llvm::drop_begin(all, all.empty() ? 0 : 1))
    addLedBy(leader);
  if (drives.size() > mostPermutedAxes)
    return orders;
  AxisList order(drives.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    AxesOfIndices axes = sorted(orders.front(), order);
    if (!llvm::is_contained(orders, axes))
      orders.push_back(std::move(axes));
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

Placement placed(const IndexStructure::Tensor &tensor,
                 llvm::ArrayRef<AxisList> axesOfIndex) {
  Placement placement(tensor.indices.size());
  for (auto [dim, axes] : llvm::enumerate(placement.dims))
    for (IndexId index : tensor.parts(dim))
      llvm::append_range(axes, axesOfIndex[index]);
  return placement;
}

/// Whether some tensor is, or is wanted, cut as a row of elements.
bool isAnyCut(const PlacedOperation &operation) {
  return llvm::any_of(carriers(operation), [&](const Carrier &carrier) {
    return flatCut(carrier.first->shape, *carrier.second, operation.mesh);
  });
}

/// Whether ranks can compute with a tensor in `placement`, which is made from
/// these axes. They divide every dimension into equal blocks; or they cut the
/// tensor as a row, as others are, and the operation works on rows.
bool isPossible(const PlacedOperation &operation,
                const IndexStructure::Tensor &tensor,
                llvm::ArrayRef<AxisList> axesOfIndex,
                const Placement &placement) {
  const Mesh &mesh = operation.mesh;
  auto ranks = [&](IndexId index) {
    return mesh.groupSize(axesOfIndex[index]);
  };
  for (unsigned dim = 0; dim < tensor.minors.size(); ++dim)
    if (!operation.structure.isOneBlock(tensor, dim, ranks))
      return false;
  return !firstUnevenDim(tensor.shape, placement, mesh) ||
         (canBeStored(tensor.shape, placement, mesh) &&
          operation.structure.worksOnRows() && isAnyCut(operation));
}

/// The counter for an axis: `count` if it has several ranks, `trivial` if it
/// has one.
unsigned &countFor(AxisId axis, const Mesh &mesh, unsigned &count,
                   unsigned &trivial) {
  return mesh.size(axis) == 1 ? trivial : count;
}

/// Counts, per axis, the collectives of a transition that move a tensor against
/// the axis's role.
void addAgainstRole(const Transition &steps, bool isWeight, const Mesh &mesh,
                    PlacementCost &total) {
  AxisRole stays = isWeight ? AxisRole::Model : AxisRole::Data;
  for (const CollectiveStep &step : steps)
    for (AxisId axis : step.axes)
      if (step.kind != CollectiveKind::Slice && mesh.axis(axis).role == stays)
        ++countFor(axis, mesh, total.againstRole, total.trivial.againstRole);
}

/// Counts the pending sums that `needs` no longer has.
void addEarlySums(const Placement &has, const Placement &needs,
                  const Mesh &mesh, PlacementCost &total) {
  for (AxisId axis : has.pending)
    if (!needs.isPending(axis))
      ++countFor(axis, mesh, total.earlySums, total.trivial.earlySums);
}

/// Counts axes that drive nothing although they divide the operand on an index
/// that they could drive.
void addIdle(const PlacedOperation &operation,
             const IndexStructure::Tensor &tensor, const Placement &has,
             llvm::ArrayRef<Drive> drives, PlacementCost &total) {
  for (auto [index, axes] : llvm::zip_equal(tensor.indices, has.dims))
    for (AxisId axis : axes)
      total.idle += !operation.structure.indices[index].whole &&
                    drives[axis].kind == Drive::Nothing &&
                    operation.mesh.size(axis) > 1;
}

/// Adds the cost of bringing a tensor from one placement to another; false if
/// that is impossible.
bool addTransition(const IndexStructure::Tensor &tensor, bool isWeight,
                   const Placement &from, const Placement &to, const Mesh &mesh,
                   PlacementCost &total) {
  if (from == to)
    return true;
  std::optional<Transition> steps =
      planTransition(from, to, tensor.shape, mesh);
  if (!steps)
    return false;
  TransitionCost added =
      cost(*steps, from, tensor.shape, tensor.elementBytes, mesh);
  total.collectives += added.collectives;
  total.bytes += added.bytes;
  total.trivial.collectives += added.trivial;
  for (const CollectiveStep &step : *steps)
    total.trivial.slices +=
        step.kind == CollectiveKind::Slice && mesh.groupSize(step.axes) == 1;
  addAgainstRole(*steps, isWeight, mesh, total);
  return true;
}

double workPerRank(const IndexStructure &structure,
                   llvm::ArrayRef<AxisList> axesOfIndex, const Mesh &mesh) {
  double work = structure.work();
  for (const AxisList &axes : axesOfIndex)
    work /= static_cast<double>(mesh.groupSize(axes));
  return work;
}

} // namespace

bool PlacementCost::operator<(const PlacementCost &other) const {
  return std::tie(idle, againstRole, collectives, work, earlySums, bytes,
                  trivial.collectives, trivial.earlySums, trivial.againstRole,
                  trivial.slices) <
         std::tie(other.idle, other.againstRole, other.collectives, other.work,
                  other.earlySums, other.bytes, other.trivial.collectives,
                  other.trivial.earlySums, other.trivial.againstRole,
                  other.trivial.slices);
}

llvm::SmallVector<Drive, 4> tpsp::candidates(const PlacedOperation &operation,
                                             AxisId axis) {
  const IndexStructure &structure = operation.structure;
  llvm::SmallVector<Drive, 4> found = {Drive{}};
  if (pendingThatPasses(operation, axis))
    found.push_back({Drive::Pending, 0});
  for (auto [tensor, placement] : carriers(operation)) {
    std::optional<unsigned> dim = placement->dimOf(axis);
    if (!dim)
      continue;
    for (IndexId index : tensor->parts(*dim)) {
      Drive drive{Drive::Index, index};
      if (!structure.indices[index].whole && !llvm::is_contained(found, drive))
        found.push_back(drive);
    }
  }
  return found;
}

/// evaluate() for one order of the axes on each index.
static std::optional<ComputePlacement>
evaluateInOrder(const PlacedOperation &operation, llvm::ArrayRef<Drive> drives,
                const AxesOfIndices &axes) {
  const IndexStructure &structure = operation.structure;
  const Mesh &mesh = operation.mesh;

  ComputePlacement choice;
  choice.drives.assign(drives.begin(), drives.end());
  choice.cost.work = workPerRank(structure, axes, mesh);
  // Computed once for all operands, because each answer looks at all of them.
  llvm::SmallVector<std::optional<Reduction>, 4> passing(drives.size());
  for (AxisId axis = 0; axis < drives.size(); ++axis)
    if (drives[axis].kind == Drive::Pending)
      passing[axis] = pendingThatPasses(operation, axis);
  unsigned number = 0;
  auto isWeight = [&]() {
    unsigned here = number++;
    return !operation.weights.empty() && operation.weights[here];
  };

  for (auto [tensor, has] :
       llvm::zip_equal(structure.operands, operation.operands)) {
    Placement needs = placed(tensor, axes);
    if (!isPossible(operation, tensor, axes, needs))
      return std::nullopt;
    for (AxisId axis : has.pending)
      if (passing[axis] == has.reduction)
        needs.pending.push_back(axis);
    if (!needs.pending.empty())
      needs.reduction = has.reduction;
    addEarlySums(has, needs, mesh, choice.cost);
    addIdle(operation, tensor, has, drives, choice.cost);
    if (!addTransition(tensor, isWeight(), has, needs, mesh, choice.cost))
      return std::nullopt;
    choice.operands.push_back(std::move(needs));
  }

  for (auto [tensor, wants] :
       llvm::zip_equal(structure.results, operation.wanted)) {
    Placement comesOut = placed(tensor, axes);
    if (!isPossible(operation, tensor, axes, comesOut))
      return std::nullopt;
    comesOut.reduction = structure.reduction;
    for (AxisId axis = 0; axis < drives.size(); ++axis) {
      bool reduced = drives[axis].kind == Drive::Index &&
                     !tensor.dimOf(drives[axis].index);
      if (reduced || drives[axis].kind == Drive::Pending)
        comesOut.pending.push_back(axis);
      if (drives[axis].kind == Drive::Pending)
        comesOut.reduction = passing[axis].value_or(structure.reduction);
    }
    if (wants &&
        !addTransition(tensor, isWeight(), comesOut, *wants, mesh, choice.cost))
      return std::nullopt;
    choice.results.push_back(std::move(comesOut));
  }
  return choice;
}

std::optional<ComputePlacement> tpsp::evaluate(const PlacedOperation &operation,
                                               llvm::ArrayRef<Drive> drives) {
  // A whole tensor cannot become partial.
  for (auto [axis, drive] : llvm::enumerate(drives))
    if (drive.kind == Drive::Pending && !pendingThatPasses(operation, axis))
      return std::nullopt;
  std::optional<ComputePlacement> best;
  for (const AxesOfIndices &axes : ordersOfAxes(operation, drives)) {
    auto choice = evaluateInOrder(operation, drives, axes);
    if (choice && (!best || choice->cost < best->cost))
      best = std::move(choice);
  }
  return best;
}

/// The legal choice that `better` prefers, and the first of equal choices.
template <typename Better>
static std::optional<ComputePlacement> best(const PlacedOperation &operation,
                                            Better better) {
  unsigned numAxes = operation.mesh.numAxes();
  llvm::SmallVector<llvm::SmallVector<Drive, 4>, 2> options;
  for (AxisId axis = 0; axis < numAxes; ++axis)
    options.push_back(candidates(operation, axis));

  std::optional<ComputePlacement> found;
  llvm::SmallVector<unsigned, 2> odometer(numAxes, 0);
  llvm::SmallVector<Drive, 2> drives(numAxes);
  for (;;) {
    for (AxisId axis = 0; axis < numAxes; ++axis)
      drives[axis] = options[axis][odometer[axis]];
    std::optional<ComputePlacement> choice = evaluate(operation, drives);
    if (choice && (!found || better(choice->cost, found->cost)))
      found = std::move(choice);
    unsigned axis = 0;
    while (axis < numAxes && ++odometer[axis] == options[axis].size())
      odometer[axis++] = 0;
    if (axis == numAxes)
      return found;
  }
}

std::optional<ComputePlacement>
tpsp::chooseComputePlacement(const PlacedOperation &operation) {
  return best(operation, [](const PlacementCost &a, const PlacementCost &b) {
    return a < b;
  });
}

std::optional<ComputePlacement>
tpsp::fewestBytes(const PlacedOperation &operation) {
  return best(operation, [](const PlacementCost &a, const PlacementCost &b) {
    return a.bytes < b.bytes;
  });
}
