// tpsp-build-update: what a step does to a function's parameters.
#include "GradientNorm.h"
#include "Optimizers/Optimizer.h"

#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Abi/Optimizers.h"
#include "tpsp/Dialect/Tpsp/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/SourceName.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_BUILDUPDATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// What the options say, read.
struct UpdateSettings {
  std::string optimizer;
  SmallVector<AxisId> axes;
  /// By name; what is not there is the optimizer's default.
  llvm::StringMap<double> numbers;
  /// 0: gradients are taken as they are.
  double clip = 0;
};

/// A parameter that is trained.
struct Trained {
  unsigned argument;
  const Optimizer *optimizer;
  /// A role for each index; empty for what is no matrix.
  SmallVector<MatrixRole> matrix;
  /// Of its state: at least f32, with the parameter's subscripts and the
  /// optimizer's axes.
  RankedTensorType stateType;
  bool hasMaster;
  /// Arguments of the function: the master, if there is one, then the state.
  SmallVector<unsigned> state;
  double learningRateFactor = 1;

  Type element() const { return stateType.getElementType(); }
};

/// With those that there are.
std::string noOptimizer(StringRef name) {
  return ("no optimizer is called '" + name + "'; there are " +
          llvm::join(optimizerNames(), ", "))
      .str();
}

RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

/// The tensor's type with the axes on the first dimensions that they divide.
/// An axis that divides none, or that the tensor has, is left out.
RankedTensorType withAxes(RankedTensorType type, ArrayRef<AxisId> axes,
                          const Mesh &mesh) {
  Placement placement = placementOf(type, mesh);
  for (AxisId axis : axes) {
    if (placement.uses(axis))
      continue;
    for (AxisList &dim : placement.dims) {
      dim.push_back(axis);
      if (!firstUnevenDim(type.getShape(), placement, mesh))
        break;
      dim.pop_back();
    }
  }
  return withPlacement(type, placement, mesh);
}

class UpdateFunction {
public:
  UpdateFunction(func::FuncOp function, const UpdateSettings &settings)
      : function(function), settings(settings), mesh(meshOf(function)),
        b(function.getContext()) {}

