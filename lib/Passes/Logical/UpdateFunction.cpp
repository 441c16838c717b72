#include "UpdateFunction.h"

#include "GradientNorm.h"
#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The type without the axes that cut it as a row of elements.
static RankedTensorType withoutCut(func::FuncOp function, RankedTensorType type,
                                   const Mesh &mesh) {
  Placement whole = tpsp::withoutCut(shapeToRun(function, type),
                                     placementOf(type, mesh), mesh);
  return withPlacement(type, whole, mesh);
}

namespace {

class UpdateFunction {
public:
  UpdateFunction(func::FuncOp function, std::vector<Trained> trained,
                 const UpdateSettings &settings)
      : function(function), settings(settings), mesh(meshOf(function)),
        b(function.getContext()), trained(std::move(trained)), added(function) {
  }

  void run() {
    freezeOthers(function);
    addArguments();
    added.insert();
    function.walk([&](RandomOpInterface op) {
      if (op.draws())
        op.addStep(function.getArgument(step));
    });
    build();
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments of the function itself
  //===--------------------------------------------------------------------===//

  void addArguments() {
    for (Trained &entry : trained) {
      BlockArgument parameter = function.getArgument(entry.argument);
      if (entry.hasMaster)
        addMaster(parameter, entry);
      for (const OptimizerState &state : entry.optimizer->state)
        entry.state.push_back(addState(parameter, entry, state.name, state.mean,
                                       state.deviation));
    }
    learningRate = addScalar("learning_rate", 0.1);
    step = addScalar("step", 10);
    if (!settings.lossScale.isOn())
      return;
    updates = addOwnState("updates", 0);
    if (!settings.lossScale.isDynamic)
      return;
    lossScale = addOwnState("loss_scale", settings.lossScale.first);
    goodSteps = addOwnState("good_steps", 0);
  }

  unsigned addState(BlockArgument parameter, const Trained &entry,
                    StringRef name, double mean, double deviation) {
    return addArgument(entry.stateType, nameOfState(name, parameter), mean,
                       deviation, parameter.getLoc(), stateOf(entry));
  }

  void addMaster(BlockArgument parameter, Trained &entry) {
    entry.state.push_back(addArgument(
        entry.stateType, nameOfState("master", parameter), 0, 1,
        parameter.getLoc(),
        {stateOf(entry), b.getNamedAttr(masterAttrName, b.getUnitAttr())}));
  }

  static std::string nameOfState(StringRef name, BlockArgument parameter) {
    return (name + "[" + tensorName(parameter) + "]").str();
  }
  NamedAttribute stateOf(const Trained &entry) {
    return b.getNamedAttr(stateAttrName, b.getI64IntegerAttr(entry.argument));
  }

  unsigned addScalar(StringRef name, double value) {
    return addNumber(name, value,
                     b.getNamedAttr(scalarAttrName, b.getUnitAttr()));
  }

  /// Adds a number that belongs to the whole step, which begins as `value`.
  unsigned addOwnState(StringRef name, double value) {
    return addNumber(name, value,
                     b.getNamedAttr(stateAttrName, b.getI64IntegerAttr(-1)));
  }

  unsigned addNumber(StringRef name, double value, NamedAttribute role) {
    auto idx = IdxAttr::get(b.getContext(), {}, {}, {}, false, false, false);
    return addArgument(RankedTensorType::get({}, b.getF32Type(), idx), name,
                       value, 0, function.getLoc(), role);
  }

  unsigned addArgument(Type type, StringRef name, double mean, double deviation,
                       Location loc, ArrayRef<NamedAttribute> role) {
    SmallVector<NamedAttribute> own = {
        b.getNamedAttr(nameAttrName, b.getStringAttr(name)),
        b.getNamedAttr(frozenAttrName, b.getUnitAttr()),
        b.getNamedAttr(meanAttrName, b.getF64FloatAttr(mean)),
        b.getNamedAttr(deviationAttrName, b.getF64FloatAttr(deviation))};
    llvm::append_range(own, role);
    return added.add(type, b.getDictionaryAttr(own), loc);
  }

  //===--------------------------------------------------------------------===//
  // The update function
  //===--------------------------------------------------------------------===//

  void build() {
    createFunction();
    UpdateBuilder ops(b, function.getLoc());
    if (settings.clip > 0 || settings.lossScale.isOn())
      useNorm(ops);
    for (auto [i, entry] : llvm::enumerate(trained))
      update(entry, gradients[i]);
    func::ReturnOp::create(b, function.getLoc(), results);
    updateType(updating);
    updating.setAllResultAttrs(resultAttrs);
  }

  /// Its arguments are the function's, then the gradients of the trained
  /// parameters.
  void createFunction() {
    b.setInsertionPointAfter(function);
    SmallVector<Type> types(function.getArgumentTypes());
    SmallVector<DictionaryAttr> attributes;
    function.getAllArgAttrs(attributes);
    SmallVector<Location> locations;
    for (BlockArgument argument : function.getArguments())
      locations.push_back(argument.getLoc());
    for (const Trained &entry : trained) {
      BlockArgument parameter = function.getArgument(entry.argument);
      Type element = settings.reduceType ? settings.reduceType
                                         : typeOf(parameter).getElementType();
      types.push_back(withElement(entry.stateType, element));
      locations.push_back(parameter.getLoc());
      attributes.push_back(b.getDictionaryAttr(
          {b.getNamedAttr(nameAttrName,
                          b.getStringAttr("g[" + tensorName(parameter) + "]")),
           b.getNamedAttr(gradientAttrName,
                          b.getI64IntegerAttr(entry.argument))}));
    }
    updating = func::FuncOp::create(b, function.getLoc(),
                                    (function.getSymName() + "_update").str(),
                                    b.getFunctionType(types, {}));
    updating->setAttr(updateOfAttrName,
                      FlatSymbolRefAttr::get(function.getSymNameAttr()));
    if (settings.lossScale.isDynamic)
      updating->setAttr(lossScaleAttrName, b.getI64IntegerAttr(lossScale));
    else if (settings.lossScale.isOn())
      updating->setAttr(lossScaleAttrName,
                        b.getF64FloatAttr(settings.lossScale.first));
    Block *body = updating.addEntryBlock();
    for (auto [argument, loc] :
         llvm::zip_equal(body->getArguments(), locations))
      argument.setLoc(loc);
    updating.setAllArgAttrs(attributes);
    b.setInsertionPointToStart(body);
    llvm::append_range(gradients,
                       body->getArguments().take_back(trained.size()));
  }

  /// Returns the norm, and sets the values that depend on it.
  void useNorm(UpdateBuilder &ops) {
    SmallVector<RankedTensorType> placed;
    for (const Trained &entry : trained)
      placed.push_back(entry.stateType);
    Value norm =
        unscaled(ops, buildNorm(b, function.getLoc(), gradients, placed, mesh));
    if (settings.clip > 0)
      factor = unscaled(ops, clipFactor(ops, norm));
    if (settings.lossScale.isOn())
      decide(ops, norm);
    Value result = ops.convert(norm, b.getF32Type());
    result.setType(updating.getArgument(step).getType());
    addResult(result, "norm", {});
  }

  /// min(1, clip / (norm + 1e-6)), as 1 / max(1, (norm + 1e-6) / clip).
  Value clipFactor(UpdateBuilder &ops, Value norm) {
    Value ratio = ops.scale(ops.shift(norm, 1e-6), 1 / settings.clip);
    Value divisor = ops.shift(ops.relu(ops.shift(ratio, -1)), 1);
    return ops.rsqrt(ops.square(divisor));
  }

  /// x divided by the loss scale, if there is one.
  Value unscaled(UpdateBuilder &ops, Value x) {
    if (!settings.lossScale.isOn())
      return x;
    if (!settings.lossScale.isDynamic)
      return ops.scale(x, 1 / settings.lossScale.first);
    Type element = typeOf(x).getElementType();
    return ops.div(x, ops.convert(updating.getArgument(lossScale), element));
  }

  /// Decides whether this step is applied, and updates the step's own numbers.
  void decide(UpdateBuilder &ops, Value norm) {
    isDone = ops.convert(isFinite(ops, norm), b.getF32Type());
    replace(updates, ops.add(updating.getArgument(updates), isDone));
    if (!settings.lossScale.isDynamic)
      return;
    DynamicScale now = {updating.getArgument(lossScale),
                        updating.getArgument(goodSteps)};
    DynamicScale next = nextScale(ops, now, isDone, settings.lossScale);
    replace(lossScale, next.scale);
    replace(goodSteps, next.goodSteps);
  }

  void update(const Trained &entry, Value gradient) {
    BlockArgument parameter = updating.getArgument(entry.argument);
    UpdateBuilder ops(b, parameter.getLoc());
    ParameterStep in;
    in.placed = entry.stateType;
    in.even = withoutCut(function, entry.stateType, mesh);
    in.matrix = entry.matrix;
    // Converted here, not once for norm and update: the f32 value then stays
    // within a kernel.
    in.gradient = ops.convert(gradient, entry.element());
    in.gradient =
        factor ? ops.mul(in.gradient, ops.convert(factor, entry.element()))
               : unscaled(ops, in.gradient);
    for (unsigned number : entry.state)
      in.state.push_back(updating.getArgument(number));
    in.parameter = parameter;
    if (entry.hasMaster) {
      in.parameter = in.state.front();
      in.state.erase(in.state.begin());
    }
    in.learningRate =
        ops.convert(updating.getArgument(learningRate), entry.element());
    if (entry.learningRateFactor != 1)
      in.learningRate = ops.scale(in.learningRate, entry.learningRateFactor);
    in.step = ops.convert(stepOfOptimizer(ops), entry.element());
    for (const OptimizerSetting &setting : entry.optimizer->settings) {
      auto given = settings.numbers.find(setting.name);
      in.settings[setting.name] =
          given == settings.numbers.end() ? setting.value : given->second;
    }
    SmallVector<Value> made = entry.optimizer->build(ops, in);
    if (isDone)
      keepIfSkipped(ops, in, made);
    for (Value value : made)
      value.setType(entry.stateType);
    returnParameter(entry, ops, made.front());
    if (!entry.hasMaster)
      made.erase(made.begin());
    for (auto [number, value] : llvm::zip_equal(entry.state, made))
      replace(number, value);
  }

  /// Counts from 1, without skipped steps.
  Value stepOfOptimizer(UpdateBuilder &ops) {
    return settings.lossScale.isOn()
               ? ops.shift(updating.getArgument(updates), 1)
               : Value(updating.getArgument(step));
  }

  void keepIfSkipped(UpdateBuilder &ops, const ParameterStep &before,
                     MutableArrayRef<Value> made) {
    made.front() = ops.select(isDone, made.front(), before.parameter);
    for (auto [value, old] : llvm::zip_equal(made.drop_front(), before.state))
      value = ops.select(isDone, value, old);
  }

  /// Returns the parameter in its own precision and placement.
  void returnParameter(const Trained &entry, UpdateBuilder &ops, Value value) {
    BlockArgument parameter = updating.getArgument(entry.argument);
    auto type = typeOf(parameter);
    Value made = ops.convert(value, type.getElementType());
    made.setType(withElement(entry.stateType, type.getElementType()));
    if (made.getType() != type)
      made = ReshardOp::create(b, parameter.getLoc(), type, made);
    replace(entry.argument, made);
  }

  void replace(unsigned argument, Value value) {
    if (isUnplaced(value.getType()))
      value.setType(typeOf(updating.getArgument(argument)));
    addResult(value, tensorName(updating.getArgument(argument)),
              b.getNamedAttr(updatesAttrName, b.getI64IntegerAttr(argument)));
  }

  void addResult(Value value, const Twine &name,
                 std::optional<NamedAttribute> role) {
    SmallVector<NamedAttribute> attributes = {
        b.getNamedAttr(nameAttrName, b.getStringAttr(name))};
    if (role)
      attributes.push_back(*role);
    setName(value, b.getStringAttr(name));
    results.push_back(value);
    resultAttrs.push_back(b.getDictionaryAttr(attributes));
  }

  func::FuncOp function, updating;
  const UpdateSettings &settings;
  Mesh mesh;
  OpBuilder b;
  std::vector<Trained> trained;
  AddedArguments added;
  /// Numbers of arguments; the last three are used with a loss scale only.
  unsigned learningRate = 0, step = 0, updates = 0, lossScale = 0,
           goodSteps = 0;
  /// The gradients of the trained parameters.
  SmallVector<Value> gradients;
  /// The factor of clipping, and of the loss scale with it; null without.
  Value factor;
  /// 1 if the step is applied, 0 if it is skipped; null without a loss scale.
  Value isDone;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttrs;
};

} // namespace

void tpsp::buildUpdateFunction(func::FuncOp function,
                               std::vector<Trained> trained,
                               const UpdateSettings &settings) {
  UpdateFunction(function, std::move(trained), settings).run();
}
