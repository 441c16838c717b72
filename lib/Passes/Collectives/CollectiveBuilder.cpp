#include "CollectiveBuilder.h"

#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

using namespace mlir;
using namespace tpsp;

Value tpsp::createCollective(OpBuilder &builder, Location loc, Value value,
                             const CollectiveStep &step, const Mesh &mesh,
                             StringRef reason, StringRef tensor) {
  // A collective's operation has the name of its kind.
  OperationState state(loc, ("tpsp." + name(step.kind)).str());
  SmallVector<StringRef> axes;
  for (AxisId axis : step.axes)
    axes.push_back(mesh.axis(axis).name);
  state.addOperands(value);
  state.addAttribute("axes", builder.getStrArrayAttr(axes));
  state.addAttribute("reason", builder.getStringAttr(reason));
  state.addAttribute("tensor", builder.getStringAttr(tensor));
  state.addTypes(
      withPlacement(cast<RankedTensorType>(value.getType()), step.after, mesh));
  return builder.create(state)->getResult(0);
}

void tpsp::copyPhase(Operation *from, Operation *to) {
  copyOrigin(from, to);
  if (Attribute overlap = from->getAttr(overlapAttrName))
    to->setAttr(overlapAttrName, overlap);
}

/// The name of a value; a summand without a name gets that of its sum.
static std::string nameOrSumsName(Value value) {
  std::string own = tensorName(value);
  if (sourceName(locationOf(value)) || !value.hasOneUse())
    return own;
  auto sum = dyn_cast<IndexedOpInterface>(*value.user_begin());
  if (!sum || !sum.isSumOfOperands())
    return own;
  return sourceName(locationOf(sum->getResult(0))).value_or(own);
}

SmallVector<Value>
tpsp::moveTensor(OpBuilder &builder, IndexedOpInterface op, Value value,
                 const Placement &to, const Mesh &mesh,
                 function_ref<std::string(const CollectiveStep &)> reason) {
  std::string name = nameOrSumsName(value);
  SmallVector<Value> made;
  std::optional<Transition> steps = planTransition(
      placementOf(value.getType(), mesh), to, typeOf(value).getShape(), mesh);
  bool again = isRecomputed(op);
  for (const CollectiveStep &step : *steps) {
    std::string why =
        reason(step) + (again ? "; recomputed for the backward pass" : "");
    value =
        createCollective(builder, op->getLoc(), value, step, mesh, why, name);
    remark::passed(op->getLoc(), remark::RemarkOpts::name(tpsp::name(step.kind))
                                     .category("tpsp-insert-collectives"))
        << remark::reason("{0}", why) << remark::metric("tensor", name);
    copyPhase(op, value.getDefiningOp());
    made.push_back(value);
  }
  return made;
}

static std::string reasonOf(const HandOn &shift, bool isMirrored,
                            const AxisList &axes, const Mesh &mesh) {
  auto names = llvm::map_range(
      axes, [&](AxisId axis) { return "@" + mesh.axis(axis).name; });
  std::string divided =
      llvm::join(names, ", ") + " divides " + shift.index.str();
  if (isMirrored)
    return divided + ", and each shard reads the mirrored one";
  return divided + ", and each shard reads the one " +
         std::to_string(std::abs(shift.by)) +
         (shift.by > 0 ? " before it" : " after it");
}

LogicalResult tpsp::handOnShards(OpBuilder &builder, IndexedOpInterface op,
                                 const Mesh &mesh) {
  HandOn shift = op.getHandOn();
  if (shift.by == 0)
    return success();
  Value operand = op->getOperand(0), result = op->getResult(0);
  RankedTensorType type = typeOf(result);
  unsigned dim = *getIdx(type).dimOf(shift.index);
  Placement placement = placementOf(type, mesh);
  int64_t ranks = mesh.groupSize(placement.dims[dim]);
  if (ranks == 1)
    return success();
  if (ranks != type.getDimSize(dim))
    return op->emitOpError("hands on along '")
           << shift.index << "', which axes divide among " << ranks
           << " ranks; they must divide it into single positions";
  bool isMirrored = cast<HandOnOp>(op).getMirrored();
  CollectiveStep step = *shiftStep(placement, placement.dims[dim]);
  builder.setInsertionPoint(op);
  Value moved = createCollective(builder, op->getLoc(), operand, step, mesh,
                                 reasonOf(shift, isMirrored, step.axes, mesh),
                                 tensorName(operand));
  Operation *made = moved.getDefiningOp();
  auto permute = cast<PermuteOp>(made);
  permute.setBy((shift.by + ranks) % ranks);
  permute.setMirrored(isMirrored);
  copyPhase(op, made);
  result.replaceAllUsesWith(moved);
  op->erase();
  return success();
}

