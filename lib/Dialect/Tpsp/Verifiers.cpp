// The numbered constraints of every operation, in the order of their docs.
#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"
#include "tpsp/Dialect/Tpsp/SplitParts.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// "operand #0", "the result"; "argument #0" of a function.
std::string roleOf(Operation *op, unsigned tensor) {
  if (isa<FunctionOpInterface>(op))
    return "argument #" + std::to_string(tensor);
  if (tensor < op->getNumOperands())
    return "operand #" + std::to_string(tensor);
  return "the result";
}

/// An error at the operation; of a function, at the argument.
InFlightDiagnostic refuse(Operation *op, unsigned tensor) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function && !function.isExternal())
    return emitError(function.getArgument(tensor).getLoc());
  return op->emitOpError();
}

/// Operand types, then result types.
SmallVector<Type> tensorTypes(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

/// (I2)
LogicalResult verifyAxesKnown(Operation *op, ArrayRef<Type> types,
                              const Mesh &mesh) {
  auto check = [&](unsigned tensor, StringAttr axis) -> LogicalResult {
    if (mesh.find(axis.getValue()))
      return success();
    InFlightDiagnostic diag = refuse(op, tensor)
                              << roleOf(op, tensor) << " is on axis @"
                              << axis.getValue();
    if (mesh.numAxes() == 0)
      return diag << ", but the module has no mesh; declare one: tpsp.mesh "
                     "@mesh <"
                  << axis.getValue() << " = 4>";
    AxisList all;
    for (AxisId id = 0; id < mesh.numAxes(); ++id)
      all.push_back(id);
    return diag << ", which the mesh does not have; its axes are "
                << mesh.names(all);
  };
  for (auto [tensor, type] : llvm::enumerate(types)) {
    IdxAttr idx = getIdx(type);
    if (!idx)
      continue;
    for (ArrayAttr list : idx.getAxes())
      for (auto axis : list.getAsRange<StringAttr>())
        if (failed(check(tensor, axis)))
          return failure();
    for (StringAttr axis : idx.getPending())
      if (failed(check(tensor, axis)))
        return failure();
  }
  return success();
}

/// "nearest extents that work: 4 and 8"; nothing lies below a single group.
std::string nearestMultiples(int64_t extent, int64_t group) {
  int64_t below = extent / group * group;
  if (below == 0)
    return "the smallest extent that works: " + std::to_string(group);
  return "nearest extents that work: " + std::to_string(below) + " and " +
         std::to_string(below + group);
}

/// (I3)
LogicalResult verifyEven(Operation *op, ArrayRef<Type> types,
                         const Mesh &mesh) {
  for (auto [tensor, type] : llvm::enumerate(types)) {
    IdxAttr idx = getIdx(type);
    if (!idx || idx.getLocal())
      continue;
    auto tensorType = cast<RankedTensorType>(type);
    Placement placement = placementOf(type, mesh);
    std::optional<unsigned> dim =
        firstUnevenDim(tensorType.getShape(), placement, mesh);
    if (!dim)
      continue;
    int64_t group = mesh.groupSize(placement.dims[*dim]);
    int64_t extent = tensorType.getDimSize(*dim);
    return refuse(op, tensor)
           << "index '" << idx.getNames()[*dim].getValue() << "' of "
           << roleOf(op, tensor) << " has extent " << extent
           << ", which its axes (" << mesh.names(placement.dims[*dim]) << ": "
           << group << " ranks) do not divide; "
           << nearestMultiples(extent, group);
  }
  return success();
}

/// (I4)
LogicalResult verifyExtents(Operation *op, ArrayRef<Type> types) {
  llvm::StringMap<std::pair<int64_t, unsigned>> seen; // extent, tensor
  for (auto [tensor, type] : llvm::enumerate(types)) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    for (auto [name, extent] :
         llvm::zip_equal(getIdx(type).getNames(), shape)) {
      auto [entry, isNew] =
          seen.try_emplace(name.getValue(), extent, unsigned(tensor));
      if (isNew || entry->second.first == extent)
        continue;
      return op->emitOpError()
             << "index '" << name.getValue() << "' has extent "
             << entry->second.first << " on "
             << roleOf(op, entry->second.second) << " but " << extent << " on "
             << roleOf(op, tensor)
             << "; one name means one extent: rename one of them "
                "(tpsp.rename)";
    }
  }
  return success();
}

