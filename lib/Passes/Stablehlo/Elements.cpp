// Scalars as tensors: the operations that emitScalar emits for one point,
// applied to all points at once.
#include "Forms.h"

#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

namespace {

struct Row {
  const char *name;
  const char *target;
  /// Whether its integers are unsigned, for which StableHLO has types.
  bool isUnsigned = false;
};

constexpr Row rows[] = {
    {"arith.addf", "stablehlo.add"},
    {"arith.subf", "stablehlo.subtract"},
    {"arith.mulf", "stablehlo.multiply"},
    {"arith.divf", "stablehlo.divide"},
    {"arith.negf", "stablehlo.negate"},
    {"arith.maximumf", "stablehlo.maximum"},
    {"arith.minimumf", "stablehlo.minimum"},
    {"arith.addi", "stablehlo.add"},
    {"arith.subi", "stablehlo.subtract"},
    {"arith.muli", "stablehlo.multiply"},
    {"arith.divui", "stablehlo.divide", true},
    {"arith.remui", "stablehlo.remainder", true},
    {"arith.andi", "stablehlo.and"},
    {"arith.ori", "stablehlo.or"},
    {"arith.xori", "stablehlo.xor"},
    {"arith.shrui", "stablehlo.shift_right_logical"},
    {"arith.select", "stablehlo.select"},
    {"arith.extf", "stablehlo.convert"},
    {"arith.truncf", "stablehlo.convert"},
    {"arith.trunci", "stablehlo.convert", true},
    {"arith.extui", "stablehlo.convert", true},
    {"arith.sitofp", "stablehlo.convert"},
    {"arith.fptoui", "stablehlo.convert", true},
    {"arith.index_cast", "stablehlo.convert"},
    {"math.exp", "stablehlo.exponential"},
    {"math.log", "stablehlo.log"},
    {"math.tanh", "stablehlo.tanh"},
    {"math.sin", "stablehlo.sine"},
    {"math.cos", "stablehlo.cosine"},
    {"math.sqrt", "stablehlo.sqrt"},
    {"math.absf", "stablehlo.abs"},
    {"math.erfc", "chlo.erfc"},
};

const Row *findRow(StringRef name) {
  const Row *row =
      llvm::find_if(rows, [&](const Row &each) { return name == each.name; });
  return row == std::end(rows) ? nullptr : row;
}

/// "LT" for slt, ult and olt; empty for predicates that no operation of tpsp
/// uses.
std::string directionOf(StringRef predicate) {
  constexpr StringRef asked[] = {"eq",  "ne",  "slt", "ult", "sle", "ule",
                                 "sgt", "ugt", "sge", "uge", "oeq", "une",
                                 "olt", "ole", "ogt", "oge"};
  return llvm::is_contained(asked, predicate) ? predicate.take_back(2).upper()
                                              : "";
}

/// An operation's scalar in a function of its own. Arguments are the operands'
/// elements, then positions in the order in which they are needed.
struct ScalarBody {
  ScalarBody(HloBuilder &h, LoopOpInterface op,
             ArrayRef<NamedTensor> operands) {
    OpBuilder b(h.b.getContext());
    function =
        func::FuncOp::create(b, h.loc, "scalar", b.getFunctionType({}, {}));
    Block &block = *function->addEntryBlock();
    for (const NamedTensor &operand : operands)
      block.addArgument(h.wide(operand.element()), h.loc);
    b.setInsertionPointToEnd(&block);
    SmallVector<Value> elements(block.getArguments());
    Value result = op.emitScalar(b, elements, [&](StringRef name) -> Value {
      positions.push_back(b.getStringAttr(name));
      return block.addArgument(b.getIndexType(), h.loc);
    });
    func::ReturnOp::create(b, h.loc, result);
    expandRandomBits();
  }

  Block &block() { return function->getBody().front(); }

  OwningOpRef<func::FuncOp> function;
  SmallVector<StringAttr> positions;

private:
  void expandRandomBits() {
    SmallVector<Operation *> draws;
    function->walk([&](RandomBitsOp op) { draws.push_back(op); });
    if (draws.empty())
      return;
    RewritePatternSet patterns(function->getContext());
    populateExpandRandomBits(patterns);
    (void)applyOpPatternsGreedily(draws, std::move(patterns),
                                  GreedyRewriteConfig().enableFolding(false));
  }
};

/// Applies a body to tensors over a space.
class ElementEmitter {
public:
  ElementEmitter(HloBuilder &h, LoopOpInterface op, const Space &space)
      : h(h), op(op), space(space) {}

