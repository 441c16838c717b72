#include "tpsp/InitAll.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

void tpsp::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<TpspDialect, mlir::func::FuncDialect>();
}

void tpsp::registerAllPasses() {
  registerTpspPasses();
  mlir::registerTransformsPasses();
}