/// (I5)
LogicalResult verifyResultIndices(Operation *op) {
  llvm::StringSet<> carried;
  for (Type type : op->getOperandTypes())
    for (StringRef name : indexNames(type))
      carried.insert(name);
  for (Type type : op->getResultTypes())
    for (StringRef name : indexNames(type))
      if (!carried.contains(name))
        return op->emitOpError()
               << "the result has index '" << name
               << "', which no operand has; remove it or add it to an operand "
                  "with tpsp.broadcast";
  return success();
}

/// (I6)
LogicalResult verifyPartialOperands(Operation *op, Linearity linearity) {
  if (linearity != Linearity::None)
    return success();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    IdxAttr idx = getIdx(operand);
    if (idx.getPending().empty())
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    Mesh mesh = meshOf(op);
    Placement placement = placementOf(type, mesh);
    Placement whole = placement;
    whole.pending.clear();
    TransitionCost price =
        cost(*planTransition(placement, whole), placement, type.getShape(),
             type.getElementTypeBitWidth() / 8, mesh);
    return op->emitOpError()
           << "operand #" << i << " is partial over @"
           << idx.getPending().front().getValue() << " and '" << op->getName()
           << "' is not linear in it, so the sum must come first; complete it "
              "with tpsp.reshard to ["
           << subscripts(withPlacement(type, whole, mesh)) << "] ("
           << formatBytes(price.bytes) << " per rank)";
  }
  return success();
}

/// (I7)
LogicalResult verifyElementTypes(IndexedOpInterface op, ArrayRef<Type> types) {
  Type common;
  for (auto [tensor, type] : llvm::enumerate(types)) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (unsigned width = op.getIntegerWidth(tensor)) {
      if (element.isInteger(width))
        continue;
      return op->emitOpError()
             << roleOf(op, tensor) << " holds integers: its "
             << "element type is i" << width << ", not " << element;
    }
    if (!isa<FloatType>(element))
      return op->emitOpError()
             << roleOf(op, tensor) << " has element type " << element << "; '"
             << op->getName() << "' computes on floating-point "
             << "numbers there";
    if (!common)
      common = element;
    if (element != common && !op.mixesPrecision())
      return op->emitOpError(
          "operands and result have different element types; one operation "
          "computes in one type");
  }
  return success();
}

} // namespace

LogicalResult tpsp::verifySubscripts(Operation *op, ArrayRef<Type> types,
                                     const Mesh &mesh) {
  if (failed(verifyAxesKnown(op, types, mesh)) ||
      failed(verifyAxesOnce(op, types, mesh)))
    return failure();
  return verifyEven(op, types, mesh);
}

LogicalResult tpsp::verifyIndexedOp(Operation *op) {
  SmallVector<Type> types = tensorTypes(op);
  for (auto [tensor, type] : llvm::enumerate(types)) { // (I1)
    auto tensorType = dyn_cast<RankedTensorType>(type);
    if (!tensorType || !getIdx(type))
      return op->emitOpError() << roleOf(op, tensor)
                               << " is not a tensor with #tpsp.idx subscripts";
    if (!tensorType.hasStaticShape())
      return op->emitOpError() << roleOf(op, tensor)
                               << " has a dynamic extent; extents are static";
  }
  auto indexed = cast<IndexedOpInterface>(op);
  if (failed(verifySubscripts(op, types, meshOf(op))))
    return failure();
  if (!indexed.isView() && failed(verifyExtents(op, types)))
    return failure();
  if (!indexed.isView() && !indexed.introducesIndices() &&
      failed(verifyResultIndices(op)))
    return failure();
  if (failed(verifyPartialOperands(op, indexed.getLinearity())))
    return failure();
  return verifyElementTypes(indexed, types);
}

