// tpsp-propagate: fills in missing placements from those given.
#include "Ambiguity.h"
#include "Decompose.h"

#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_PROPAGATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// One operand's proposal to put `axis` on dimension `dim` of the result.
struct Proposal {
  unsigned operand;
  unsigned dim;
};

/// An operand that must be gathered along an axis for its operation.
struct Gathered {
  IndexedOpInterface op;
  unsigned operand;
  AxisId axis;
};

LogicalResult checkArguments(FunctionOpInterface function, const Mesh &mesh) {
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (isUnplaced(argument.getType()))
      return emitErrorAt(argument)
             << "argument #" << i
             << " is not placed ('?'); inputs and parameters are placed "
                "by who writes the program";
  }
  // Operations verify the values that they use, but an argument may have no
  // use.
  return verifySubscripts(function, function.getArgumentTypes(), mesh);
}

bool agree(ArrayRef<Proposal> proposals) {
  return llvm::all_of(proposals, [&](const Proposal &proposal) {
    return proposal.dim == proposals.front().dim;
  });
}

/// Integers that choose among the elements of an operand, such as a mask's, are
/// brought to that operand's placement. The operand has all indices of the
/// result, and integers are small.
void keepChosen(const IndexStructure &structure, IndexedOpInterface op,
                SmallVectorImpl<Proposal> &proposals) {
  auto isInteger = [&](const Proposal &proposal) {
    return getElementTypeOrSelf(op->getOperand(proposal.operand)).isInteger();
  };
  auto isWhole = [&](const Proposal &proposal) {
    return structure.operands[proposal.operand].indices.size() ==
           structure.results[0].indices.size();
  };
  if (llvm::any_of(proposals, [&](const Proposal &proposal) {
        return !isInteger(proposal) && isWhole(proposal);
      }))
    llvm::erase_if(proposals, isInteger);
}

/// On a model axis the parameters' index keeps the axis, on a data axis the
/// activations'.
void keepByRole(IndexedOpInterface op, AxisId axis, const Mesh &mesh,
                SmallVectorImpl<Proposal> &proposals) {
  AxisRole role = mesh.axis(axis).role;
  if (role == AxisRole::None)
    return;
  bool parametersStay = role == AxisRole::Model;
  SmallVector<Proposal> kept;
  for (const Proposal &proposal : proposals)
    if (isWeight(op->getOperand(proposal.operand)) == parametersStay)
      kept.push_back(proposal);
  if (!kept.empty())
    proposals.assign(kept.begin(), kept.end());
}

/// Writes the request for an operand without an axis. The operand keeps its
/// name.
void gather(Gathered gathered, const Mesh &mesh) {
  OpBuilder builder(gathered.op);
  OpOperand &operand = gathered.op->getOpOperand(gathered.operand);
  auto type = typeOf(operand.get());
  Placement whole = placementOf(type, mesh);
  for (AxisList &axes : whole.dims)
    llvm::erase(axes, gathered.axis);
  Location loc = gathered.op->getLoc();
  if (auto named = dyn_cast<NameLoc>(loc))
    loc = NameLoc::get(builder.getStringAttr(tensorName(operand.get())),
                       named.getChildLoc());
  operand.set(ReshardOp::create(builder, loc, withPlacement(type, whole, mesh),
                                operand.get()));
}

/// Updates the function's type with the placements of its results.
void placeReturned(FunctionOpInterface function) {
  Operation *ret = function.getFunctionBody().front().getTerminator();
  function.setType(function.cloneTypeWith(function.getArgumentTypes(),
                                          ret->getOperandTypes()));
}

/// Whether an operation that uses `value` needs dimension `dim` whole. For an
/// elementwise user (a mask, a bias) its own users are asked, up to `hops`
/// deep.
bool usedWhole(Value value, unsigned dim, unsigned hops = 8) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
    if (!user)
      return false;
    IndexStructure structure = user.getIndexStructure();
    const auto &tensor = structure.operands[use.getOperandNumber()];
    IndexId index = tensor.indices[dim];
    if (structure.indices[index].whole)
      return true;
    if (hops == 0 || !isa<LoopOpInterface>(*user))
      return false;
    Value result = user->getResult(0);
    std::optional<unsigned> onto = structure.results[0].dimOf(index);
    return onto && isUnplaced(result.getType()) &&
           usedWhole(result, *onto, hops - 1);
  });
}

