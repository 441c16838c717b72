#include "ExamplePlan.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/InitAll.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <filesystem>

using namespace mlir;
using namespace tpsp;

std::vector<std::string> tpsp::exampleNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(TPSP_EXAMPLES))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Operation *> tpsp::commandsOf(ModuleOp module) {
  std::vector<Operation *> commands;
  module.walk([&](plan::CommandOpInterface op) { commands.push_back(op); });
  return commands;
}

static DialectRegistry registry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Example::Example(const std::string &name, Stage stage, int64_t ranks,
                 Configure configure, Prepare prepare)
    : context(registry(), MLIRContext::Threading::DISABLED) {
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  auto parsed =
      parseSourceFile<ModuleOp>(TPSP_EXAMPLES "/" + name + ".mlir", &context);
  if (parsed)
    prepare(*parsed);
  bool compiled =
      parsed && run(*parsed, [&](OpPassManager &pm) {
        CompileOptions options;
        Mesh mesh = meshOf(*parsed);
        if (ranks > 0 && mesh.numAxes() == 1) {
          options.mesh = {mesh.axis(0).name + "=" + std::to_string(ranks)};
          addPass(pm, createSetMesh(), options);
        }
        options.grad = true;
        configure(options);
        buildLogicalPipeline(pm, options);
        pm.addPass(createDropPrimals());
        buildCollectivePipeline(pm, options);
        if (stage == Stage::Plan)
          return buildPlanPipeline(pm, options);
        pm.addPass(createPartition());
        pm.addPass(createDecomposeLate());
      });
  if (compiled)
    owner = std::move(parsed);
}

bool Example::run(ModuleOp target,
                  llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(&context);
  build(manager);
  return succeeded(manager.run(target));
}

bool Example::acceptsAfter(
    llvm::function_ref<void(ArrayRef<Operation *>)> change) {
  OwningOpRef<ModuleOp> copy(module().clone());
  change(commandsOf(*copy));
  return run(*copy,
             [](OpPassManager &pm) { pm.addPass(createCheckSchedule()); });
}