/// The positions that a scalar asks for are those of the result's indices.
static LogicalResult verifyIndexAttributes(Operation *op) {
  auto loop = dyn_cast<LoopOpInterface>(op);
  if (!loop)
    return success();
  for (StringRef name : loop.getPositionIndices())
    if (!getIdx(op->getResult(0)).dimOf(name))
      return op->emitOpError() << "asks for the position along '" << name
                               << "', which is no index of the result, ["
                               << subscripts(op->getResult(0).getType()) << "]";
  return success();
}

/// (P4): `part` = [blocks, parts, number] of the index `along`.
static LogicalResult verifyPart(Operation *op) {
  auto along = op->getAttrOfType<StringAttr>("along");
  auto part = op->getAttrOfType<DenseI64ArrayAttr>("part");
  if (!along && !part)
    return success();
  std::optional<unsigned> dim;
  if (along)
    dim = getIdx(op->getResult(0)).dimOf(along.getValue());
  if (!dim || !part || part.size() != 3)
    return op->emitOpError("is a part along no index of the result; give "
                           "`along` and `part` = [blocks, parts, number]");
  int64_t blocks = part[0], parts = part[1], number = part[2];
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (blocks > 0 && number >= 0 && number < parts &&
      (getIdx(type).getLocal() || type.getDimSize(*dim) % blocks == 0))
    return success();
  return op->emitOpError() << "part " << number << " of " << parts << " in "
                           << blocks << " blocks is no part of index '"
                           << along.getValue() << "' of extent "
                           << type.getDimSize(*dim);
}

LogicalResult tpsp::verifyPointwise(Operation *op, int arity) {
  IdxAttr result = getIdx(op->getResult(0));
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) // (P1)
    for (StringRef name : indexNames(operand.getType()))
      if (!result.dimOf(name))
        return op->emitOpError()
               << "operand #" << i << " has index '" << name
               << "', which the result lacks; a pointwise operation does not "
                  "sum: use tpsp.reduce or tpsp.einsum";
  bool matches = arity < 0 ? op->getNumOperands() > 0
                           : op->getNumOperands() == unsigned(arity); // (P2)
  if (!matches)
    return op->emitOpError() << "takes " << (arity < 0 ? 1 : arity)
                             << (arity < 0 ? " or more" : "")
                             << " operands, not " << op->getNumOperands();
  auto rate = op->getAttrOfType<FloatAttr>("rate"); // (P4)
  if (rate && !(rate.getValueAsDouble() >= 0 && rate.getValueAsDouble() < 1))
    return op->emitOpError() << "rate " << rate.getValueAsDouble()
                             << " is not a probability below 1";
  if (failed(verifyPart(op)))
    return failure();
  auto slope = dyn_cast<SlopeOp>(op); // (P3)
  if (slope && !findScalarFunction(slope.getOf()))
    return op->emitOpError("of = \"")
           << slope.getOf()
           << "\" is not a scalar function; write the mnemonic of one, such as "
              "\"gelu\"";
  return verifyIndexAttributes(op);
}

//===----------------------------------------------------------------------===//
// Single operations
//===----------------------------------------------------------------------===//

static LogicalResult verifyCount(Operation *op, unsigned least, unsigned most) {
  unsigned count = op->getNumOperands();
  if (count >= least && count <= most)
    return success();
  InFlightDiagnostic diag = op->emitOpError("takes ");
  diag << least;
  if (most != least)
    diag << " or " << most;
  return diag << " operands, not " << count;
}

static LogicalResult verifySameNames(Operation *op) {
  if (getIdx(op->getOperand(0)).getNames() ==
      getIdx(op->getResult(0)).getNames())
    return success();
  return op->emitOpError("has result indices [")
         << subscripts(op->getResult(0).getType())
         << "], but they must be those of operand #0, ["
         << subscripts(op->getOperand(0).getType()) << "]";
}

