#include "tpsp/Passes/Program/SourceName.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

std::optional<std::string> tpsp::sourceName(Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    std::optional<std::string> callee = sourceName(call.getCallee());
    std::optional<std::string> caller = sourceName(call.getCaller());
    return callee && caller ? *caller + "." + *callee : callee;
  }
  // A mark on a place (AdjointMark.h): the place's own name, not its caller's.
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && fused.getMetadata())
    return sourceName(fused.getLocations().front());
  if (auto named = loc->findInstanceOf<NameLoc>())
    return named.getName().str();
  return std::nullopt;
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
