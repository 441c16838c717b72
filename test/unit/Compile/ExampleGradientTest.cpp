// Gradients of whole models, the examples. They run on one rank and with small
// extents, so that finite differences over every parameter are quick.
#include "GradientCheck.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace tpsp;

/// Returns a small extent for an index, by its name in the examples.
static std::string smallExtent(llvm::StringRef index) {
  static const llvm::StringMap<const char *> extents = {
      {"b", "2"}, {"s", "5"}, {"t", "5"}, {"d", "3"},
      {"e", "7"}, {"h", "3"}, {"r", "2"}, {"k", "4"}};
  auto it = extents.find(index);
  if (it != extents.end())
    return it->second;
  ADD_FAILURE() << "an index without a small extent: " << index.str();
  return "1";
}

/// Returns the example in f64, with all mesh axes of size 1 and small extents.
static std::string shrunkenExample(const std::string &name) {
  std::string path = TPSP_EXAMPLES "/" + name + ".mlir";
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    ADD_FAILURE() << path << ": " << file.getError().message();
    return "";
  }
  auto [before, rest] = (*file)->getBuffer().split("tpsp.program <");
  auto [head, body] = rest.split(">");
  llvm::SmallVector<llvm::StringRef> extents;
  head.split(extents, ", ");
  std::string small;
  for (llvm::StringRef extent : extents) {
    llvm::StringRef index = extent.split(" = ").first;
    small +=
        (small.empty() ? "" : ", ") + index.str() + " = " + smallExtent(index);
  }
  std::string text = before.str() + "tpsp.program f64 <" + small + ">";
  return text + llvm::Regex("tp = [0-9]+").sub("tp = 1", body);
}

TEST(ExampleGradientTest, MlpTp) {
  checkGradients(shrunkenExample("mlp-tp"), Sign::Any, "mlp");
}
TEST(ExampleGradientTest, MlpSp) {
  checkGradients(shrunkenExample("mlp-sp"), Sign::Any, "mlp");
}
TEST(ExampleGradientTest, LlamaLayer) {
  checkGradients(shrunkenExample("llama3-8b-block"), Sign::Any, "layer");
}
TEST(ExampleGradientTest, GptBlockTp) {
  checkGradients(shrunkenExample("gpt-block-tp"), Sign::Any, "block");
}
TEST(ExampleGradientTest, GptBlockSp) {
  checkGradients(shrunkenExample("gpt-block-sp"), Sign::Any, "block");
}