static LogicalResult verifyHasIndex(Operation *op, unsigned operand,
                                    StringRef name, StringRef attribute) {
  if (getIdx(op->getOperand(operand)).dimOf(name))
    return success();
  return op->emitOpError() << attribute << " = \"" << name
                           << "\" is not an index of operand #" << operand
                           << ", ["
                           << subscripts(op->getOperand(operand).getType())
                           << "]";
}

static LogicalResult verifyLacksIndex(Operation *op, Value tensor,
                                      StringRef name, StringRef what) {
  if (!getIdx(tensor).dimOf(name))
    return success();
  return op->emitOpError() << what << " carries index '" << name
                           << "', which it must not; "
                           << "give it another name (tpsp.rename)";
}

LogicalResult EinsumOp::verify() { return verifyCount(*this, 1, 2); } // (E1)

LogicalResult ReduceOp::verify() { // (R1)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  if (getKind() != "sum" && getKind() != "max")
    return emitOpError("kind is \"")
           << getKind() << "\"; it is \"sum\" or \"max\"";
  return success();
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)) ||
      failed(verifyHasIndex(*this, 0, getOver(), "over")))
    return failure();
  if (getScale().convertToDouble() <= 0)
    return emitOpError("scale must be positive");
  if (!getCausal())
    return success();
  if (*getCausal() == getOver())
    return emitOpError("causal and over are both \"") << getOver() << "\"";
  return verifyHasIndex(*this, 0, *getCausal(), "causal");
}

/// (L1)
static LogicalResult verifyNorm(Operation *op, unsigned operands) {
  if (failed(verifyCount(op, operands, operands)) ||
      failed(verifySameNames(op)))
    return failure();
  IdxAttr gain = getIdx(op->getOperand(1));
  if (gain.getRank() == 0)
    return op->emitOpError("gain has no index; the norm is over the gain's "
                           "indices");
  for (StringRef name : indexNames(op->getOperand(1).getType()))
    if (failed(verifyHasIndex(op, 0, name, "gain index")))
      return failure();
  if (operands == 3 && getIdx(op->getOperand(2)).getNames() != gain.getNames())
    return op->emitOpError("gain and bias have different indices");
  return success();
}
LogicalResult RmsNormOp::verify() { return verifyNorm(*this, 2); }
LogicalResult LayerNormOp::verify() { return verifyNorm(*this, 3); }

LogicalResult RopeOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)) ||
      failed(verifyHasIndex(*this, 0, getPosition(), "position")) ||
      failed(verifyHasIndex(*this, 0, getFeature(), "feature")))
    return failure();
  if (getPosition() == getFeature())
    return emitOpError("position and feature are both \"")
           << getFeature() << "\"";
  auto type = cast<RankedTensorType>(getOperand(0).getType());
  int64_t extent = type.getDimSize(*getIdx(type).dimOf(getFeature()));
  if (extent % 2 != 0)
    return emitOpError("rotates pairs, but index '")
           << getFeature() << "' has the odd extent " << extent;
  return success();
}

/// (A1), (A3), (A4) of queries and keys.
template <typename Op> static LogicalResult verifyScores(Op op) {
  Value q = op.getOperand(0), k = op.getOperand(1);
  if (failed(verifyHasIndex(op, 0, op.getQuery(), "query")) ||
      failed(verifyHasIndex(op, 0, op.getFeature(), "feature")) ||
      failed(verifyHasIndex(op, 1, op.getKey(), "key")) ||
      failed(verifyHasIndex(op, 1, op.getFeature(), "feature")) ||
      failed(verifyLacksIndex(op, q, op.getKey(), "the query operand")) ||
      failed(verifyLacksIndex(op, k, op.getQuery(), "the key operand")))
    return failure();
  for (StringRef name : indexNames(k.getType()))
    if (name != op.getKey() && !getIdx(q).dimOf(name))
      return op.emitOpError("the key operand has index '")
             << name << "', which the query operand lacks; remove it, or split "
             << "the query's (tpsp.split)";
  if (op.getScale().convertToDouble() <= 0)
    return op.emitOpError("scale must be positive");
  if (op.getDropout() && !(op.getDropout()->convertToDouble() >= 0 &&
                           op.getDropout()->convertToDouble() < 1))
    return op.emitOpError("dropout ") << op.getDropout()->convertToDouble()
                                      << " is not a probability below 1";
  return success();
}

