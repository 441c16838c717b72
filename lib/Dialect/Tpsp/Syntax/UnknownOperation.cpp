#include "UnknownOperation.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

/// The operation that other libraries call `name`; empty if none is known.
static StringRef knownAs(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("swish", "silu")
      .Cases(
          {"matmul", "linear", "dense", "dot", "bmm", "transpose", "permute"},
          "einsum")
      .Cases({"sum", "reduce_sum"}, "reduce")
      .Cases({"multiply", "times"}, "mul")
      .Cases({"subtract", "minus"}, "sub")
      .Case("divide", "div")
      .Case("maximum", "max")
      .Case("where", "select")
      .Case("cast", "convert")
      .Case("expand", "broadcast")
      .Case("cat", "concat")
      .Cases({"rotary", "rotary_embedding"}, "rope")
      .Cases({"nll_loss", "softmax_cross_entropy"}, "cross_entropy")
      .Default("");
}

std::string tpsp::operationLike(StringRef written, MLIRContext *context) {
  const std::string lower = written.lower();
  StringRef name = lower;
  if (StringRef known = knownAs(name); !known.empty())
    return known.str();
  StringRef nearest;
  unsigned least = name.size() < 5 ? 2 : 3;
  for (RegisteredOperationName each :
       context->getRegisteredOperationsByDialect("tpsp")) {
    StringRef own = each.stripDialect();
    unsigned distance = own.edit_distance(name, true, least);
    if (distance < least) {
      least = distance;
      nearest = own;
    }
  }
  return nearest.str();
}
