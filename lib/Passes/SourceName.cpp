#include "tpsp/Passes/SourceName.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

std::optional<std::string> tpsp::sourceName(Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    std::optional<std::string> callee = sourceName(call.getCallee());
    std::optional<std::string> caller = sourceName(call.getCaller());
    return callee && caller ? *caller + "." + *callee : callee;
  }
  if (auto named = loc->findInstanceOf<NameLoc>())
    return named.getName().str();
  return std::nullopt;
}

Location tpsp::withoutSourceName(Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(withoutSourceName(call.getCallee()),
                            call.getCaller());
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getChildLoc();
  return loc;
}
