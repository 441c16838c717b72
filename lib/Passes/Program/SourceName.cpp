#include "SourceName.h"

#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

std::optional<std::string> tpsp::sourceName(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getName().str();
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    std::optional<std::string> callee = sourceName(call.getCallee());
    std::optional<std::string> caller = sourceName(call.getCaller());
    return callee && caller ? *caller + "." + *callee : callee;
  }
  // A marked location (AdjointMark.h) has its own name, not its caller's.
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && fused.getMetadata())
    return sourceName(fused.getLocations().front());
  if (auto named = loc->findInstanceOf<NameLoc>())
    return named.getName().str();
  return std::nullopt;
}

/// `loc` with `name` in place of any name that it has.
static Location renamed(Location loc, StringAttr name) {
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(renamed(call.getCallee(), name), call.getCaller());
  return NameLoc::get(name, tpsp::withoutSourceName(loc));
}

/// The name of a result when its operation is printed, else its number.
static std::string nameInOperation(OpResult result) {
  std::string found = std::to_string(result.getResultNumber());
  if (auto named = dyn_cast<OpAsmOpInterface>(result.getOwner()))
    named.getAsmResultNames([&](Value value, StringRef name) {
      if (value == result)
        found = name.str();
    });
  return found;
}

Location tpsp::locationOf(Value value) {
  Location loc = value.getLoc();
  auto result = dyn_cast<OpResult>(value);
  if (!result || result.getOwner()->getNumResults() == 1)
    return loc;
  if (auto name =
          dyn_cast_or_null<StringAttr>(getResultAttr(value, nameAttrName)))
    return renamed(loc, name);
  return result.getResultNumber() == 0
             ? loc
             : partOfSource(loc, nameInOperation(result));
}

void tpsp::setName(Value result, StringAttr name) {
  Operation *op = result.getDefiningOp();
  if (op->getNumResults() == 1)
    op->setLoc(NameLoc::get(name, op->getLoc()));
  else
    setResultAttr(result, nameAttrName, name);
}

std::optional<std::string> tpsp::nameInCallee(Location loc) {
  while (auto call = dyn_cast<CallSiteLoc>(loc))
    loc = call.getCallee();
  return sourceName(loc);
}

Location tpsp::partOfSource(Location loc, StringRef part) {
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(partOfSource(call.getCallee(), part),
                            call.getCaller());
  auto named = dyn_cast<NameLoc>(loc);
  if (!named)
    return loc;
  auto name = StringAttr::get(loc->getContext(),
                              named.getName().getValue() + "." + part);
  return NameLoc::get(name, named.getChildLoc());
}

Location tpsp::withoutSourceName(Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(withoutSourceName(call.getCallee()),
                            call.getCaller());
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getChildLoc();
  return loc;
}
