// Types of the values of a function in short form: written types, results of
// callees, and types that operands determine.
#include "ProgramResolution.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Determines the types of one function's values.
class BodyTypes {
public:
  BodyTypes(func::FuncOp function, const ProgramHead &head,
            const FunctionsByName &functions)
      : function(function), head(head), functions(functions) {}

  LogicalResult infer() {
    for (Operation &op : function.getBody().front())
      if (failed(checkOperands(&op)) || failed(inferResults(&op)))
        return failure();
    for (Value value : inferred)
      if (failed(placeForUsers(value)))
        return failure();
    return success();
  }

private:
  LogicalResult checkOperands(Operation *op) { // (Q5)
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!isa<InferredType>(operand.getType()))
        continue;
      Operation *maker = operand.getDefiningOp();
      if (maker && maker->getBlock())
        return emitError(op->getLoc())
               << "operand #" << i << " of '" << op->getName()
               << "' is made after its use; write what makes it first";
      auto named = operand.getLoc()->findInstanceOf<NameLoc>();
      return emitError(operand.getLoc())
             << "'" << (named ? named.getName().getValue() : "operand")
             << "' is not defined in this function";
    }

    return success();
  }
  LogicalResult inferResults(Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return typeCall(call);
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    bool isOpen =
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<InferredType>);
    if (!isOpen)
      return success();
    if (!indexed)
      return emitError(op->getLoc())
             << "'" << op->getName() << "' has no short form; write its types";
    auto written = op->getAttrOfType<ArrayAttr>(writtenAttrName);
    op->removeAttr(writtenAttrName);
    if (!written)
      return op->getNumResults() == 1 ? typeByOperands(indexed)
                                      : emitError(op->getLoc())
                                            << "'" << op->getName() << "' has "
                                            << op->getNumResults()
                                            << " results; write the type of "
                                               "each, as in -> [b, s, d], "
                                               "f32[b, s]";
    if (written.size() != op->getNumResults())
      return emitError(op->getLoc())
             << "'" << op->getName() << "' has " << op->getNumResults()
             << " results and " << written.size() << " written types";
    for (auto [i, each] : llvm::enumerate(written))
      if (failed(typeWritten(indexed, i, each)))
        return failure();
    return success();
  }
  LogicalResult typeCall(func::CallOp call) {
    auto found = functions.find(call.getCallee());
    if (found == functions.end())
      return emitError(call.getLoc()) << "there is no function @"
                                      << call.getCallee() << " in this program";
    func::FuncOp callee = found->second;
    if (failed(checkCounts(call, callee)))
      return failure();
    TypeRange types = callee.getFunctionType().getResults();
    for (auto [result, type] : llvm::zip_equal(call.getResults(), types))
      result.setType(type);
    return success();
  }
  LogicalResult typeWritten(IndexedOpInterface op, unsigned result,
                            Attribute written) {
    auto complete = dyn_cast<TypeAttr>(written);
    Type type;
    if (complete) {
      type = closed(cast<RankedTensorType>(complete.getValue()), head,
                    op.getLoc());
    } else if (Type element = elementOf(op)) {
      type = tensorOf(op, element, cast<IdxAttr>(written));
    }

    if (!type)
      return failure();
    op->getResult(result).setType(type);
    if (getIdx(type) && isUnplaced(type))
      inferred.push_back(op->getResult(result));
    return success();
  }
  LogicalResult typeByOperands(IndexedOpInterface op) { // (Q4)
    std::optional<SmallVector<StringRef>> names = op.inferIndices();
    if (!names)
      return emitError(op.getLoc())
             << "the operands and attributes of '" << op->getName()
             << "' do not determine its result: one is missing, or the result "
                "is to be written, as in -> [b, s, ?]";
    Type element = elementOf(op);
    if (!element)
      return failure();
    SmallVector<StringAttr> attrs;
    for (StringRef name : *names)
      attrs.push_back(StringAttr::get(op.getContext(), name));
    IdxAttr idx = IdxAttr::get(op.getContext(), attrs).withoutPlacement();
    Type type = tensorOf(op, element, idx);
    if (!type)
      return failure();
    op->getResult(0).setType(type);
    inferred.push_back(op->getResult(0));
    return success();
  }
  /// Gives a tensor its extents: those of the operands, and for new indices the
  /// program's.
  RankedTensorType tensorOf(Operation *op, Type element, IdxAttr idx) {
    SmallVector<int64_t> shape(idx.getRank(), ShapedType::kDynamic);
    for (auto [extent, name] : llvm::zip_equal(shape, idx.getNames()))
      for (Value operand : op->getOperands())
        if (std::optional<unsigned> dim =
                getIdx(operand).dimOf(name.getValue()))
          extent = typeOf(operand).getDimSize(*dim);
    return closed(RankedTensorType::get(shape, element, idx), head,
                  op->getLoc());
  }
  /// The result's element type: integers if the operation says so, else the
  /// common type of the operands. Null, with an error, if they disagree.
  Type elementOf(IndexedOpInterface op) {
    if (unsigned width = op.getIntegerWidth(op->getNumOperands()))
      return IntegerType::get(op.getContext(), width);
    Type element;
    for (Value operand : op->getOperands()) {
      Type own = typeOf(operand).getElementType();
      if (!isa<FloatType>(own) || own == element)
        continue;
      if (element) {
        refuseMixture(op, element, operand);
        return {};
      }
      element = own;
    }

    return element ? element : head.element;
  }
  /// "bf16". A diagnostic would put the type in quotes.
  static std::string nameOf(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  /// Refuses an operand whose element type differs from that of the operands
  /// before it.
  static void refuseMixture(IndexedOpInterface op, Type element,
                            Value operand) {
    auto type = typeOf(operand);
    InFlightDiagnostic error = emitError(op.getLoc());
    error << "operands of '" << op->getName() << "' have " << element << " and "
          << type.getElementType();
    if (op.mixesPrecision())
      error << "; write the result's, as in bf16[b, s, ?]";
    else
      error
          << ", and it computes in one type; convert one, as in convert %x -> "
          << nameOf(element) << "[" << subscripts(type) << "]";
  }
  /// A result without a written placement gets the placement that its users,
  /// calls or the function's return, ask for.
  LogicalResult placeForUsers(Value value) { // (Q9)
    Type wanted;
    auto type = typeOf(value);
    for (OpOperand &use : value.getUses()) {
      auto other = dyn_cast_or_null<RankedTensorType>(wantedBy(use));
      if (!other || other == wanted)
        continue;
      if (wanted)
        return emitError(value.getLoc())
               << "this is wanted as [" << subscripts(wanted) << "] and as ["
               << subscripts(other)
               << "]; write one, and 'reshard' to the other";
      if (!getIdx(other) || withoutPlacement(other) != withoutPlacement(type))
        return refuseType(use, other);
      wanted = other;
    }

    if (wanted)
      value.setType(wanted);
    return success();
  }
  /// Refuses a value whose type differs from what the function or callee takes.
  LogicalResult refuseType(OpOperand &use, RankedTensorType wanted) {
    auto type = typeOf(use.get());
    auto call = dyn_cast<func::CallOp>(use.getOwner());
    std::string is = shortText(type), other = shortText(wanted);
    return emitError(use.get().getLoc())
           << "this is " << is << ", and @"
           << (call ? call.getCallee() : function.getSymName())
           << (call ? " takes " : " returns ") << other << "; "
           << (call ? "give" : "return") << " what is " << other
           << ", or write " << is << " in the type of the function";
  }
  /// "[b, s]" or "bf16[b, s]", without a placement; the full type for a tensor
  /// without indices.
  std::string shortText(RankedTensorType type) {
    if (!getIdx(type))
      return nameOf(type);
    Type element = type.getElementType();
    return (element == head.element ? "" : nameOf(element)) + "[" +
           llvm::join(indexNames(type), ", ") + "]";
  }
  /// The type that a call or return expects of this use; null for other users.
  Type wantedBy(OpOperand &use) {
    unsigned number = use.getOperandNumber();
    ArrayRef<Type> types;
    if (auto call = dyn_cast<func::CallOp>(use.getOwner()))
      types = functions.lookup(call.getCallee()).getFunctionType().getInputs();
    else if (isa<func::ReturnOp>(use.getOwner()))
      types = function.getFunctionType().getResults();
    return number < types.size() ? types[number] : Type();
  }

  func::FuncOp function;
  const ProgramHead &head;
  const FunctionsByName &functions;
  /// Results without a written placement.
  SmallVector<Value> inferred;
};

} // namespace

LogicalResult tpsp::inferBody(func::FuncOp function, const ProgramHead &head,
                              const FunctionsByName &functions) {
  return BodyTypes(function, head, functions).infer();
}
