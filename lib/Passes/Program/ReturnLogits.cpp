#include "tpsp/Passes/Program/ReturnLogits.h"

#include "FunctionResults.h"
#include "tpsp/Abi/DataRole.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tpsp;

static constexpr const char *wayOut =
    "; return them under that name, as in -> ([] {tpsp.name = \"loss\"}, "
    "[b, s, v] {tpsp.name = \"logits\"})";

static bool hasLogits(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto name = function.getResultAttrOfType<StringAttr>(i, nameAttrName))
      if (name.getValue() == logitsName)
        return true;
  return false;
}

std::string tpsp::returnLogits(func::FuncOp function) {
  if (hasLogits(function))
    return "";
  auto all = function.getBody().front().getOps<CrossEntropyOp>();
  auto number = std::distance(all.begin(), all.end());
  std::string place = "@" + function.getSymName().str();
  if (number != 1)
    return place + " has " +
           (number == 0 ? "no cross_entropy" : "several cross_entropies") +
           ", so its logits are not known" + wayOut;
  Value logits = (*all.begin()).getOperand(0),
        targets = (*all.begin()).getOperand(1);
  SmallVector<StringRef> names = indexNames(logits.getType());
  if (ArrayRef<StringRef>(names).drop_back() !=
      ArrayRef<StringRef>(indexNames(targets.getType())))
    return place + " has logits [" + subscripts(logits.getType()) +
           "], and a token is drawn from [" + subscripts(targets.getType()) +
           "] and the vocabulary, in this order" + wayOut;
  Builder b(function.getContext());
  FunctionResults results(function);
  results.add(logits, b.getDictionaryAttr({b.getNamedAttr(
                          nameAttrName, b.getStringAttr(logitsName))}));
  results.setOf(function);
  return "";
}

/// The argument that holds tokens; null if there is none.
static BlockArgument tokensOf(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      dataAttrName);
    if (role && role.getValue() == nameOf(DataRole::Tokens))
      return argument;
  }
  return {};
}

/// The number that `name` has in entries such as "dp=2"; `otherwise` if it has
/// none.
static int64_t numberOf(StringRef name, const std::vector<std::string> &entries,
                        int64_t otherwise) {
  for (const std::string &entry : entries) {
    auto [key, value] = StringRef(entry).split('=');
    int64_t number = 0;
    if (key == name && !value.getAsInteger(10, number))
      return number;
  }
  return otherwise;
}

std::vector<std::string>
tpsp::fewestSequences(func::FuncOp function,
                      const std::vector<std::string> &mesh,
                      const std::vector<std::string> &given) {
  std::vector<std::string> extents;
  BlockArgument tokens = tokensOf(function);
  if (!tokens)
    return extents;
  Mesh axes = meshOf(function);
  Placement placement = placementOf(tokens.getType(), axes);
  SmallVector<StringRef> names = indexNames(tokens.getType());
  for (unsigned dim = 0; dim + 1 < names.size(); ++dim) {
    int64_t ranks = 1;
    for (AxisId axis : placement.dims[dim])
      ranks *= numberOf(axes.axis(axis).name, mesh, axes.size(axis));
    if (numberOf(names[dim], given, 0) == 0)
      extents.push_back(names[dim].str() + "=" + std::to_string(ranks));
  }
  return extents;
}