  LogicalResult run() {
    if (failed(findTrained()))
      return failure();
    if (trained.empty())
      return success();
    for (BlockArgument argument : function.getArguments())
      if (!isTrained(argument))
        freeze(argument);
    addArguments();
    build();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments of the function itself
  //===--------------------------------------------------------------------===//

  /// What the argument is trained with; null after a diagnostic.
  const Optimizer *optimizerOf(BlockArgument argument) {
    std::string name = settings.optimizer;
    if (auto own = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), optimizerAttrName))
      name = own.getValue().str();
    const Optimizer *optimizer = findOptimizer(name);
    if (!optimizer)
      emitErrorAt(argument) << noOptimizer(name);
    return optimizer;
  }

  bool isTrained(BlockArgument argument) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    return isParameter(argument) && type && getIdx(type) &&
           isa<FloatType>(type.getElementType()) &&
           !function.getArgAttr(argument.getArgNumber(), frozenAttrName);
  }

  /// Nobody asks for its gradient.
  void freeze(BlockArgument argument) {
    if (isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      function.setArgAttr(argument.getArgNumber(), frozenAttrName,
                          b.getUnitAttr());
  }

  /// What trains a parameter that is no matrix.
  LogicalResult takeOther(BlockArgument argument, const Optimizer *&optimizer) {
    if (!optimizer->otherwise)
      return success();
    auto own = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     optimizerAttrName);
    if (own)
      return emitErrorAt(argument)
             << own << " trains matrices, and '" << tensorName(argument)
             << "' is none: it is not only a factor of products with rows and "
                "columns, or integers look up in it; leave out "
             << optimizerAttrName << " or name another";
    optimizer = &optimizer->otherwise();
    return success();
  }

  LogicalResult findTrained() {
    llvm::StringSet<> ofIntegers = indicesOfIntegers(function);
    for (BlockArgument argument : function.getArguments()) {
      if (!isTrained(argument))
        continue;
      Trained entry;
      entry.argument = argument.getArgNumber();
      entry.optimizer = optimizerOf(argument);
      if (!entry.optimizer)
        return failure();
      if (auto roles = matrixRolesOf(argument, ofIntegers))
        entry.matrix = *roles;
      else if (failed(takeOther(argument, entry.optimizer)))
        return failure();
      auto type = cast<RankedTensorType>(argument.getType());
      if (!getIdx(type).getPending().empty()) {
        emitErrorAt(argument)
            << "parameter '" << tensorName(argument) << "' is ["
            << subscripts(type)
            << "], a sum over ranks, which no update can be written to; give "
               "it whole, or divided, or mark it tpsp.frozen";
        return failure();
      }
      auto placed = withAxes(type, settings.axes, mesh);
      entry.hasMaster = type.getElementTypeBitWidth() < 32;
      entry.stateType =
          entry.hasMaster ? withElement(placed, b.getF32Type()) : placed;
      if (auto factor = function.getArgAttrOfType<FloatAttr>(
              entry.argument, learningRateAttrName))
        entry.learningRateFactor = factor.getValueAsDouble();
      function.setArgAttr(entry.argument, gradientAtAttrName, getIdx(placed));
      trained.push_back(std::move(entry));
    }
    return success();
  }

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
  }

  unsigned addState(BlockArgument parameter, const Trained &entry,
                    StringRef name, double mean, double deviation) {
    std::string full = (name + "[" + tensorName(parameter) + "]").str();
    return addArgument(
        entry.stateType, full, mean, deviation, parameter.getLoc(),
        b.getNamedAttr(stateAttrName, b.getI64IntegerAttr(entry.argument)));
  }

  void addMaster(BlockArgument parameter, Trained &entry) {
    unsigned number = addState(parameter, entry, "master", 0, 1);
    function.setArgAttr(number, masterAttrName, b.getUnitAttr());
    entry.state.push_back(number);
  }

  unsigned addScalar(StringRef name, double value) {
    auto idx = IdxAttr::get(b.getContext(), {}, {}, {}, false, false, false);
    return addArgument(RankedTensorType::get({}, b.getF32Type(), idx), name,
                       value, 0, function.getLoc(),
                       b.getNamedAttr(scalarAttrName, b.getUnitAttr()));
  }

  unsigned addArgument(Type type, StringRef name, double mean, double deviation,
                       Location loc, NamedAttribute role) {
    unsigned number = function.getNumArguments();
    DictionaryAttr attributes = b.getDictionaryAttr(
        {role, b.getNamedAttr(nameAttrName, b.getStringAttr(name)),
         b.getNamedAttr(frozenAttrName, b.getUnitAttr()),
         b.getNamedAttr(meanAttrName, b.getF64FloatAttr(mean)),
         b.getNamedAttr(deviationAttrName, b.getF64FloatAttr(deviation))});
    (void)function.insertArgument(number, type, attributes, loc);
    return number;
  }

  //===--------------------------------------------------------------------===//
  // The function of the update
  //===--------------------------------------------------------------------===//

  void build() {
    createFunction();
    UpdateBuilder ops(b, function.getLoc());
    if (settings.clip > 0)
      clip(ops);
    for (auto [i, entry] : llvm::enumerate(trained))
      update(entry, gradients[i]);
    func::ReturnOp::create(b, function.getLoc(), results);
    updating.setFunctionType(b.getFunctionType(updating.getArgumentTypes(),
                                               ValueRange(results).getTypes()));
    updating.setAllResultAttrs(resultAttrs);
  }

  /// Its arguments are the function's, then the gradients of what is trained.
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
      Type element =
          cast<RankedTensorType>(parameter.getType()).getElementType();
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
    Block *body = updating.addEntryBlock();
    for (auto [argument, loc] :
         llvm::zip_equal(body->getArguments(), locations))
      argument.setLoc(loc);
    updating.setAllArgAttrs(attributes);
    b.setInsertionPointToStart(body);
    llvm::append_range(gradients,
                       body->getArguments().take_back(trained.size()));
  }

  /// Sets the factor to min(1, clip / (norm + 1e-6)), and returns the norm.
  void clip(UpdateBuilder &ops) {
    SmallVector<RankedTensorType> placed;
    for (const Trained &entry : trained)
      placed.push_back(entry.stateType);
    Value norm = buildNorm(b, function.getLoc(), gradients, placed, mesh);
    // As 1 / max(1, (norm + 1e-6) / clip).
    Value ratio = ops.scale(ops.shift(norm, 1e-6), 1 / settings.clip);
    Value divisor = ops.shift(ops.relu(ops.shift(ratio, -1)), 1);
    factor = ops.rsqrt(ops.square(divisor));
    Value result = ops.convert(norm, b.getF32Type());
    result.setType(updating.getArgument(step).getType());
    addResult(result, "norm", {});
  }

  void update(const Trained &entry, Value gradient) {
    BlockArgument parameter = updating.getArgument(entry.argument);
    UpdateBuilder ops(b, parameter.getLoc());
    ParameterStep in;
    in.placed = entry.stateType;
    in.matrix = entry.matrix;
    // Here, not once for norm and update: in f32 it is in a kernel alone.
    in.gradient = ops.convert(gradient, entry.element());
    if (factor)
      in.gradient = ops.mul(in.gradient, ops.convert(factor, entry.element()));
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
    in.step = ops.convert(updating.getArgument(step), entry.element());
    for (const OptimizerSetting &setting : entry.optimizer->settings) {
      auto given = settings.numbers.find(setting.name);
      in.settings[setting.name] =
          given == settings.numbers.end() ? setting.value : given->second;
    }
    SmallVector<Value> made = entry.optimizer->build(ops, in);
    for (Value value : made)
      value.setType(entry.stateType);
    returnParameter(entry, ops, made.front());
    if (!entry.hasMaster)
      made.erase(made.begin());
    for (auto [number, value] : llvm::zip_equal(entry.state, made))
      replace(number, value);
  }

  /// In its own precision, where the parameter lies.
  void returnParameter(const Trained &entry, UpdateBuilder &ops, Value value) {
    BlockArgument parameter = updating.getArgument(entry.argument);
    auto type = cast<RankedTensorType>(parameter.getType());
    Value made = ops.convert(value, type.getElementType());
    made.setType(withElement(entry.stateType, type.getElementType()));
    if (made.getType() != type)
      made = ReshardOp::create(b, parameter.getLoc(), type, made);
    replace(entry.argument, made);
  }

  void replace(unsigned argument, Value value) {
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
  /// Arguments.
  unsigned learningRate = 0, step = 0;
  /// Of what is trained.
  SmallVector<Value> gradients;
  /// What clipping multiplies them by; null without.
  Value factor;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttrs;
};

