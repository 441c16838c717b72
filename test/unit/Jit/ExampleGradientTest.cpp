// Whole models: the examples, on one rank and with small extents so that
// finite differences over every parameter are quick.
#include "GradientCheck.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace tpsp;

/// Extents of the examples by name of dimension, and small ones, mostly odd.
static std::string smallExtent(llvm::StringRef extent) {
  static const llvm::StringMap<const char *> extents = {{"2", "2"}, // b
                                                        {"128", "5"} /*s, t*/,
                                                        {"256", "3"} /*d*/,
                                                        {"8", "3"} /*h*/,
                                                        {"32", "4"} /*k*/,
                                                        {"1024", "7"} /*e*/};
  auto it = extents.find(extent);
  if (it == extents.end())
    ADD_FAILURE() << "an extent without a small one: " << extent.str();
  return it == extents.end() ? extent.str() : it->second;
}

/// "5x7x3xf64, #..." for "128x1024x256xf32, #...".
static std::string shrinkType(llvm::StringRef type) {
  auto [shape, rest] = type.split("xf32");
  std::string small;
  for (llvm::StringRef extent : llvm::split(shape, 'x'))
    small += smallExtent(extent) + "x";
  return small + "f64" + rest.str();
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
TEST(ExampleGradientTest, GptBlockTp) {
  checkGradients(shrunkenExample("gpt-block-tp"), Sign::Any, "block");
}
TEST(ExampleGradientTest, GptBlockSp) {
  checkGradients(shrunkenExample("gpt-block-sp"), Sign::Any, "block");
}
