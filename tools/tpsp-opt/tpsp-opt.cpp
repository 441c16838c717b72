// tpsp-opt: passes over .mlir model files, with mlir-opt's conventions.
#include "tpsp/InitAll.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <cstring>

using llvm::StringRef;

/// Whether the passes print an explanation. Then the module itself is not
/// printed.
static bool explains(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    for (const char *flag :
         {"--tpsp-explain", "-tpsp-explain", "--tpsp-formulas",
          "-tpsp-formulas", "--tpsp-graph", "-tpsp-graph"}) {
      size_t length = std::strlen(flag);
      if (std::strncmp(argv[i], flag, length) == 0 &&
          (argv[i][length] == 0 || argv[i][length] == '='))
        return true;
    }
  return false;
}

static llvm::LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "tpsp-opt: " << message << "\n";
  return llvm::failure();
}

static llvm::LogicalResult print(std::unique_ptr<llvm::MemoryBuffer> in,
                                 mlir::DialectRegistry &registry,
                                 const mlir::MlirOptMainConfig &config) {
  llvm::raw_fd_ostream &out = llvm::outs();
  llvm::LogicalResult result =
      mlir::MlirOptMain(out, std::move(in), registry, config);
  out.flush();
  std::error_code problem = out.error();
  if (!problem)
    return result;
  // Otherwise LLVM ends the program with its own message.
  out.clear_error();
  return fail("standard output cannot be written: " + problem.message());
}

/// Reads a model and checks that MLIR's parser can take it. `-` is standard
/// input.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
read(StringRef input, StringRef splitMarker) {
  bool isStandard = input == "-";
  StringRef name = isStandard ? "<stdin>" : input;
  std::string text;
  tpsp::rt::Status done =
      isStandard ? tpsp::rt::readStandardInput(tpsp::maxModelBytes, text)
                 : tpsp::rt::readWhole(input.str(), tpsp::maxModelBytes, text);
  if (!done.ok())
    return llvm::createStringError("cannot read '" + name +
                                   "': " + done.message());
  if (llvm::Error problem = tpsp::checkModelText(name, text, splitMarker))
    return problem;
  return llvm::MemoryBuffer::getMemBufferCopy(text, name);
}

/// Does MlirOptMain, but rejects text that MLIR's parser cannot take, and never
/// leaves a partly written file.
static llvm::LogicalResult run(StringRef input, StringRef output,
                               mlir::DialectRegistry &registry) {
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "tpsp-opt: reading a model from the terminal; end it with "
                    "ctrl-d\n";
  auto in = read(input, config.inputSplitMarker());
  if (!in)
    return fail(llvm::toString(in.takeError()));
  if (output == "-")
    return print(std::move(*in), registry, config);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (failed(mlir::MlirOptMain(out, std::move(*in), registry, config)))
    return llvm::failure();
  tpsp::rt::Status written = tpsp::rt::writeText(output.str(), text);
  return written.ok() ? llvm::success() : fail(written.message());
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tpsp::registerAllDialects(registry);
  tpsp::registerAllPasses();
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tpsp-opt " TPSP_VERSION "\n"; });
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv,
      "tpsp: sharded einsum programs\n\n"
      "  tpsp-opt model.mlir --tpsp-explain          equations and the ledger\n"
      "  tpsp-opt model.mlir --tpsp-formulas         bytes, FLOPs and memory "
      "as polynomials\n"
      "  tpsp-opt model.mlir --tpsp-graph            a picture, for Graphviz\n"
      "  tpsp-opt model.mlir --tpsp-pipeline=grad=true   down to the plan\n"
      "  tpsp-opt model.mlir --tpsp-to-stablehlo     for XLA and JAX, with its "
      "placement\n",
      registry);
  if (output == "-" && explains(argc, argv))
    output = "/dev/null";
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM guard(argc, argv);
  return mlir::asMainReturnCode(run(input, output, registry));
}