/// (A1), (A3) of values, whose own feature `result` has.
template <typename Op> static LogicalResult verifyValues(Op op, Value result) {
  Value q = op.getOperand(0), v = op.getOperand(2);
  if (failed(verifyHasIndex(op, 2, op.getKey(), "key")) ||
      failed(verifyLacksIndex(op, v, op.getQuery(), "the value operand")))
    return failure();
  StringRef ownFeature;
  for (StringRef name : indexNames(v.getType())) {
    if (name == op.getKey() || getIdx(q).dimOf(name))
      continue;
    if (!ownFeature.empty() || !getIdx(result).dimOf(name))
      return op.emitOpError("the value operand has index '")
             << name << "', which the query operand lacks and which is not its "
             << "one feature in the result; remove it";
    ownFeature = name;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyCount(*this, 3, 3)) || failed(verifyScores(*this)) ||
      failed(verifyLacksIndex(*this, getResult(), getKey(), "the result")))
    return failure();
  if (!getIdx(getResult()).dimOf(getQuery())) // (A2)
    return emitOpError("the result lacks the query index '")
           << getQuery() << "'";
  return verifyValues(*this, getResult());
}

LogicalResult AttentionStatisticOp::verify() {
  if (failed(verifyCount(*this, 2, 2)) || failed(verifyScores(*this)) ||
      failed(verifyLacksIndex(*this, getResult(), getKey(), "the result")) ||
      failed(verifyLacksIndex(*this, getResult(), getFeature(), "the result")))
    return failure();
  if (getIdx(getResult()).dimOf(getQuery())) // (A5)
    return success();
  return emitOpError("the result lacks the query index '") << getQuery() << "'";
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyCount(*this, 6, 6)) || failed(verifyScores(*this)) ||
      failed(verifyValues(*this, getOperand(4))))
    return failure();
  if (getOf() > 2) // (A6)
    return emitOpError("of = ")
           << getOf() << "; it is 0 (queries), 1 (keys) or 2 (values)";
  if (getIdx(getOperand(getOf())).getNames() == getIdx(getResult()).getNames())
    return success();
  return emitOpError("has result indices [")
         << subscripts(getResult().getType())
         << "], but they must be those of operand #" << getOf() << ", ["
         << subscripts(getOperand(getOf()).getType()) << "]";
}

LogicalResult RenameOp::verify() { // (V1)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  if (cast<RankedTensorType>(getOperand(0).getType()).getShape() ==
      getResult().getType().getShape())
    return success();
  return emitOpError("renames indices but changes the shape; use tpsp.split or "
                     "tpsp.merge");
}

/// (V2)
static LogicalResult verifySplit(Operation *op, RankedTensorType merged,
                                 RankedTensorType split) {
  unsigned dim = 0;
  for (auto [name, extent, count] :
       llvm::zip_equal(getIdx(merged).getNames(), merged.getShape(),
                       splitParts(merged, split))) {
    int64_t product = 1;
    for (int64_t part : split.getShape().slice(dim, count))
      product *= part;
    dim += count;
    if (count == 0 || product != extent)
      return op->emitOpError("the parts of index '")
             << name.getValue() << "' multiply to " << product << ", not to "
             << extent;
  }
  if (dim == split.getRank())
    return success();
  return op->emitOpError("index '") << getIdx(split).getNames()[dim].getValue()
                                    << "' is no part of any merged index";
}
LogicalResult SplitOp::verify() {
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifySplit(*this, cast<RankedTensorType>(getOperand(0).getType()),
                     getResult().getType());
}
LogicalResult MergeOp::verify() {
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifySplit(*this, getResult().getType(),
                     cast<RankedTensorType>(getOperand(0).getType()));
}

