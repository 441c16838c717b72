// convert-tpsp-to-stablehlo: converts a program on global shapes to a module
// that XLA and JAX read.
#include "Forms.h"
#include "HloDialects.h"
#include "Passes/Logical/Decompose.h"
#include "Passes/Program/Placed.h"
#include "Shardings.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace tpsp {
#define GEN_PASS_DEF_CONVERTTPSPTOSTABLEHLO
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

namespace {

Type withoutEncoding(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

/// Removes the placement of a composite along an index that must be whole and
/// is on an axis, and places its result afterwards. Its parts are views of that
/// index, whose extents the axes need not divide.
void unplace(DecomposableOpInterface op) {
  auto indexed = cast<IndexedOpInterface>(*op);
  auto isDivided = [&](StringRef name) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      IdxAttr idx = getIdx(operand);
      std::optional<unsigned> dim = idx.dimOf(name);
      return dim && !idx.getAxes()[*dim].empty();
    });
  };
  if (llvm::none_of(indexed.getWholeIndices(), isDivided))
    return;
  OpBuilder b(op);
  auto reshard = [&](Value from, Type type) -> Value {
    return ReshardOp::create(b, op.getLoc(), type, from);
  };
  auto unplaced = [](Value value) { return withoutPlacement(typeOf(value)); };
  for (OpOperand &operand : op->getOpOperands())
    operand.set(reshard(operand.get(), unplaced(operand.get())));
  Value result = op->getResult(0);
  Type placed = result.getType();
  result.setType(unplaced(result));
  b.setInsertionPointAfter(op);
  Value again = reshard(result, placed);
  result.replaceAllUsesExcept(again, again.getDefiningOp());
}

/// Decomposes composites that have no form as a whole.
void decomposeAll(func::FuncOp function) {
  auto select = [](DecomposableOpInterface op) {
    return !op.decomposesEarly() && !op.hasOwnKernel();
  };
  function.walk([&](DecomposableOpInterface op) {
    if (select(op))
      unplace(op);
  });
  decompose(function, /*tellsPartsApart=*/false, select);
}

/// Converts one function to @main.
class FunctionConversion {
public:
  explicit FunctionConversion(func::FuncOp from)
      : from(from), shardings(from), b(from) {}

  LogicalResult run() {
    if (failed(checkTypes()))
      return failure();
    decomposeAll(from);
    shardings.declareMesh(b);
    auto plain = [](TypeRange types) {
      return llvm::map_to_vector(types, withoutEncoding);
    };
    auto main =
        func::FuncOp::create(b, from.getLoc(), "main",
                             b.getFunctionType(plain(from.getArgumentTypes()),
                                               plain(from.getResultTypes())));
    describe(main);
    Block &body = *main.addEntryBlock();
    for (auto [own, made] :
         llvm::zip_equal(from.getArguments(), body.getArguments()))
      values.map(own, made);
    b.setInsertionPointToStart(&body);
    Block &program = from.getBody().front();
    for (Operation &op : program.without_terminator())
      if (failed(convert(op)))
        return failure();
    SmallVector<Value> results;
    for (Value result : program.getTerminator()->getOperands())
      results.push_back(values.lookup(result));
    func::ReturnOp::create(b, from.getLoc(), results);
    return success();
  }

private:
  /// Verifies that arguments and results are placed and not partial.
  LogicalResult checkTypes() {
    for (BlockArgument argument : from.getArguments())
      if (failed(checkType(argument)))
        return failure();
    for (Value result : from.getBody().front().getTerminator()->getOperands())
      if (failed(checkType(result)))
        return failure();
    return success();
  }

  LogicalResult checkType(Value value) {
    IdxAttr idx = getIdx(value);
    auto refuse = [&](const Twine &what) {
      return emitErrorAt(value) << "'" << tensorName(value) << "'["
                                << subscripts(value.getType()) << "] " << what;
    };
    if (!idx)
      return emitErrorAt(value)
             << "'" << tensorName(value)
             << "' is no tensor of named indices; a program is made of those";
    if (idx.getLocal())
      return refuse("is one rank's part; a StableHLO module has whole tensors: "
                    "convert before tpsp-partition");
    if (!idx.getPending().empty())
      return refuse("is partial, which Shardy has no word for at the ends of "
                    "a program; complete it there (tpsp.reshard)");
    return success();
  }