  FailureOr<Value> emit(ScalarBody &body, ArrayRef<NamedTensor> operands) {
    auto arguments = body.block().getArguments();
    for (auto [operand, element] : llvm::zip(operands, arguments))
      tensors[element] = h.spread(h.convert(operand, element.getType()), space);
    for (auto [name, position] :
         llvm::zip(body.positions, arguments.drop_front(operands.size())))
      tensors[position] = h.iota(space.of(h.b.getI64Type()), space.dimOf(name));
    for (Operation &scalar : body.block().without_terminator())
      if (failed(emit(scalar)))
        return failure();
    return tensors.lookup(body.block().getTerminator()->getOperand(0));
  }

private:
  LogicalResult emit(Operation &scalar) {
    Value result = scalar.getResult(0);
    if (auto constant = dyn_cast<arith::ConstantOp>(scalar)) {
      tensors[result] = splat(constant.getValue());
      return success();
    }
    SmallVector<Value> operands;
    for (Value operand : scalar.getOperands())
      operands.push_back(tensors.lookup(operand));
    if (auto compare = dyn_cast<arith::CmpFOp>(scalar))
      return compared(scalar, stringifyEnum(compare.getPredicate()), operands);
    if (auto compare = dyn_cast<arith::CmpIOp>(scalar)) {
      if (compare.getPredicate() >= arith::CmpIPredicate::ult)
        for (Value &operand : operands)
          operand = asUnsigned(operand);
      return compared(scalar, stringifyEnum(compare.getPredicate()), operands);
    }
    if (isa<math::FmaOp>(scalar)) {
      tensors[result] = productAndSum(result.getType(), operands);
      return success();
    }
    const Row *row = findRow(scalar.getName().getStringRef());
    if (!row)
      return refuse(scalar);
    tensors[result] = row->isUnsigned
                          ? mapUnsigned(*row, result.getType(), operands)
                          : mapped(*row, elementOf(result.getType()), operands);
    return success();
  }

  /// Positions have 64 bits.
  Type elementOf(Type scalar) {
    return scalar.isIndex() ? h.b.getI64Type() : scalar;
  }

  Value splat(TypedAttr value) {
    Type element = elementOf(value.getType());
    if (auto integer = dyn_cast<IntegerAttr>(value))
      value = h.b.getIntegerAttr(element, integer.getInt());
    return h.splat(space.of(element), value);
  }

  Value mapped(const Row &row, Type element, ValueRange operands) {
    bool isConversion = StringRef(row.target) == "stablehlo.convert";
    return isConversion ? h.convert(operands.front(), element)
                        : h.make(row.target, space.of(element), operands);
  }

  Value mapUnsigned(const Row &row, Type scalar, ArrayRef<Value> operands) {
    auto unsignedOperands = llvm::map_to_vector(
        operands, [&](Value operand) { return asUnsigned(operand); });
    Type element = elementOf(scalar);
    return h.bitcast(mapped(row, unsignedOf(element), unsignedOperands),
                     element);
  }

  /// Rounds twice, because StableHLO has no fused form.
  Value productAndSum(Type type, ArrayRef<Value> operands) {
    Type whole = space.of(type);
    Value product =
        h.make("stablehlo.multiply", whole, {operands[0], operands[1]});
    return h.make("stablehlo.add", whole, {product, operands[2]});
  }

  /// Truth values have one bit and no sign.
  Type unsignedOf(Type element) {
    if (!element.isInteger() || element.isInteger(1))
      return element;
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth(),
                            IntegerType::Unsigned);
  }
  Value asUnsigned(Value x) {
    return h.bitcast(x, unsignedOf(getElementTypeOrSelf(x)));
  }

  LogicalResult compared(Operation &scalar, StringRef predicate,
                         ArrayRef<Value> operands) {
    std::string direction = directionOf(predicate);
    if (direction.empty())
      return refuse(scalar);
    tensors[scalar.getResult(0)] =
        h.compare(direction, operands[0], operands[1]);
    return success();
  }

  LogicalResult refuse(Operation &scalar) {
    return op.emitOpError("computes with ")
           << scalar.getName() << ", which has no form in StableHLO; write it "
           << "with other operations";
  }

  HloBuilder &h;
  LoopOpInterface op;
  const Space &space;
  llvm::DenseMap<Value, Value> tensors;
};

} // namespace

FailureOr<NamedTensor> hlo::emitLoop(HloBuilder &h, LoopOpInterface op,
                                     ArrayRef<NamedTensor> operands) {
  auto type = typeOf(op->getResult(0));
  Space space;
  for (auto [name, extent] :
       llvm::zip_equal(getIdx(type).getNames(), type.getShape()))
    space.add(name, extent);
  for (const NamedTensor &operand : operands)
    space.addAll(operand);
  ScalarBody body(h, op, operands);
  FailureOr<Value> value = ElementEmitter(h, op, space).emit(body, operands);
  if (failed(value))
    return failure();
  return h.reduce({*value, space.names}, getIdx(type).getNames(),
                  cast<IndexedOpInterface>(*op).getReduction());
}