LogicalResult ReshardOp::verify() { // (V3)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  return verifyExtents(*this, tensorTypes(*this));
}

//===----------------------------------------------------------------------===//
// Integers, masks, routing
//===----------------------------------------------------------------------===//

static bool has(Value tensor, StringRef name) {
  return getIdx(tensor).dimOf(name).has_value();
}

/// Ranks cannot each have a part of an integer that selects.
static LogicalResult verifyComplete(Operation *op, unsigned operand) {
  IdxAttr idx = getIdx(op->getOperand(operand));
  if (idx.getPending().empty())
    return success();
  return op->emitOpError() << "operand #" << operand << " is partial over @"
                           << idx.getPending().front().getValue()
                           << "; integers that select are complete";
}

LogicalResult OneHotEinsumOp::verify() {
  unsigned count = getIndices().size();
  if (count == 0)
    return emitOpError("selects along no index; name them in `indices`");
  if (failed(verifyCount(*this, count + 1, count + 1))) // (H1)
    return failure();
  auto integers = getOperands().drop_back();
  for (unsigned i = 0; i < count; ++i)
    if (failed(verifyComplete(*this, i)))
      return failure();
  auto onIntegers = [&](StringRef name) {
    return llvm::any_of(integers, [&](Value ids) { return has(ids, name); });
  };
  SmallVector<StringRef> chosen = selected();
  for (auto [i, name] : llvm::enumerate(chosen)) { // (H2)
    if (llvm::is_contained(ArrayRef<StringRef>(chosen).take_front(i), name))
      return emitOpError() << "selects twice along index '" << name << "'";
    if (!has(data(), name) && !has(getResult(), name))
      return emitOpError() << "selects along '" << name
                           << "', which is an index neither of the last "
                              "operand nor of the result";
    if (onIntegers(name))
      return emitOpError() << "selects along '" << name
                           << "', which an integer operand carries; rename it "
                              "there (tpsp.rename)";
  }
  for (StringRef name : indexNames(data().getType())) // (H3)
    if (!has(getResult(), name) && !llvm::is_contained(chosen, name) &&
        !onIntegers(name))
      return emitOpError() << "sums index '" << name
                           << "' of the last operand, on which no integer "
                              "depends; sum it first (tpsp.reduce)";
  for (StringRef name : indexNames(getResult().getType()))
    if (!llvm::is_contained(chosen, name) && !has(data(), name) &&
        !onIntegers(name))
      return emitOpError() << "the result has index '" << name
                           << "', which no operand has";
  return success();
}

LogicalResult RouterOp::verify() { // (T1)
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyHasIndex(*this, 0, getExpert(), "expert")))
    return failure();
  if (getIdx(getOperand(0)).dimOf(getChoice()))
    return emitOpError("the operand already has the index '")
           << getChoice() << "', along which the choices go";
  SmallVector<StringRef> wanted;
  for (StringRef name : indexNames(getOperand(0).getType()))
    if (name != getExpert())
      wanted.push_back(name);
  SmallVector<StringRef> got;
  for (StringRef name : indexNames(getResult().getType()))
    if (name != getChoice())
      got.push_back(name);
  std::optional<unsigned> choice = getIdx(getResult()).dimOf(getChoice());
  llvm::sort(wanted);
  llvm::sort(got);
  if (!choice || wanted != got)
    return emitOpError("has result [")
           << subscripts(getResult().getType()) << "]; it must have '"
           << getChoice() << "' in place of '" << getExpert() << "'";
  int64_t choices = getResult().getType().getDimSize(*choice);
  auto scores = cast<RankedTensorType>(getOperand(0).getType());
  int64_t experts = scores.getDimSize(*getIdx(scores).dimOf(getExpert()));
  if (choices <= experts)
    return success();
  return emitOpError("makes ")
         << choices << " choices among " << experts << " experts";
}

