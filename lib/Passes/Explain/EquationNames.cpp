#include "EquationNames.h"

#include "Equations.h"
#include "tpsp/Passes/Program/CallPlace.h"

#include "Passes/Program/AdjointMark.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"

using namespace mlir;
using namespace tpsp;

const std::string &EquationNames::of(Value value) {
  value = namedValue(value);
  auto it = names.find(value);
  if (it != names.end())
    return it->second;
  std::string name = unlike(wish(value), value);
  return names.try_emplace(value, std::move(name)).first->second;
}

/// The sum that `value` is a summand of and nothing else, if it has a name.
static Operation *sumBehind(Value value) {
  if (!value.hasOneUse())
    return nullptr;
  Operation *user = *value.user_begin();
  if (isa<CollectiveOpInterface>(user) && user->getNumOperands() == 1)
    return sumBehind(user->getResult(0));
  auto indexed = dyn_cast<IndexedOpInterface>(user);
  bool isNamedSum = indexed && indexed.isSumOfOperands() &&
                    sourceName(user->getLoc()).has_value();
  return isNamedSum ? user : nullptr;
}

/// "g[xn].q"; "g[w].layer0.q" of a sum that is of no call.
static std::string summandName(Operation *sum, const AdjointMark &mark) {
  bool isOfCall = !callPlaceOf(sum->getLoc()).calls.empty();
  return *sourceName(sum->getLoc()) + "." +
         (isOfCall ? mark.resultInCallee : mark.result).str();
}

std::string EquationNames::wish(Value value) {
  if (isa<BlockArgument>(value))
    return tensorName(value);
  if (std::optional<std::string> name = sourceName(locationOf(value)))
    return *name;
  Operation *op = value.getDefiningOp();
  std::optional<AdjointMark> mark = adjointMark(op->getLoc());
  if (mark && !mark->result.empty()) {
    if (Operation *sum = sumBehind(value))
      return summandName(sum, *mark);
    return (mark->result + "'." + op->getName().stripDialect()).str();
  }
  return "t" + std::to_string(numbered++);
}

/// A rematerialised value is the same tensor.
static bool isMadeAgain(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isRecomputed(op);
}

/// The operand that `value` is elsewhere: all of it under its own indices. Null
/// if it is of its own.
static Value movedFrom(Value value) {
  auto op = dyn_cast_or_null<IndexedOpInterface>(value.getDefiningOp());
  if (!op || !op.isView() ||
      indexNames(value.getType()) != indexNames(op->getOperand(0).getType()))
    return {};
  return op->getOperand(0);
}

std::string EquationNames::unlike(std::string wished, Value value) {
  if (Value source = movedFrom(value); source && of(source) == wished)
    return wished;
  auto [entry, isNew] = taken.try_emplace(wished, 1);
  if (isNew || isMadeAgain(value))
    return wished;
  unsigned &count = entry->second;
  std::string name;
  do
    name = wished + "#" + std::to_string(++count);
  while (!taken.try_emplace(name, 1).second);
  return name;
}