struct BuildUpdate : public tpsp::impl::BuildUpdateBase<BuildUpdate> {
  using Base::Base;

  void runOnOperation() override {
    UpdateSettings settings;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal() || function.isPrivate() ||
          function->hasAttr(updateOfAttrName))
        continue;
      if (failed(read(meshOf(function), settings)) ||
          failed(UpdateFunction(function, settings).run()))
        return signalPassFailure();
    }
  }

private:
  InFlightDiagnostic refuse(StringRef option) {
    return emitOptionError(getOperation(), getArgument(), option);
  }

  LogicalResult read(const Mesh &mesh, UpdateSettings &out) {
    out = {};
    out.optimizer = optimizer;
    out.clip = clip;
    const Optimizer *row = findOptimizer(optimizer);
    if (!row)
      return refuse("optimizer") << noOptimizer(optimizer);
    for (const std::string &name : axes) {
      std::optional<AxisId> axis = mesh.find(name);
      if (!axis)
        return refuse("axes") << "the mesh has no axis '" << name << "'";
      out.axes.push_back(*axis);
    }
    for (const std::string &text : settings)
      if (failed(readSetting(text, *row, out)))
        return failure();
    return success();
  }

  LogicalResult readSetting(StringRef text, const Optimizer &row,
                            UpdateSettings &out) {
    auto [name, number] = text.split('=');
    double value = 0;
    if (number.trim().empty() || number.trim().getAsDouble(value))
      return refuse("settings")
             << "'" << text << "' is not name=number: beta2=0.95";
    const OptimizerSetting *known = row.find(name);
    if (!known) {
      InFlightDiagnostic error = refuse("settings")
                                 << optimizer << " has no setting '" << name
                                 << "'; it has";
      llvm::interleave(
          row.settings, [&](auto &each) { error << " " << each.name; },
          [&] { error << ","; });
      return error;
    }
    if (!(value >= 0 && value < known->below))
      return refuse("settings") << "'" << text << "' is not from 0 to "
                                << (known->below == 1 ? "below 1" : "1e9");
    out.numbers[name] = value;
    return success();
  }
};

} // namespace