class Propagation {
public:
  Propagation(FunctionOpInterface function)
      : function(function), mesh(meshOf(function)) {
    function->walk([&](IndexedOpInterface op) {
      structures.emplace_back(op, op.getIndexStructure());
    });
  }

  LogicalResult run() {
    if (failed(checkArguments(function, mesh)))
      return failure();
    if (failed(settle()))
      return failure();
    // Results that no placed result has decided by now are ambiguous.
    mustDecide = true;
    if (failed(settle()))
      return failure();
    for (auto &[op, structure] : structures)
      if (failed(settleSums(op, structure)))
        return failure();
    for (auto &[op, structure] : structures)
      for (Value result : op->getResults())
        if (isUnplaced(result.getType()))
          setResultAttr(result, proposedAttrName,
                        UnitAttr::get(op->getContext()));
    for (auto &[value, placement] : found)
      value.setType(withPlacement(typeOf(value), placement, mesh));
    // Values without any proposal, such as scalars.
    for (auto &[op, structure] : structures)
      for (Value result : op->getResults())
        if (isUnplaced(result.getType()))
          result.setType(withPlacement(
              typeOf(result), Placement(getIdx(result).getRank()), mesh));
    for (const Gathered &gathered : gathers)
      gather(gathered, mesh);
    placeReturned(function);
    return success();
  }

private:
  /// Whether the operand has rows that may be divided: a norm's first operand,
  /// not its gain.
  static bool isRow(IndexedOpInterface op, unsigned operand) {
    auto composite = dyn_cast<DecomposableOpInterface>(*op);
    return composite && composite.reducesRows() && operand == 0;
  }

  /// Sweeps forwards and backwards until nothing changes.
  LogicalResult settle() {
    do {
      changed = false;
      for (auto &[op, structure] : structures)
        if (failed(forward(op, structure)))
          return failure();
      for (auto &[op, structure] : llvm::reverse(structures))
        backward(op, structure);
    } while (changed);
    return success();
  }

  Placement current(Value value) const {
    auto it = found.find(value);
    return it != found.end() ? it->second : placementOf(value.getType(), mesh);
  }

  /// Puts `axis` on a dimension of an unplaced value, if it is possible there.
  /// `mayCut`: it may cut the value as a row of elements.
  void assign(Value value, const IndexStructure::Tensor &tensor, unsigned dim,
              AxisId axis, bool mayCut) {
    Placement placement = current(value);
    placement.dims[dim].push_back(axis);
    if (mayCut ? !canBeStored(tensor.shape, placement, mesh)
               : firstUnevenDim(tensor.shape, placement, mesh).has_value())
      return;
    found[value] = std::move(placement);
    changed = true;
  }

  /// Whether the axis cuts this tensor as a row of elements, and the operation
  /// works on rows.
  bool isCutBy(AxisId axis, const IndexStructure &structure,
               const IndexStructure::Tensor &tensor,
               const Placement &placement) const {
    std::optional<FlatCut> cut = flatCut(tensor.shape, placement, mesh);
    return cut && llvm::is_contained(cut->axes, axis) &&
           structure.worksOnRows();
  }

  /// Carries operands' axes to unplaced results.
  LogicalResult forward(IndexedOpInterface op,
                        const IndexStructure &structure) {
    for (auto [result, tensor] :
         llvm::zip_equal(op->getResults(), structure.results)) {
      if (!isUnplaced(result.getType()))
        continue;
      // Follows the order of the operands' own subscripts, so that b@dp@fsdp
      // keeps it.
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        for (const AxisList &axes : current(op->getOperand(i)).dims)
          for (AxisId axis : axes)
            if (!current(result).uses(axis) &&
                failed(placeResult(op, structure, result, tensor, i, axis)))
              return failure();
    }
    return success();
  }

