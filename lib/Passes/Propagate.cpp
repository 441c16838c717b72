// tpsp-propagate: fill in missing placements from those given.
#include "tpsp/Passes/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Placed.h"

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

/// Whether a value is a parameter, perhaps under another shape.
bool isParameter(Value value) {
  while (auto view = value.getDefiningOp<IndexedOpInterface>()) {
    if (!view.isView())
      return false;
    value = view->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function &&
         function.getArgAttr(argument.getArgNumber(), paramAttrName);
}

/// One operand's wish to see `axis` on dimension `dim` of the result.
struct Proposal {
  unsigned operand;
  unsigned dim;
};

class Propagation {
public:
  Propagation(FunctionOpInterface function)
      : function(function), mesh(meshOf(function)) {
    function->walk([&](IndexedOpInterface op) {
      structures.emplace_back(op, op.getIndexStructure());
    });
  }

  LogicalResult run() {
    if (failed(checkArguments()))
      return failure();
    if (failed(settle()))
      return failure();
    // What no result that is placed has decided by now is ambiguous.
    mustDecide = true;
    if (failed(settle()))
      return failure();
    for (auto &[value, placement] : found)
      value.setType(withPlacement(cast<RankedTensorType>(value.getType()),
                                  placement, mesh));
    // Scalars and the like on which nothing was proposed.
    for (auto &[op, structure] : structures)
      for (Value result : op->getResults())
        if (isUnplaced(result.getType()))
          result.setType(withPlacement(cast<RankedTensorType>(result.getType()),
                                       Placement(getIdx(result).getRank()),
                                       mesh));
    placeReturned();
    return success();
  }

private:
  LogicalResult checkArguments() {
    SmallVector<Type> types;
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      if (isUnplaced(argument.getType()))
        return function->emitError("argument #")
               << i
               << " is not placed ('?'); inputs and parameters are placed "
                  "by who writes the program";
      if (getIdx(argument))
        types.push_back(argument.getType());
    }
    // Operations verify what they use; an argument may have no use.
    return verifySubscripts(function, types, mesh);
  }

  /// Forwards and backwards until nothing changes.
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

  /// The function's type says where its results are.
  void placeReturned() {
    Operation *ret = function.getFunctionBody().front().getTerminator();
    function.setType(function.cloneTypeWith(function.getArgumentTypes(),
                                            ret->getOperandTypes()));
  }

  Placement current(Value value) const {
    auto it = found.find(value);
    return it != found.end() ? it->second : placementOf(value.getType(), mesh);
  }

  /// Puts `axis` on a dimension of an unplaced value, if it may go there.
  void assign(Value value, const IndexStructure::Tensor &tensor, unsigned dim,
              AxisId axis) {
    Placement placement = current(value);
    placement.dims[dim].push_back(axis);
    if (firstUnevenDim(tensor.shape, placement, mesh))
      return;
    found[value] = std::move(placement);
    changed = true;
  }

  /// Whether an operation that uses `value` needs dimension `dim` whole.
  bool usedWhole(Value value, unsigned dim) const {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
      if (!user)
        return false;
      IndexStructure structure = user.getIndexStructure();
      const auto &tensor = structure.operands[use.getOperandNumber()];
      return structure.indices[tensor.indices[dim]].whole;
    });
  }

  /// Operands' axes onto unplaced results.
  LogicalResult forward(IndexedOpInterface op,
                        const IndexStructure &structure) {
    for (auto [result, tensor] :
         llvm::zip_equal(op->getResults(), structure.results)) {
      if (!isUnplaced(result.getType()))
        continue;
      // In the order of the operands' own subscripts, so that b@dp@fsdp stays
      // in that order.
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        for (const AxisList &axes : current(op->getOperand(i)).dims)
          for (AxisId axis : axes)
            if (!current(result).uses(axis) &&
                failed(placeResult(op, structure, result, tensor, axis)))
              return failure();
    }
    return success();
  }

  LogicalResult placeResult(IndexedOpInterface op,
                            const IndexStructure &structure, Value result,
                            const IndexStructure::Tensor &tensor, AxisId axis) {
    SmallVector<Proposal> proposals = proposalsFor(op, structure, tensor, axis);
    if (!agree(proposals))
      llvm::erase_if(proposals, [&](const Proposal &proposal) {
        return usedWhole(result, proposal.dim);
      });
    if (!agree(proposals))
      keepByRole(op, axis, proposals);
    if (!agree(proposals))
      return mustDecide ? refuse(op, structure, tensor, axis, proposals)
                        : success();
    if (!proposals.empty())
      assign(result, tensor, proposals.front().dim, axis);
    return success();
  }

  SmallVector<Proposal> proposalsFor(IndexedOpInterface op,
                                     const IndexStructure &structure,
                                     const IndexStructure::Tensor &result,
                                     AxisId axis) const {
    SmallVector<Proposal> proposals;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      std::optional<unsigned> dim = current(op->getOperand(i)).dimOf(axis);
      if (!dim)
        continue;
      IndexId index = structure.operands[i].indices[*dim];
      std::optional<unsigned> onto = result.dimOf(index);
      if (onto && !structure.indices[index].whole)
        proposals.push_back({i, *onto});
    }
    return proposals;
  }

  static bool agree(ArrayRef<Proposal> proposals) {
    return llvm::all_of(proposals, [&](const Proposal &proposal) {
      return proposal.dim == proposals.front().dim;
    });
  }

  /// On a model axis the parameters' index stays, on a data axis the
  /// activations'.
  void keepByRole(IndexedOpInterface op, AxisId axis,
                  SmallVectorImpl<Proposal> &proposals) const {
    AxisRole role = mesh.axis(axis).role;
    if (role == AxisRole::None)
      return;
    bool parametersStay = role == AxisRole::Model;
    SmallVector<Proposal> kept;
    for (const Proposal &proposal : proposals)
      if (isParameter(op->getOperand(proposal.operand)) == parametersStay)
        kept.push_back(proposal);
    if (!kept.empty())
      proposals.assign(kept.begin(), kept.end());
  }

  /// The bytes per rank if `axis` goes to dimension `dim` of the result.
  int64_t price(IndexedOpInterface op, const IndexStructure &structure,
                const IndexStructure::Tensor &result, AxisId axis,
                unsigned dim) const {
    SmallVector<Placement> operands;
    for (Value operand : op->getOperands())
      operands.push_back(current(operand));
    Placement wanted(result.indices.size());
    wanted.dims[dim].push_back(axis);
    std::optional<Placement> wants = wanted;
    auto choice = chooseComputePlacement({structure, operands, wants, mesh});
    return choice ? choice->cost.bytes : 0;
  }

  LogicalResult refuse(IndexedOpInterface op, const IndexStructure &structure,
                       const IndexStructure::Tensor &result, AxisId axis,
                       ArrayRef<Proposal> proposals) const {
    StringRef axisName = mesh.axis(axis).name;
    auto indexOf = [&](const Proposal &proposal) -> StringRef {
      return structure.indices[result.indices[proposal.dim]].name;
    };
    InFlightDiagnostic diag = op->emitOpError();
    diag << "axis @" << axisName << " is on different indices of its operands "
         << "and the result is not placed; write the result's subscripts or "
            "give the axis a role (tpsp.mesh <"
         << axisName << " = " << mesh.size(axis) << " : model> or : data)";
    SmallVector<unsigned> seen;
    for (const Proposal &proposal : proposals) {
      if (llvm::is_contained(seen, proposal.dim))
        continue;
      seen.push_back(proposal.dim);
      diag.attachNote(op->getLoc())
          << "with the result on " << indexOf(proposal) << "@" << axisName
          << ", as operand #" << proposal.operand << " has it: "
          << formatBytes(price(op, structure, result, axis, proposal.dim))
          << " per rank";
    }
    return diag;
  }

  /// Results' axes onto unplaced operands.
  void backward(IndexedOpInterface op, const IndexStructure &structure) {
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), structure.operands)) {
      if (!isUnplaced(operand.getType()))
        continue;
      for (auto [result, source] :
           llvm::zip_equal(op->getResults(), structure.results))
        pull(operand, tensor, current(result), source, structure);
    }
  }

  void pull(Value operand, const IndexStructure::Tensor &tensor,
            const Placement &from, const IndexStructure::Tensor &source,
            const IndexStructure &structure) {
    for (auto [index, axes] : llvm::zip_equal(source.indices, from.dims)) {
      std::optional<unsigned> dim = tensor.dimOf(index);
      if (!dim || structure.indices[index].whole)
        continue;
      for (AxisId axis : axes)
        if (!current(operand).uses(axis))
          assign(operand, tensor, *dim, axis);
    }
  }

  FunctionOpInterface function;
  Mesh mesh;
  /// In program order.
  std::vector<std::pair<IndexedOpInterface, IndexStructure>> structures;
  /// What has been found for unplaced values.
  llvm::MapVector<Value, Placement> found;
  bool changed = false;
  /// Whether an axis that its operands disagree about is an error by now.
  bool mustDecide = false;
};

struct Propagate : public tpsp::impl::PropagateBase<Propagate> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), [](auto function) {
          return Propagation(function).run();
        })))
      signalPassFailure();
  }
};

} // namespace
