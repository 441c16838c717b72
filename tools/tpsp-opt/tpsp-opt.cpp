// tpsp-opt: passes over .mlir model files, with mlir-opt's conventions.
#include "tpsp/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tpsp::registerAllDialects(registry);
  tpsp::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "tpsp: sharded einsum programs\n", registry));
}