  /// Puts `axis`, which operand `from` carries, where the operands want it. If
  /// `from` has it elsewhere, the axis waits for the operand that has it there.
  /// A weight's h@fsdp must not put fsdp before the dp of b@dp@fsdp.
  LogicalResult placeResult(IndexedOpInterface op,
                            const IndexStructure &structure, Value result,
                            const IndexStructure::Tensor &tensor, unsigned from,
                            AxisId axis) {
    SmallVector<Proposal> proposals = proposalsFor(op, structure, tensor, axis);
    if (!agree(proposals))
      llvm::erase_if(proposals, [&](const Proposal &proposal) {
        return usedWhole(result, proposal.dim);
      });
    if (!agree(proposals))
      keepChosen(structure, op, proposals);
    if (!agree(proposals))
      keepByRole(op, axis, mesh, proposals);
    // An axis of one rank divides nothing, so the result can do without it.
    if (!agree(proposals))
      return mustDecide && mesh.size(axis) > 1
                 ? refuse(op, structure, tensor, axis, proposals)
                 : success();
    if (llvm::any_of(proposals, [&](const Proposal &proposal) {
          return proposal.operand == from;
        }))
      assign(result, tensor, proposals.front().dim, axis,
             isCutBy(axis, structure, structure.operands[from],
                     current(op->getOperand(from))));
    return success();
  }

  SmallVector<Proposal> proposalsFor(IndexedOpInterface op,
                                     const IndexStructure &structure,
                                     const IndexStructure::Tensor &result,
                                     AxisId axis) const {
    SmallVector<Proposal> proposals;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      std::optional<IndexId> index = indexDivided(op, structure, i, axis);
      if (!index)
        continue;
      std::optional<unsigned> onto =
          dimFor(structure, *index, result, structure.operands[i],
                 current(op->getOperand(i)));
      if (onto && (!structure.indices[*index].whole || isRow(op, i)))
        proposals.push_back({i, *onto});
    }
    return proposals;
  }

  std::optional<IndexId> indexDivided(IndexedOpInterface op,
                                      const IndexStructure &structure,
                                      unsigned operand, AxisId axis) const {
    return structure.indexDivided(structure.operands[operand],
                                  current(op->getOperand(operand)), axis, mesh);
  }

  /// The dimension of `onto` on which axes may divide `index` as they do in
  /// `from`, which has it.
  std::optional<unsigned> dimFor(const IndexStructure &structure, IndexId index,
                                 const IndexStructure::Tensor &onto,
                                 const IndexStructure::Tensor &from,
                                 const Placement &has) const {
    std::optional<unsigned> dim = onto.dimOf(index);
    auto ranks = [&](IndexId part) {
      std::optional<unsigned> of = from.dimOf(part);
      return of ? mesh.groupSize(has.dims[*of]) : 1;
    };
    bool hasParts = dim && onto.parts(*dim).size() > 1;
    return hasParts && !structure.isOneBlock(onto, *dim, ranks) ? std::nullopt
                                                                : dim;
  }

  /// The placements found so far for an operation's operands and results.
  struct Found {
    SmallVector<Placement> operands;
    SmallVector<std::optional<Placement>> results;
  };
  Found foundFor(IndexedOpInterface op) const {
    Found placed;
    for (Value operand : op->getOperands())
      placed.operands.push_back(current(operand));
    placed.results.assign(op->getNumResults(), std::nullopt);
    return placed;
  }

  LogicalResult refuse(IndexedOpInterface op, const IndexStructure &structure,
                       const IndexStructure::Tensor &result, AxisId axis,
                       ArrayRef<Proposal> proposals) const {
    Found placed = foundFor(op);
    PlacedOperation operation{structure, placed.operands, placed.results, mesh};
    Disagreement disagreement{{op, operation, axis}, {}};
    SmallVector<unsigned> seen;
    for (const Proposal &proposal : proposals) {
      if (llvm::is_contained(seen, proposal.dim))
        continue;
      seen.push_back(proposal.dim);
      disagreement.claims.push_back(
          {proposal.operand, result.indices[proposal.dim]});
    }
    return disagreement.refuse();
  }

  /// A sum over an index that only one operand has on an axis does not decide
  /// the result along the axis. The role decides whether the operand is
  /// gathered.
  LogicalResult settleSums(IndexedOpInterface op,
                           const IndexStructure &structure) {
    if (op->getNumOperands() < 2 || op->getNumResults() != 1 ||
        !isUnplaced(op->getResult(0).getType()))
      return success();
    Found placed = foundFor(op);
    PlacedOperation operation{structure, placed.operands, placed.results, mesh};
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
      if (mesh.size(axis) == 1 || current(op->getResult(0)).uses(axis))
        continue;
      auto sum = OneSidedSum::find({op, operation, axis});
      if (!sum)
        continue;
      OneSidedSum::Answer answer = sum->byRole();
      if (answer == OneSidedSum::Unknown)
        return sum->refuse();
      if (answer == OneSidedSum::Gather)
        for (unsigned operand : sum->sharded)
          gathers.push_back({op, operand, axis});
    }
    return success();
  }

  /// Carries results' axes to unplaced operands.
  void backward(IndexedOpInterface op, const IndexStructure &structure) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (!isUnplaced(op->getOperand(i).getType()))
        continue;
      for (auto [result, source] :
           llvm::zip_equal(op->getResults(), structure.results))
        pull(op, structure, i, current(result), source);
    }
  }

  void pull(IndexedOpInterface op, const IndexStructure &structure,
            unsigned operand, const Placement &from,
            const IndexStructure::Tensor &source) {
    Value value = op->getOperand(operand);
    const IndexStructure::Tensor &tensor = structure.operands[operand];
    for (const AxisList &axes : from.dims)
      for (AxisId axis : axes) {
        auto index = structure.indexDivided(source, from, axis, mesh);
        if (!index || (structure.indices[*index].whole && !isRow(op, operand)))
          continue;
        auto dim = dimFor(structure, *index, tensor, source, from);
        if (dim && !current(value).uses(axis) &&
            !isContested(op, structure, operand, *dim, axis))
          assign(value, tensor, *dim, axis,
                 isCutBy(axis, structure, source, from));
      }
  }

  /// Whether another operand wants `axis` on another dimension of this one than
  /// the result does. In z[s@tp, d] = w[d, e@tp] v[s, e], v may have it on s or
  /// e, like the result of w[e@tp, d] x[s@tp, d]. On a data axis the parameter
  /// gives way.
  bool isContested(IndexedOpInterface op, const IndexStructure &structure,
                   unsigned operand, unsigned dim, AxisId axis) const {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      std::optional<IndexId> index = indexDivided(op, structure, i, axis);
      if (i == operand || !index)
        continue;
      std::optional<unsigned> onto = structure.operands[operand].dimOf(*index);
      bool givesWay =
          mesh.axis(axis).role == AxisRole::Data && isWeight(op->getOperand(i));
      if (onto && *onto != dim && !structure.indices[*index].whole && !givesWay)
        return true;
    }
    return false;
  }

  FunctionOpInterface function;
  Mesh mesh;
  /// In program order.
  std::vector<std::pair<IndexedOpInterface, IndexStructure>> structures;
  /// The placements found for unplaced values.
  llvm::MapVector<Value, Placement> found;
  SmallVector<Gathered> gathers;
  bool changed = false;
  /// Whether an axis on which operands disagree is an error by now.
  bool mustDecide = false;
};

