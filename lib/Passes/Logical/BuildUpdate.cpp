// tpsp-build-update: builds the update of a function's parameters.
#include "UpdateFunction.h"

#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Abi/Optimizers.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tpsp {
#define GEN_PASS_DEF_BUILDUPDATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct BuildUpdate
    : public WithOptions<
          tpsp::impl::BuildUpdateBase<BuildUpdate>, &CompileOptions::optimizer,
          &CompileOptions::optimizerAxes, &CompileOptions::optimizerSettings,
          &CompileOptions::clip, &CompileOptions::reduceDtype,
          &CompileOptions::gatherParameters, &CompileOptions::grad,
          &CompileOptions::lossScale, &CompileOptions::lossScaleWindow> {
  void runOnOperation() override {
    UpdateSettings settings;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal() || function.isPrivate() ||
          function->hasAttr(updateOfAttrName))
        continue;
      if (failed(read(meshOf(function), settings)) ||
          failed(build(function, settings)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult build(func::FuncOp function, UpdateSettings &settings) {
    FailureOr<std::vector<Trained>> trained = findTrained(function, settings);
    if (failed(trained) ||
        failed(readNumbers(function, *trained, settings.numbers)) ||
        failed(boundLossScale(function, settings.lossScale)))
      return failure();
    if (!trained->empty() && !settings.isForwardOnly)
      buildUpdateFunction(function, std::move(*trained), settings);
    return success();
  }

  InFlightDiagnostic refuse(StringRef option) {
    return emitOptionError(getOperation(), getArgument(), option);
  }

  LogicalResult read(const Mesh &mesh, UpdateSettings &out) {
    out = {};
    out.optimizer = options().optimizer;
    out.clip = options().clip;
    if (failed(readPrecision(out)))
      return failure();
    if (!findOptimizer(options().optimizer))
      return refuse("optimizer") << noOptimizer(options().optimizer);
    for (const std::string &name : options().optimizerAxes) {
      std::optional<AxisId> axis = mesh.find(name);
      if (!axis)
        return refuse("optimizer-axes") << "the mesh has no axis '" << name
                                        << "'; its axes are " << mesh.names();
      out.axes.push_back(*axis);
    }
    return success();
  }

  LogicalResult readPrecision(UpdateSettings &out) {
    out.reduceType = floatTypeNamed(&getContext(), options().reduceDtype);
    // Without a backward pass parameters are only placed as a step has them.
    out.isForwardOnly = !options().grad;
    out.gathersForward = options().gatherParameters == "forward";
    std::optional<LossScale> scale = LossScale::read(options().lossScale);
    if (!scale)
      return refuse("loss-scale")
             << "'" << options().lossScale
             << "' is not none, a number from 1 to 2^30, dynamic or "
                "dynamic:1024";
    out.lossScale = *scale;
    out.lossScale.window = options().lossScaleWindow;
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Settings that depend on the function
  //===--------------------------------------------------------------------===//

  using Optimizers = llvm::SmallSetVector<const Optimizer *, 4>;

  /// A setting applies to every optimizer that the function is trained with and
  /// that has it.
  LogicalResult readNumbers(func::FuncOp function, ArrayRef<Trained> trained,
                            llvm::StringMap<double> &numbers) {
    Optimizers used;
    used.insert(findOptimizer(options().optimizer));
    for (const Trained &entry : trained)
      used.insert(entry.optimizer);
    for (StringRef text : options().optimizerSettings) {
      auto [name, number] = text.split('=');
      double value = 0;
      if (number.trim().empty() || number.trim().getAsDouble(value))
        return refuseFlag(function, "optimizer-settings", text)
               << "this is not name=number, such as beta2=0.95";
      if (failed(checkSetting(function, used, text, value)) ||
          failed(checkRounded(function, used, trained, text, value)))
        return failure();
      numbers[name] = value;
    }
    return success();
  }

  static LogicalResult checkSetting(func::FuncOp function,
                                    const Optimizers &used, StringRef text,
                                    double value) {
    StringRef name = text.split('=').first;
    bool isKnown = false;
    for (const Optimizer *each : used) {
      const OptimizerSetting *known = each->find(name);
      isKnown |= known != nullptr;
      if (known && !(value >= 0 && value < known->below))
        return refuseFlag(function, "optimizer-settings", text)
               << "'" << name << "' of " << nameOf(*each) << " is from 0 to "
               << (known->below == 1 ? "below 1" : "1e9");
    }
    if (isKnown)
      return success();
    InFlightDiagnostic error = refuseFlag(function, "optimizer-settings", text);
    error << "no optimizer of @" << function.getSymName() << " has '" << name
          << "'";
    for (const Optimizer *each : used) {
      error << "; " << nameOf(*each) << " has ";
      llvm::interleaveComma(each->settings, error,
                            [&](auto &setting) { error << setting.name; });
    }
    return error;
  }

  /// Refuses settings that rounding would change to 1 or 0. State is f32,
  /// unless every parameter is f64.
  static LogicalResult checkRounded(func::FuncOp function,
                                    const Optimizers &used,
                                    ArrayRef<Trained> trained, StringRef text,
                                    double value) {
    if (llvm::none_of(trained,
                      [](const Trained &t) { return t.element().isF32(); }))
      return success();
    double rounded = float(value);
    StringRef name = text.split('=').first;
    bool isBelow = llvm::all_of(used, [&](const Optimizer *each) {
      const OptimizerSetting *known = each->find(name);
      return !known || rounded < known->below;
    });
    if (isBelow && (rounded != 0 || value == 0))
      return success();
    return refuseFlag(function, "optimizer-settings", text)
           << "'" << name << "' is used in f32, and is " << rounded
           << " there; give a number "
           << (isBelow ? "of at least 1.2e-38, or 0" : "of at most 0.9999999");
  }

  /// Begins an error at the function, with the flag of the tools.
  static InFlightDiagnostic refuseFlag(func::FuncOp function, StringRef flag,
                                       StringRef text) {
    return emitErrorAt(function) << "--" << flag << " " << text << ": ";
  }

  /// Bounds the loss scale by the results' types, in which cotangents are
  /// multiplied by it.
  LogicalResult boundLossScale(func::FuncOp function, LossScale &scale) {
    for (Type type : function.getResultTypes()) {
      auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
      if (!element || !scale.isOn())
        continue;
      double most = largestOf(element);
      // A dynamic scale comes down by itself.
      if (scale.first > most && !scale.isDynamic)
        return refuseFlag(function, "loss-scale", options().lossScale)
               << "gradients begin in " << element << ", which holds at most "
               << int64_t(most) << ", so every step would be skipped; give "
               << "less, or dynamic";
      scale.most = std::min(scale.most, most);
    }
    return success();
  }

  static double largestOf(FloatType type) {
    auto largest = llvm::APFloat::getLargest(type.getFloatSemantics());
    return largest.convertToDouble();
  }
};

} // namespace