LogicalResult CountEarlierOp::verify() { // (T2)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  SmallVector<StringRef> seen;
  for (StringRef name : getWholeIndices()) {
    if (failed(verifyHasIndex(*this, 0, name, "over")))
      return failure();
    if (llvm::is_contained(seen, name))
      return emitOpError() << "counts twice over index '" << name << "'";
    seen.push_back(name);
  }
  // A counter for each, on the stack of a thread.
  constexpr int64_t most = 1 << 16;
  if (getValues() >= 1 && getValues() <= most)
    return success();
  return emitOpError() << "values = " << getValues() << " is not between 1 and "
                       << most;
}

LogicalResult EmbeddingOp::verify() { // (B1)
  if (failed(verifyCount(*this, 2, 2)) || failed(verifyComplete(*this, 0)) ||
      failed(verifyHasIndex(*this, 1, getVocabulary(), "vocabulary")) ||
      failed(verifyLacksIndex(*this, getOperand(0), getVocabulary(),
                              "operand #0")))
    return failure();
  return verifyLacksIndex(*this, getResult(), getVocabulary(), "the result");
}

LogicalResult CrossEntropyOp::verify() { // (X1)
  if (failed(verifyCount(*this, 2, 2)) ||
      failed(verifyHasIndex(*this, 0, getOver(), "over")))
    return failure();
  auto sorted = [](SmallVector<StringRef> names) {
    llvm::sort(names);
    return names;
  };
  SmallVector<StringRef> rows;
  for (StringRef name : indexNames(getOperand(0).getType()))
    if (name != getOver())
      rows.push_back(name);
  rows = sorted(rows);
  if (sorted(indexNames(getOperand(1).getType())) == rows &&
      sorted(indexNames(getResult().getType())) == rows)
    return success();
  return emitOpError("targets [")
         << subscripts(getOperand(1).getType()) << "] and result ["
         << subscripts(getResult().getType())
         << "] must have the indices of the logits but '" << getOver() << "'";
}

LogicalResult MeanOp::verify() { return verifyCount(*this, 1, 1); } // (G1)

LogicalResult DispatchOp::verify() { // (D1)
  if (failed(verifyCount(*this, 2, 2)) ||
      failed(verifyHasIndex(*this, 0, getChoice(), "choice")) ||
      failed(
          verifyLacksIndex(*this, getOperand(1), getChoice(), "operand #1")) ||
      failed(verifyLacksIndex(*this, getResult(), getChoice(), "the result")))
    return failure();
  for (StringRef name : {getExpert(), getSlot()}) {
    if (!has(getResult(), name))
      return emitOpError("the result lacks the index '") << name << "'";
    for (Value operand : getOperands())
      if (failed(verifyLacksIndex(*this, operand, name, "an operand")))
        return failure();
  }
  return success();
}

LogicalResult CombineOp::verify() { // (D2)
  if (failed(verifyCount(*this, 3, 3)) ||
      failed(verifyHasIndex(*this, 0, getChoice(), "choice")) ||
      failed(verifyHasIndex(*this, 2, getExpert(), "expert")) ||
      failed(verifyHasIndex(*this, 2, getSlot(), "slot")))
    return failure();
  for (StringRef name : {getExpert(), getSlot(), getChoice()})
    if (failed(verifyLacksIndex(*this, getResult(), name, "the result")))
      return failure();
  if (getIdx(getOperand(0)).getNames() == getIdx(getOperand(1)).getNames())
    return success();
  return emitOpError("weights [")
         << subscripts(getOperand(1).getType())
         << "] do not have the indices of the choices ["
         << subscripts(getOperand(0).getType()) << "]";
}

LogicalResult StopGradientOp::verify() { // (V3)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  return verifyExtents(*this, tensorTypes(*this));
}
