#include "tpsp/Passes/Program/CallPlace.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tpsp;

/// The location without names and marks.
static Location bare(Location loc) {
  while (true) {
    if (auto named = dyn_cast<NameLoc>(loc))
      loc = named.getChildLoc();
    else if (auto fused = dyn_cast<FusedLoc>(loc); fused && fused.getMetadata())
      loc = fused.getLocations().front();
    else
      return loc;
  }
}

/// The calls that all of `locs` were inlined from.
static SmallVector<Location> sharedCalls(ArrayRef<Location> locs) {
  SmallVector<Location> shared = callPlaceOf(locs.front()).calls;
  for (Location loc : locs.drop_front()) {
    SmallVector<Location> calls = callPlaceOf(loc).calls;
    auto differs =
        std::mismatch(shared.begin(), shared.end(), calls.begin(), calls.end());
    shared.erase(differs.first, shared.end());
  }
  return shared;
}

CallPlace tpsp::callPlaceOf(Location loc) {
  CallPlace place{bare(loc), {}};
  if (auto fused = dyn_cast<FusedLoc>(place.written)) {
    place.calls = sharedCalls(fused.getLocations());
    return place;
  }
  auto call = dyn_cast<CallSiteLoc>(place.written);
  if (!call)
    return place;
  CallPlace outer = callPlaceOf(call.getCaller());
  place.calls = std::move(outer.calls);
  place.calls.push_back(call.getCaller());
  CallPlace inner = callPlaceOf(call.getCallee());
  llvm::append_range(place.calls, inner.calls);
  place.written = inner.written;
  return place;
}

SmallVector<StringRef> tpsp::callNamesOf(Location loc) {
  SmallVector<StringRef> names;
  CallPlace place = callPlaceOf(loc);
  for (Location call : place.calls) {
    if (auto site = dyn_cast<CallSiteLoc>(call))
      call = site.getCallee();
    auto named = dyn_cast<NameLoc>(call);
    names.push_back(named ? named.getName().getValue() : StringRef());
  }
  return names;
}
