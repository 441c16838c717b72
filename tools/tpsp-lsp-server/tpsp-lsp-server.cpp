// tpsp-lsp-server: diagnostics, hover and navigation for .mlir model files in
// an editor that speaks the language server protocol.
#include "tpsp/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tpsp::registerAllDialects(registry);
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "tpsp-lsp-server " TPSP_VERSION "\n";
  });
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
