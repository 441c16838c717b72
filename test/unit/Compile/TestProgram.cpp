#include "TestProgram.h"

#include "Compile/ReferenceWalker.h"
#include "tpsp/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Returns the extent of an index with a name of one letter. Extents are mostly
/// odd primes, so that no two agree by accident. The query index s is shorter
/// than the key index t.
static std::string extentOf(StringRef name) {
  static const llvm::StringMap<const char *> extents = {
      {"b", "2"}, {"c", "3"}, {"d", "3"}, {"e", "7"}, {"h", "3"}, {"i", "3"},
      {"j", "5"}, {"k", "4"}, {"l", "7"}, {"r", "2"}, {"s", "3"}, {"t", "5"}};
  return extents.lookup(name);
}

std::string tpsp::tensorType(StringRef indices) {
  std::string shape, names;
  SmallVector<StringRef> entries;
  indices.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    if (entry == ".")
      continue;
    auto [name, extent] = entry.trim().split('=');
    shape += (extent.empty() ? extentOf(name) : extent.str()) + "x";
    names += (names.empty() ? "" : ", ") + name.str();
  }
  return "tensor<" + shape + "f64, #tpsp.idx<" + names + ">>";
}

std::string tpsp::oneOperation(StringRef mnemonic, StringRef signature,
                               StringRef attributes) {
  auto [operandList, result] = signature.split("->");
  std::string parameters, operands, types;
  SmallVector<StringRef> list;
  if (!operandList.trim().empty())
    operandList.split(list, ';');
  for (auto [i, indices] : llvm::enumerate(list)) {
    std::string separator = i == 0 ? "" : ", ";
    std::string name = "%x" + std::to_string(i);
    std::string type = tensorType(indices.trim());
    parameters += separator + name + ": " + type;
    operands += separator + name;
    types += separator + type;
  }
  std::string resultType = tensorType(result.trim());
  return "func.func @f(" + parameters + ") -> " + resultType +
         " {\n  %y = tpsp." + mnemonic.str() + " " + operands + " " +
         attributes.str() + " : (" + types + ") -> " + resultType +
         "\n  return %y : " + resultType + "\n}\n";
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static DialectRegistry registry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

TestProgram::TestProgram(const std::string &text)
    : context(registry(), MLIRContext::Threading::DISABLED) {
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    ADD_FAILURE() << messages << text;
}

func::FuncOp TestProgram::function(StringRef name) {
  auto found =
      module ? module->lookupSymbol<func::FuncOp>(name) : func::FuncOp();
  if (!found)
    ADD_FAILURE() << "no function " << name.str();
  return found;
}

bool TestProgram::run(const PassList &passes) {
  if (!module)
    return false;
  PassManager manager(&context);
  for (auto create : passes)
    manager.addPass(create());
  return succeeded(manager.run(*module));
}

Tensors TestProgram::random(TypeRange types, Sign sign, std::mt19937 &engine) {
  std::uniform_real_distribution<double> magnitude(0.1, 1.5);
  std::bernoulli_distribution flip(sign == Sign::Any ? 0.5 : 0);
  Tensors tensors;
  for (Type type : types) {
    tensors.push_back(
        reference::full(referenceIndices(type), referenceShape(type), 0));
    for (double &value : tensors.back().data)
      value = magnitude(engine) * (flip(engine) ? -1 : 1);
  }
  return tensors;
}

llvm::Expected<Tensors>
tpsp::evaluateReference(func::FuncOp function,
                        ArrayRef<const reference::Tensor *> arguments,
                        const reference::Progress &progress) {
  llvm::Expected<reference::Program> program = referenceProgramOf(function);
  if (!program)
    return program.takeError();
  Tensors results;
  reference::EvaluationOptions options;
  options.progress = progress;
  std::string error =
      reference::evaluate(*program, arguments.vec(), results, options);
  if (!error.empty())
    return llvm::createStringError(error);
  return results;
}

Tensors tpsp::evaluateOrFail(func::FuncOp function, const Tensors &arguments) {
  std::vector<const reference::Tensor *> pointers;
  for (const reference::Tensor &argument : arguments)
    pointers.push_back(&argument);
  auto results = evaluateReference(function, pointers);
  if (results)
    return std::move(*results);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return {};
}

Tensors TestProgram::evaluate(const Tensors &arguments, StringRef name) {
  func::FuncOp found = function(name);
  return found ? evaluateOrFail(found, arguments) : Tensors();
}