void tpsp::replaceByMoved(Value result, ArrayRef<Value> steps) {
  result.replaceUsesWithIf(steps.back(), [&](OpOperand &use) {
    return llvm::none_of(steps, [&](Value step) {
      return step.getDefiningOp() == use.getOwner();
    });
  });
}

RankedTensorType tpsp::typeOfSum(ArrayRef<Value> summands, Type result) {
  SmallVector<StringRef> names;
  SmallVector<RankedTensorType> sources;
  for (Value summand : summands)
    sources.push_back(cast<RankedTensorType>(summand.getType()));
  for (StringRef name : indexNames(result))
    if (llvm::any_of(summands, [&](Value v) { return getIdx(v).dimOf(name); }))
      names.push_back(name);
  return withoutPlacement(tensorOver(names, sources));
}

void tpsp::noteFewerBytes(IndexedOpInterface op, const PlacedOperation &placed,
                          const ComputePlacement &choice) {
  if (!op->getContext()->getRemarkEngine() || choice.cost.bytes == 0)
    return;
  std::optional<ComputePlacement> other = fewestBytes(placed);
  if (!other || other->cost.bytes >= choice.cost.bytes)
    return;
  remark::missed(op->getLoc(), remark::RemarkOpts::name("fewer-bytes")
                                   .category("tpsp-insert-collectives"))
      << remark::reason("another placement sends fewer bytes, with {0} "
                        "collectives instead of {1}",
                        other->cost.collectives, choice.cost.collectives)
      << remark::metric("bytes", choice.cost.bytes)
      << remark::metric("fewest_bytes", other->cost.bytes);
}

/// Joins texts in order; with `distinct`, repetitions are omitted.
static StringAttr joined(ArrayRef<StringAttr> parts, StringRef separator,
                         bool distinct) {
  SmallVector<StringRef> texts;
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr part : parts)
    if (part && (seen.insert(part).second || !distinct))
      texts.push_back(part.getValue());
  if (texts.empty())
    return {};
  return StringAttr::get((*seen.begin()).getContext(),
                         llvm::join(texts, separator));
}

/// The arguments whose gradients these collectives move together; null if one
/// of them also moves other values.
static DenseI64ArrayAttr joinedGradients(ArrayRef<CollectiveOpInterface> ops) {
  SmallVector<int64_t> numbers;
  for (CollectiveOpInterface op : ops) {
    DenseI64ArrayAttr own = op.getGradientsAttr();
    if (!own)
      return {};
    llvm::append_range(numbers, own.asArrayRef());
  }
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
  return DenseI64ArrayAttr::get(ops.front()->getContext(), numbers);
}

Operation *tpsp::mergeCollectives(ArrayRef<CollectiveOpInterface> ops,
                                  Operation *place) {
  CollectiveOpInterface last = ops.back();
  SmallVector<Location> locs;
  SmallVector<StringAttr> reasons, tensors;
  OperationState state(last->getLoc(), last->getName());
  for (CollectiveOpInterface op : ops) {
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    locs.push_back(op->getLoc());
    reasons.push_back(op.getReasonAttr());
    tensors.push_back(op.getTensorAttr());
  }
  state.location = FusedLoc::get(last->getContext(), locs);
  state.addAttributes(last->getAttrs());
  if (StringAttr reason = joined(reasons, "; ", /*distinct=*/true))
    state.attributes.set("reason", reason);
  if (StringAttr tensor = joined(tensors, ", ", /*distinct=*/false))
    state.attributes.set("tensor", tensor);
  state.attributes.erase("gradients");
  if (DenseI64ArrayAttr gradients = joinedGradients(ops))
    state.attributes.set("gradients", gradients);
  Operation *merged = OpBuilder(place).create(state);
  unsigned next = 0;
  for (CollectiveOpInterface op : ops) {
    op->replaceAllUsesWith(
        merged->getResults().slice(next, op->getNumResults()));
    next += op->getNumResults();
    op->erase();
  }
  return merged;
}
