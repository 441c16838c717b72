#include "MachineOptions.h"

#include "FunctionWalk.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

using namespace mlir;
using namespace tpsp;

const Hardware *MachineOptions::read() const {
  llvm::Expected<const Hardware &> machine = hardware.read();
  if (machine)
    return &*machine;
  emitOptionError(root, pass, "hardware")
      << llvm::toString(machine.takeError());
  return nullptr;
}

FailureOr<CostModel> tpsp::costsOn(const Hardware &machine, const Mesh &mesh,
                                   int64_t threads, Operation *op) {
  if (std::string misfit = misfitOf(machine, mesh); !misfit.empty())
    return emitErrorAt(op) << misfit;
  return CostModel(machine, mesh, threads);
}

LogicalResult
tpsp::forEachFunction(const MachineOptions &options, bool asksForTime,
                      function_ref<void(FunctionOpInterface, const Mesh &,
                                        std::optional<CostModel>)>
                          visit) {
  const Hardware *machine = options.read();
  if (!machine)
    return failure();
  return forEachFunction(cast<ModuleOp>(options.root),
                         [&](FunctionOpInterface function) -> LogicalResult {
                           Mesh mesh = meshOf(function);
                           if (!asksForTime) {
                             visit(function, mesh, std::nullopt);
                             return success();
                           }
                           FailureOr<CostModel> cost = costsOn(
                               *machine, mesh, options.threads, function);
                           if (failed(cost))
                             return failure();
                           visit(function, mesh, *cost);
                           return success();
                         });
}
