// Whole models: the examples, on one rank and with small extents so that
// finite differences over every parameter are quick.
#include "GradientCheck.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace tpsp;

/// The small extent of an index, by its name in the examples.
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

/// "2x5x3xf64, #tpsp.idx<b, s@tp, d, ?" for the same with other extents.
static std::string shrinkType(llvm::StringRef type) {
  auto [shape, subscripts] = type.split("xf32, #tpsp.idx<");
  llvm::SmallVector<llvm::StringRef> names;
  subscripts.split(names, ',');
  names.truncate(shape.count('x') + 1); // what follows is no index
  std::string small;
  for (llvm::StringRef name : names)
    small += smallExtent(name.trim().split('@').first) + "x";
  return small + "f64, #tpsp.idx<" + subscripts.str();
}

/// The example with all mesh axes of size 1 and small extents.
static std::string shrunkenExample(const std::string &name) {
  std::string path = TPSP_EXAMPLES "/" + name + ".mlir";
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    ADD_FAILURE() << path << ": " << file.getError().message();
    return "";
  }
  llvm::StringRef rest = (*file)->getBuffer();
  std::string text;
  while (!rest.empty()) {
    auto [before, after] = rest.split("tensor<");
    text += before.str();
    if (after.empty())
      break;
    auto [type, tail] = after.split(">>");
    text += "tensor<" + shrinkType(type) + ">>";
    rest = tail;
  }
  return llvm::Regex("tp = [0-9]+").sub("tp = 1", text);
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
