// tpsp-set-element-type: sets the type in which tensors are stored.
//
// In 16 bits losses stay in f32. An operation that stays wide converts its
// operands. Its result stays in f32 through what is made of it alone, to the
// function's result, as imported programs have it. Whatever is larger than the
// loss itself is stored in 16 bits again.
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/ProgramTypes.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_SETELEMENTTYPE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Keeps the losses of a program in f32 whose tensors are stored in `narrow`.
class WideLosses {
public:
  WideLosses(ModuleOp module, Type narrow)
      : module(module), narrow(narrow), b(module.getContext()) {}

  void keep() {
    SmallVector<IndexedOpInterface> seeds;
    module.walk([&](IndexedOpInterface op) {
      if (op.staysWide())
        seeds.push_back(op);
    });
    for (IndexedOpInterface op : seeds)
      widen(op);
    while (!changed.empty())
      follow(changed.pop_back_val());
  }

private:
  bool isNarrow(Value value) const {
    return getIdx(value) && typeOf(value).getElementType() == narrow;
  }

  Value convert(Value value, Type element, Operation *user) {
    b.setInsertionPoint(user);
    return ConvertOp::create(b, value.getLoc(),
                             withElement(typeOf(value), element),
                             ValueRange{value});
  }

  void setWide(Value value) {
    if (!isNarrow(value))
      return;
    value.setType(withElement(typeOf(value), b.getF32Type()));
    changed.push_back(value);
  }

  /// Computes `op` in f32.
  void widen(IndexedOpInterface op) {
    if (!op.mixesPrecision())
      for (OpOperand &operand : op->getOpOperands())
        if (isNarrow(operand.get()))
          operand.set(convert(operand.get(), b.getF32Type(), op));
    for (Value result : op->getResults())
      setWide(result);
  }

  /// Adapts the uses of a value that has become f32.
  void follow(Value value) {
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *user = use.getOwner();
      auto indexed = dyn_cast<IndexedOpInterface>(user);
      if (auto give = dyn_cast<func::ReturnOp>(user))
        returnWide(give, use.getOperandNumber());
      else if (indexed && isMadeOf(user, value))
        widen(indexed);
      else if (!indexed || !indexed.mixesPrecision())
        use.set(convert(value, narrow, user));
    }
  }

  /// Whether the result of `user` is no larger than `value`, and not meant to
  /// be of another type.
  static bool isMadeOf(Operation *user, Value value) {
    return !isa<ConvertOp>(user) && user->getNumResults() == 1 &&
           typeOf(user->getResult(0)).getNumElements() <=
               typeOf(value).getNumElements();
  }

  /// Changes the type of a function's result, and of what its callers get.
  void returnWide(func::ReturnOp give, unsigned number) {
    auto function = give->getParentOfType<func::FuncOp>();
    FunctionType type = function.getFunctionType();
    SmallVector<Type> results(type.getResults());
    results[number] = give.getOperand(number).getType();
    function.setType(
        FunctionType::get(b.getContext(), type.getInputs(), results));
    module.walk([&](func::CallOp call) {
      if (call.getCallee() == function.getName())
        setWide(call.getResult(number));
    });
  }

  ModuleOp module;
  Type narrow;
  OpBuilder b;
  /// Values that have become f32, and whose uses have not been adapted.
  SmallVector<Value> changed;
};

struct SetElementType
    : public WithOptions<tpsp::impl::SetElementTypeBase<SetElementType>,
                         &CompileOptions::dtype> {
  void runOnOperation() override {
    Type wanted = floatTypeNamed(&getContext(), options().dtype);
    if (!wanted) {
      emitOptionError(getOperation(), getArgument(), "dtype")
          << "give the element type: f64, f32, bf16 or f16";
      return signalPassFailure();
    }
    replaceTensorTypes(getOperation(), [&](RankedTensorType tensor) {
      return isa<FloatType>(tensor.getElementType())
                 ? withElement(tensor, wanted)
                 : tensor;
    });
    if (wanted.getIntOrFloatBitWidth() < 32)
      WideLosses(getOperation(), wanted).keep();
  }
};

} // namespace
