#include "tpsp/Compile/ParseModel.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tpsp;

/// Reads the model's file once, and checks that it is a text that MLIR can
/// parse.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readModel(StringRef path) {
  std::string text;
  if (rt::Status read = rt::readWhole(path.str(), maxModelBytes, text);
      !read.ok())
    return formatError("cannot read '{0}': {1}", path, read.message());
  if (text.empty())
    return formatError("'{0}' is empty; a model is a module with a mesh and a "
                       "function",
                       path);
  if (llvm::Error problem = checkModelText(path, text))
    return problem;
  return llvm::MemoryBuffer::getMemBufferCopy(text, path);
}

bool tpsp::isRevised(const CompileOptions &options) {
  return !options.pad.empty() || !options.mesh.empty() ||
         !options.extents.empty();
}

llvm::Expected<OwningOpRef<ModuleOp>>
tpsp::parseModel(MLIRContext &context, StringRef path, bool isRevised) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readModel(path);
  if (!text)
    return text.takeError();
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(
      sources, ParserConfig(&context, /*verifyAfterParse=*/!isRevised));
  if (module && isRevised) {
    leavePaddingOpen(*module);
    if (failed(verify(*module)))
      module = nullptr;
    else
      module.get()->removeAttr(paddingAttrName);
  }
  if (!module)
    return formatError("'{0}' is not a valid model", path);
  if (!module->getOps<ModuleOp>().empty())
    return formatError(
        "'{0}' has a module or a tpsp.program beside other operations; "
        "it is the file's only operation, so move the others into it",
        path);
  return module;
}

/// Says why the module has no function to run.
static llvm::Error nothingToRun(ArrayRef<std::string> privates) {
  if (privates.empty())
    return formatError(
        "the module has no function; write one: func.func @name(...)");
  return formatError("the module's functions are private ({0}), so they are "
                     "only called; leave out 'private' of the one to run",
                     llvm::join(privates, ", "));
}

llvm::Expected<func::FuncOp> tpsp::selectFunction(ModuleOp module,
                                                  StringRef name) {
  SmallVector<func::FuncOp> candidates;
  SmallVector<std::string> names, privates;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!function.isPrivate())
      candidates.push_back(function);
    (function.isPrivate() ? privates : names)
        .push_back(function.getSymName().str());
  }
  if (candidates.empty())
    return nothingToRun(privates);
  if (name.empty() && candidates.size() > 1)
    return formatError(
        "the module has several functions ({0}); choose one with "
        "--function",
        llvm::join(names, ", "));
  func::FuncOp selected;
  for (func::FuncOp candidate : candidates)
    if (name.empty() || candidate.getSymName() == name)
      selected = candidate;
  if (!selected && llvm::is_contained(privates, name))
    return formatError("function '{0}' is private, so it is only called; leave "
                       "out 'private', or choose {1}",
                       name, llvm::join(names, ", "));
  if (!selected)
    return formatError("the module has no function '{0}'; it has {1}", name,
                       llvm::join(names, ", "));
  for (func::FuncOp candidate : candidates)
    if (candidate != selected)
      candidate.setPrivate();
  return selected;
}

void tpsp::addConfiguration(OpPassManager &pm, ArrayRef<std::string> mesh,
                            ArrayRef<std::string> extents,
                            const std::string &dtype) {
  CompileOptions options;
  options.mesh = mesh.vec();
  options.extents = extents.vec();
  options.dtype = dtype;
  if (!mesh.empty())
    addPass(pm, createSetMesh(), options);
  if (!extents.empty())
    addPass(pm, createSetExtents(), options);
  if (!dtype.empty())
    addPass(pm, createSetElementType(), options);
}
