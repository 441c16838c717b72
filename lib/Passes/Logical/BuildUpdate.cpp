// tpsp-build-update: what a step does to a function's parameters.
#include "UpdateFunction.h"

#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Abi/Optimizers.h"
#include "tpsp/Dialect/Tpsp/ErrorPlace.h"
#include "tpsp/Passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_BUILDUPDATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

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
          failed(build(function, settings)))
        return signalPassFailure();
    }
  }

private:
  static LogicalResult build(func::FuncOp function,
                             const UpdateSettings &settings) {
    FailureOr<std::vector<Trained>> trained = findTrained(function, settings);
    if (failed(trained))
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
    out.optimizer = optimizer;
    out.clip = clip;
    if (failed(readPrecision(out)))
      return failure();
    const Optimizer *row = findOptimizer(optimizer);
    if (!row)
      return refuse("optimizer") << noOptimizer(optimizer);
    for (const std::string &name : axes) {
      std::optional<AxisId> axis = mesh.find(name);
      if (!axis)
        return refuse("axes") << "the mesh has no axis '" << name
                              << "'; its axes are " << mesh.names();
      out.axes.push_back(*axis);
    }
    for (const std::string &text : settings)
      if (failed(readSetting(text, *row, out)))
        return failure();
    return success();
  }

  LogicalResult readPrecision(UpdateSettings &out) {
    out.reduceType = floatTypeNamed(&getContext(), reduceType);
    if (!reduceType.empty() && !out.reduceType)
      return refuse("reduce-type") << "unknown element type '" << reduceType
                                   << "'; known are f32, bf16 and f16";
    out.isForwardOnly = forwardOnly;
    out.gathersForward = gather == "forward";
    if (!out.gathersForward && gather != "update")
      return refuse("gather") << "parameters are gathered by the update or in "
                                 "the forward pass, not by '"
                              << gather << "'";
    std::optional<LossScale> scale = LossScale::read(lossScale);
    if (!scale)
      return refuse("loss-scale")
             << "'" << lossScale
             << "' is not none, a number from 1 to 2^30, dynamic or "
                "dynamic:1024";
    out.lossScale = *scale;
    out.lossScale.window = lossScaleWindow;
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