  /// Sets names and shardings of arguments and results.
  void describe(func::FuncOp main) {
    auto entry = [&](Type type, StringRef key, StringRef name) {
      SmallVector<NamedAttribute> attributes = {
          b.getNamedAttr(key, b.getStringAttr(name))};
      if (Attribute sharding = shardings.of(type))
        attributes.push_back(b.getNamedAttr("sdy.sharding", sharding));
      return b.getDictionaryAttr(attributes);
    };
    SmallVector<DictionaryAttr> arguments, results;
    for (BlockArgument argument : from.getArguments())
      arguments.push_back(
          entry(argument.getType(), "jax.arg_info", tensorName(argument)));
    for (auto [i, type] : llvm::enumerate(from.getResultTypes()))
      results.push_back(entry(type, "jax.result_info", resultName(from, i)));
    main.setAllArgAttrs(arguments);
    main.setAllResultAttrs(results);
  }

  LogicalResult convert(Operation &op) {
    HloBuilder h(b, op.getLoc());
    auto operands = llvm::map_to_vector(
        op.getOperands(), [&](Value own) { return values.lookup(own); });
    // Both ends of a movement get a constraint, so that XLA moves the tensor
    // where tpsp does.
    if (isa<CollectiveOpInterface>(op))
      for (auto [own, made] : llvm::zip_equal(op.getOperands(), operands))
        if (getIdx(own).getPending().empty())
          made = constrained(h, own, made);
    FailureOr<SmallVector<Value>> results = emitOperation(h, &op, operands);
    if (failed(results))
      return failure();
    for (auto [own, made] : llvm::zip_equal(op.getResults(), *results))
      values.map(own,
                 shardings.mustSay(own) ? constrained(h, own, made) : made);
    return success();
  }

  /// `made` with the placement of `own`; `made` itself if it was constrained
  /// just before.
  Value constrained(HloBuilder &h, Value own, Value made) {
    constexpr StringLiteral name = "sdy.sharding_constraint";
    Attribute sharding = shardings.of(own.getType());
    Operation *op = made.getDefiningOp();
    if (!sharding || (op && op->getName().getStringRef() == name &&
                      op->getAttr("sharding") == sharding))
      return made;
    return h.make(name, made.getType(), made, h.named("sharding", sharding));
  }

  func::FuncOp from;
  Shardings shardings;
  OpBuilder b;
  IRMapping values;
};

struct ConvertTpspToStablehlo
    : public tpsp::impl::ConvertTpspToStablehloBase<ConvertTpspToStablehlo> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> program;
    for (Operation &op : *getOperation().getBody())
      program.push_back(&op);
    func::FuncOp chosen = choose();
    if (!chosen || failed(FunctionConversion(chosen).run()))
      return signalPassFailure();
    for (Operation *op : program)
      op->erase();
  }

private:
  /// The requested function, or its differentiated form. Without a request, the
  /// only function.
  func::FuncOp choose() {
    SmallVector<func::FuncOp> found;
    for (auto each : getOperation().getOps<func::FuncOp>())
      if (!each.isExternal() &&
          (function.empty() || each.getSymName() == function ||
           each.getSymName() == function + "_grad"))
        found.push_back(each);
    if (found.size() == 1 && found.front().getBody().hasOneBlock())
      return found.front();
    InFlightDiagnostic error = emitErrorAt(getOperation());
    if (found.empty())
      error << (function.empty()
                    ? "the program has no function"
                    : "the program has no function '" + function + "'")
            << " to convert";
    else if (found.size() > 1)
      error << "the program has " << found.size()
            << " functions, and XLA runs one; name it with function=NAME";
    else
      error << "has control flow; tpsp converts straight-line functions";
    return {};
  }
};

} // namespace
