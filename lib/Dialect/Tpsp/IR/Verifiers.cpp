// The numbered constraints of all operations and of all pointwise operations,
// in the order of their documentation. Constraints of single operations are in
// the operations' files.
#include "UnevenExtents.h"
#include "VerifierRules.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// "operand #0" or "the result"; "argument #0" for a function.
std::string roleOf(Operation *op, unsigned tensor) {
  if (isa<FunctionOpInterface>(op))
    return "argument #" + std::to_string(tensor);
  if (tensor < op->getNumOperands())
    return "operand #" + std::to_string(tensor);
  if (op->getNumResults() == 1)
    return "the result";
  return "result #" + std::to_string(tensor - op->getNumOperands());
}

/// Begins an error at the operation, or at the argument of a function.
InFlightDiagnostic refuse(Operation *op, unsigned tensor) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function && !function.isExternal())
    return emitErrorAt(function.getArgument(tensor));
  return op->emitOpError();
}

/// The operand types, then the result types.
SmallVector<Type> tensorTypes(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

/// Whether the type is that of the tensor before it. The type was judged there.
bool isLikeLast(ArrayRef<Type> types, size_t tensor) {
  return tensor > 0 && types[tensor] == types[tensor - 1];
}

/// (I2)
LogicalResult verifyAxesKnown(Operation *op, ArrayRef<Type> types,
                              const Mesh &mesh) {
  std::optional<AxisId> stages = stageAxisOf(op);
  auto check = [&](unsigned tensor, StringAttr axis) -> LogicalResult {
    std::optional<AxisId> known = mesh.find(axis.getValue());
    if (known && known == stages) // (M5)
      return refuse(op, tensor)
             << roleOf(op, tensor) << " is on axis @" << axis.getValue()
             << ", whose role is 'stage'; it divides layers and shards no "
                "tensor, so leave the subscript out";
    if (known)
      return success();
    InFlightDiagnostic diag = refuse(op, tensor)
                              << roleOf(op, tensor) << " is on axis @"
                              << axis.getValue();
    if (mesh.numAxes() == 0)
      return diag << ", but the module has no mesh; declare one: tpsp.mesh "
                     "@mesh <"
                  << axis.getValue() << " = 4>";
    return diag << ", which the mesh does not have; its axes are "
                << mesh.names();
  };
  for (auto [tensor, type] : llvm::enumerate(types)) {
    IdxAttr idx = getIdx(type);
    if (!idx || isLikeLast(types, tensor))
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

/// (I1) Extents are at least 1, and the number of a tensor's bytes fits in 64
/// bits.
LogicalResult verifySizes(Operation *op, ArrayRef<Type> types) {
  constexpr int64_t mostElements = int64_t(1) << 48;
  for (auto [tensor, type] : llvm::enumerate(types)) {
    auto tensorType = dyn_cast<RankedTensorType>(type);
    if (!tensorType || !tensorType.hasStaticShape() ||
        isLikeLast(types, tensor))
      continue;
    int64_t left = mostElements;
    for (int64_t extent : tensorType.getShape()) {
      if (extent < 1)
        return refuse(op, tensor) << roleOf(op, tensor) << " has extent "
                                  << extent << "; extents are at least 1";
      left /= extent;
    }
    if (left == 0)
      return refuse(op, tensor)
             << roleOf(op, tensor) << " has more than 2^48 elements";
  }
  return success();
}

/// Whether an argument may be cut as a row of elements (Abi/FlatCut.h): a
/// parameter, or its gradient or state. Only callers know what the arguments of
/// a private function are.
bool mayBeCut(FunctionOpInterface function, unsigned argument) {
  return function.isPrivate() ||
         llvm::any_of(
             ArrayRef({paramAttrName, stateAttrName, gradientAttrName}),
             [&](StringRef name) {
               return function.getArgAttr(argument, name);
             });
}

/// Whether the value is cut as a row, or its placement is open.
bool maybeCut(Value value, const Mesh &mesh) {
  auto type = typeOf(value);
  return isUnplaced(type) ||
         flatCut(type.getShape(), placementOf(type, mesh), mesh);
}

/// Whether a tensor of the operation may be cut as a row. Some arguments may
/// be, and results that are computed from rows alone, or are only proposed to
/// be. An operand that is a result was judged there. In the backward pass and
/// the update, the compiler asks for such tensors.
bool mayBeCut(Operation *op, unsigned tensor, const Mesh &mesh) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return mayBeCut(function, tensor);
  if (isa<CollectiveOpInterface>(op) || isBackward(op) || isUpdate(op) ||
      (op->getParentOp() && op->getParentOp()->hasAttr(updateOfAttrName)))
    return true;
  if (tensor < op->getNumOperands()) {
    auto argument = dyn_cast<BlockArgument>(op->getOperand(tensor));
    auto function =
        argument
            ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
            : FunctionOpInterface();
    return !function || mayBeCut(function, argument.getArgNumber());
  }
  Value result = op->getResult(tensor - op->getNumOperands());
  auto isRow = [&](Value operand) { return maybeCut(operand, mesh); };
  return getResultAttr(result, proposedAttrName) ||
         (cast<IndexedOpInterface>(op).getIndexStructure().worksOnRows() &&
          llvm::any_of(op->getOperands(), isRow));
}

/// (I3) for the extents that the program runs with.
LogicalResult verifyEven(Operation *op, ArrayRef<Type> types,
                         const Mesh &mesh) {
  Type even; // the last type that every mesh axis divides evenly
  for (auto [tensor, type] : llvm::enumerate(types)) {
    IdxAttr idx = getIdx(type);
    if (!idx || idx.getLocal() || type == even)
      continue;
    auto tensorType = cast<RankedTensorType>(type);
    Placement placement = placementOf(type, mesh);
    std::optional<unsigned> dim =
        firstUnevenDim(tensorType.getShape(), placement, mesh);
    if (!dim)
      even = type;
    if (!dim || isPaddingOpen(op))
      continue;
    SmallVector<int64_t> shape = shapeToRun(op, tensorType);
    dim = firstUnevenDim(shape, placement, mesh);
    if (!dim ||
        (canBeStored(shape, placement, mesh) && mayBeCut(op, tensor, mesh)))
      continue;
    InFlightDiagnostic diag = refuse(op, tensor);
    StringRef index = idx.getNames()[*dim].getValue();
    diag << "index '" << index << "' of " << roleOf(op, tensor) << " ";
    explainUneven(diag, index, shape[*dim], placement.dims[*dim], mesh);
    return diag;
  }
  return success();
}

} // namespace

/// (I4)
LogicalResult tpsp::verifyExtents(Operation *op) {
  SmallVector<Type> types = tensorTypes(op);
  struct Seen {
    StringAttr name;
    int64_t extent;
    unsigned tensor;
  };
  SmallVector<Seen, 8> seen;
  for (auto [tensor, type] : llvm::enumerate(types)) {
    if (isLikeLast(types, tensor))
      continue;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    for (auto [name, extent] :
         llvm::zip_equal(getIdx(type).getNames(), shape)) {
      const auto *known = llvm::find_if(
          seen, [&, name = name](const Seen &s) { return s.name == name; });
      if (known == seen.end()) {
        seen.push_back({name, extent, unsigned(tensor)});
        continue;
      }
      if (known->extent == extent)
        continue;
      return op->emitOpError()
             << "index '" << name.getValue() << "' has extent " << known->extent
             << " on " << roleOf(op, known->tensor) << " but " << extent
             << " on " << roleOf(op, tensor)
             << "; one name means one extent: rename one of them "
                "(tpsp.rename)";
    }
  }
  return success();
}

namespace {

/// (I5)
LogicalResult verifyResultIndices(Operation *op) {
  auto carries = [&](StringAttr name) {
    return llvm::any_of(op->getOperandTypes(), [&](Type type) {
      return llvm::is_contained(getIdx(type).getNames(), name);
    });
  };
  for (Type type : op->getResultTypes())
    for (StringAttr name : getIdx(type).getNames())
      if (!carries(name))
        return op->emitOpError()
               << "the result has index '" << name.getValue()
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
    auto type = typeOf(operand);
    Mesh mesh = meshOf(op);
    Placement placement = placementOf(type, mesh);
    Placement whole = placement;
    whole.pending.clear();
    TransitionCost price =
        cost(*planTransition(placement, whole, mesh), placement,
             type.getShape(), type.getElementTypeBitWidth() / 8, mesh);
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

/// (I8) A misspelt option would silently be ignored. Attributes of passes have
/// a prefix.
LogicalResult verifyAttributeNames(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue;
    InFlightDiagnostic diag = op->emitOpError("has no attribute '");
    diag << name << "'";
    ArrayRef<StringAttr> known = op->getName().getAttributeNames();
    const StringAttr *nearest = llvm::find_if(known, [&](StringAttr each) {
      return each.getValue().edit_distance(name) <= 2;
    });
    if (nearest != known.end())
      return diag << "; is it '" << nearest->getValue() << "'?";
    if (known.empty())
      return diag << ", and takes none";
    diag << "; it has ";
    llvm::interleaveComma(known, diag, [&](StringAttr each) {
      diag << "'" << each.getValue() << "'";
    });
    return diag;
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
      return op->emitOpError()
             << roleOf(op, tensor) << " has element type " << element
             << ", but what comes before it " << common
             << "; one operation computes in one type (tpsp.convert)";
  }
  return success();
}

} // namespace

LogicalResult tpsp::verifySubscripts(Operation *op, ArrayRef<Type> types,
                                     const Mesh &mesh) {
  if (failed(verifySizes(op, types)) ||
      failed(verifyAxesKnown(op, types, mesh)) ||
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
  if (!indexed.isView() && failed(verifyExtents(op)))
    return failure();
  if (!indexed.isView() && !indexed.introducesIndices() &&
      failed(verifyResultIndices(op)))
    return failure();
  if (failed(verifyPartialOperands(op, indexed.getLinearity())) ||
      failed(verifyAttributeNames(op)))
    return failure();
  return verifyElementTypes(indexed, types);
}

/// The positions that a scalar computes with are along indices of the result.
static LogicalResult verifyIndexAttributes(Operation *op) {
  auto loop = dyn_cast<LoopOpInterface>(op);
  if (!loop)
    return success();
  for (StringRef name : loop.getPositionIndices())
    if (name != microBatchPosition && !getIdx(op->getResult(0)).dimOf(name))
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
  auto type = typeOf(op->getResult(0));
  bool isPart = (number >= 0 && number < parts) || number == everyMicroBatch;
  if (blocks > 0 && isPart &&
      (getIdx(type).getLocal() || type.getDimSize(*dim) % blocks == 0))
    return success();
  return op->emitOpError() << "part " << number << " of " << parts << " in "
                           << blocks << " blocks is no part of index '"
                           << along.getValue() << "' of extent "
                           << type.getDimSize(*dim);
}

FailureOr<int64_t> tpsp::verifyTilePlace(Operation *op, TileAttr tile) {
  IdxAttr result = getIdx(op->getResult(0));
  if (!result.getLocal())
    return op->emitOpError("has a tile, which is of one rank's shapes, but the "
                           "result is global; run tpsp-partition first");
  if (!result.dimOf(tile.getIndex().getValue()))
    return op->emitOpError("has a tile of '")
           << tile.getIndex().getValue()
           << "', which is no index of the result, ["
           << subscripts(op->getResult(0).getType()) << "]";
  Mesh mesh = meshOf(op);
  AxisList axes;
  for (Attribute axis : tile.getAxes()) {
    auto name = dyn_cast<StringAttr>(axis);
    std::optional<AxisId> id = name ? mesh.find(name.getValue()) : std::nullopt;
    if (!id)
      return op->emitOpError("has a tile over ")
             << axis << ", which is no axis of the mesh";
    axes.push_back(*id);
  }
  return mesh.groupSize(axes);
}

/// (P5)
static LogicalResult verifyTile(Operation *op) {
  auto tile = op->getAttrOfType<TileAttr>("tile");
  if (!tile)
    return success();
  if (failed(verifyTilePlace(op, tile)))
    return failure();
  if (tile.getExtent() > 0 && tile.getShift() >= 0 && tile.getOffset() >= 0)
    return success();
  return op->emitOpError("has a tile of ")
         << tile.getExtent() << " positions, shifted by " << tile.getShift()
         << " from " << tile.getOffset()
         << "; extents are positive, shifts and "
         << "offsets not negative";
}

LogicalResult tpsp::verifyOnePrecision(Operation *op, ValueRange tensors) {
  Type common = typeOf(tensors.front()).getElementType();
  for (Value tensor : tensors)
    if (Type element = typeOf(tensor).getElementType(); element != common)
      return op->emitOpError("has tensors of ")
             << common << " and of " << element
             << "; one operation computes in one type (tpsp.convert)";
  return success();
}

LogicalResult tpsp::verifyStep(Operation *op, unsigned number) {
  if (number >= op->getNumOperands() ||
      getIdx(op->getOperand(number)).getRank() == 0)
    return success();
  return op->emitOpError("operand #")
         << number << " is the step's number, but has indices ["
         << subscripts(op->getOperand(number).getType())
         << "]; give a number without, or leave it out";
}

/// (P4) for an operation with `arity` operands and perhaps the step's number.
static LogicalResult verifyStepOf(Operation *op, unsigned arity) {
  if (failed(verifyStep(op, arity)))
    return failure();
  SmallVector<Value> tensors(op->getOperands().take_front(arity));
  if (tensors.empty())
    return success();
  llvm::append_range(tensors, op->getResults());
  return verifyOnePrecision(op, tensors);
}

LogicalResult tpsp::verifyPointwise(Operation *op, int arity, int optional) {
  IdxAttr result = getIdx(op->getResult(0));
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) // (P1)
    for (StringRef name : indexNames(operand.getType()))
      if (!result.dimOf(name))
        return op->emitOpError()
               << "operand #" << i << " has index '" << name
               << "', which the result lacks; a pointwise operation does not "
                  "sum: use tpsp.reduce or tpsp.einsum";
  int count = int(op->getNumOperands());
  bool matches = arity < 0
                     ? count > 0
                     : count >= arity && count <= arity + optional; // (P2)
  if (!matches)
    return op->emitOpError() << "takes " << (arity < 0 ? 1 : arity)
                             << (arity < 0 ? " or more" : "")
                             << " operands, not " << op->getNumOperands();
  auto rate = op->getAttrOfType<FloatAttr>("rate"); // (P4)
  if (rate && !(rate.getValueAsDouble() >= 0 && rate.getValueAsDouble() < 1))
    return op->emitOpError() << "rate " << rate.getValueAsDouble()
                             << " is not a probability below 1";
  if (optional > 0 && failed(verifyStepOf(op, arity)))
    return failure();
  if (failed(verifyPart(op)) || failed(verifyTile(op)))
    return failure();
  return verifyIndexAttributes(op);
}
