// bench-compile-time MODEL.mlir: measures the time from a parsed layer to its
// plan, forward and backward. Prints how it grows with the number of layers,
// and the part that checks the schedule. The layer is the module's function.
// Layers pass on its first argument and its result; the other arguments are
// parameters of each.
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/InitAll.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

using namespace mlir;
using Clock = std::chrono::steady_clock;

/// Returns a module whose only function is `layers` copies of the layer,
/// unrolled.
static OwningOpRef<ModuleOp> unroll(ModuleOp source, int layers) {
  OwningOpRef<ModuleOp> module = source.clone();
  auto layer = *ModuleOp(module.get()).getOps<func::FuncOp>().begin();
  Block &body = layer.getBody().front();
  OpBuilder b(layer);
  auto model =
      func::FuncOp::create(b, layer.getLoc(), "model", layer.getFunctionType());
  Block *entry = b.createBlock(&model.getBody());
  b.setInsertionPointToStart(entry);
  Value x = entry->addArgument(body.getArgument(0).getType(), layer.getLoc());
  SmallVector<DictionaryAttr> attributes = {layer.getArgAttrDict(0)};
  for (int i = 0; i < layers; ++i) {
    IRMapping map;
    map.map(body.getArgument(0), x);
    for (BlockArgument parameter : body.getArguments().drop_front()) {
      map.map(parameter,
              entry->addArgument(parameter.getType(), parameter.getLoc()));
      NamedAttrList named(layer.getArgAttrDict(parameter.getArgNumber()));
      // Names of parameters must differ, because files of weights refer to
      // them.
      if (named.get(tpsp::paramAttrName))
        named.set(tpsp::paramAttrName,
                  b.getStringAttr(Twine("layer") + Twine(i) + ".parameter" +
                                  Twine(parameter.getArgNumber())));
      attributes.push_back(named.getDictionary(b.getContext()));
    }
    for (Operation &op : body.without_terminator())
      b.clone(op, map);
    x = map.lookup(body.getTerminator()->getOperand(0));
  }
  func::ReturnOp::create(b, layer.getLoc(), x);
  model.setFunctionType(
      b.getFunctionType(entry->getArgumentTypes(), x.getType()));
  model.setAllArgAttrs(attributes);
  layer.erase();
  return module;
}

struct Sample {
  double seconds;
  int64_t commands;
  /// Seconds of tpsp-check-schedule alone.
  double checkSeconds;
};

/// Runs `pm`. Returns its seconds, or -1 if it fails.
static double timeOf(PassManager &pm, ModuleOp module) {
  auto begin = Clock::now();
  if (failed(pm.run(module)))
    return -1;
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Compiles `layers` layers `repeats` times and returns the best times.
static Sample compile(MLIRContext &context, ModuleOp source, int layers,
                      int repeats, const std::string &hardware) {
  Sample best = {1e9, 0, 1e9};
  for (int i = 0; i < repeats; ++i) {
    OwningOpRef<ModuleOp> module = unroll(source, layers);
    PassManager pm(&context);
    tpsp::CompileOptions options;
    options.grad = true;
    if (!hardware.empty()) {
      options.overlap = "on";
      options.hardware = hardware;
    }
    tpsp::buildLogicalPipeline(pm, options);
    tpsp::buildCollectivePipeline(pm, options);
    tpsp::buildPlanPipeline(pm, options);
    double seconds = timeOf(pm, *module);
    // The same check, once more, by itself.
    PassManager check(&context);
    check.addPass(tpsp::createCheckSchedule());
    double checkSeconds = timeOf(check, *module);
    if (seconds < 0 || checkSeconds < 0)
      return {-1, 0, 0};
    best.seconds = std::min(best.seconds, seconds);
    best.checkSeconds = std::min(best.checkSeconds, checkSeconds);
    best.commands = 0;
    module->walk([&](tpsp::plan::CommandOpInterface) { ++best.commands; });
  }
  return best;
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: bench-compile-time MODEL.mlir [HARDWARE]\n"
                       "With a hardware, scheduled for it (tpsp-overlap).\n");
    return 2;
  }
  DialectRegistry registry;
  tpsp::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> source = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!source)
    return 1;
  fmt::print("{:>7} {:>10} {:>12} {:>12} {:>12}\n", "layers", "commands",
             "seconds", "of 1 layer", "check");
  double one = 0;
  for (int layers : {1, 2, 8, 32, 126}) {
    Sample sample = compile(context, *source, layers, layers < 32 ? 5 : 2,
                            argc == 3 ? argv[2] : "");
    if (sample.seconds < 0)
      return 1;
    if (layers == 1)
      one = sample.seconds;
    fmt::print("{:>7} {:>10} {:>12.4f} {:>11.1f}x {:>11.1f}%\n", layers,
               sample.commands, sample.seconds, sample.seconds / one,
               100 * sample.checkSeconds / sample.seconds);
  }
  return 0;
}