/// Whether an axis divides the rows of the composite's first operand and of its
/// result alike. A tensor that is cut as a row of elements has no such rows: it
/// is gathered.
bool hasDividedRow(DecomposableOpInterface composite, const Mesh &mesh) {
  auto op = cast<IndexedOpInterface>(*composite);
  IndexStructure structure = op.getIndexStructure();
  RankedTensorType type = typeOf(op->getOperand(0));
  Placement rows = placementOf(type, mesh);
  if (flatCut(type.getShape(), rows, mesh))
    return false;
  return llvm::any_of(
      llvm::zip_equal(structure.operands[0].indices, rows.dims), [&](auto dim) {
        auto [index, axes] = dim;
        return structure.indices[index].whole && mesh.groupSize(axes) > 1;
      });
}

/// Composites with divided rows are decomposed, and their parts are placed. So
/// are those that read a little of neighbouring shards, and those that waited
/// to be placed.
LogicalResult propagate(FunctionOpInterface function) {
  if (failed(Propagation(function).run()))
    return failure();
  Mesh mesh = meshOf(function);
  bool isAny = false;
  auto noted = [&](bool goes) {
    isAny |= goes;
    return goes;
  };
  decompose(
      function, /*tellsPartsApart=*/true,
      [&](DecomposableOpInterface op) { return noted(op.readsNeighbours()); },
      [](DecomposableOpInterface op, OpBuilder &builder) {
        return op.decomposeIntoShards(builder);
      });
  decompose(function, /*tellsPartsApart=*/true,
            [&](DecomposableOpInterface op) {
              return noted(op->hasAttr(whenPlacedAttrName) ||
                           (op.reducesRows() && hasDividedRow(op, mesh)));
            });
  return isAny ? Propagation(function).run() : success();
}

struct Propagate : public tpsp::impl::PropagateBase<Propagate> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), [&](auto function) {
          return propagate(function);
        })))
      signalPassFailure();
  }
};

} // namespace
