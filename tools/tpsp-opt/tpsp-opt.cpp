// tpsp-opt: passes over .mlir model files, with mlir-opt's conventions.
#include "tpsp/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include <cstring>

/// An explanation is what one wants to read, not the module behind it.
static bool explains(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    for (const char *flag : {"--tpsp-explain", "-tpsp-explain"}) {
      size_t length = std::strlen(flag);
      if (std::strncmp(argv[i], flag, length) == 0 &&
          (argv[i][length] == 0 || argv[i][length] == '='))
        return true;
    }
  return false;
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tpsp::registerAllDialects(registry);
  tpsp::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv,
      "tpsp: sharded einsum programs\n\n"
      "  tpsp-opt model.mlir --tpsp-explain          equations and the ledger\n"
      "  tpsp-opt model.mlir --tpsp-pipeline=grad=true   down to the plan\n",
      registry);
  if (output == "-" && explains(argc, argv))
    output = "/dev/null";
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
