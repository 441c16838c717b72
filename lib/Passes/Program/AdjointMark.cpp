#include "AdjointMark.h"

#include "SourceName.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tpsp;

static constexpr llvm::StringLiteral resultKey = "result";
static constexpr llvm::StringLiteral inCalleeKey = "in_callee";
static constexpr llvm::StringLiteral operationKey = "operation";

Location tpsp::adjointLocation(Operation *primal) {
  Builder b(primal->getContext());
  Location loc = primal->getLoc();
  auto text = [&](StringRef key, StringRef value) {
    return b.getNamedAttr(key, b.getStringAttr(value));
  };
  DictionaryAttr mark = b.getDictionaryAttr(
      {text(resultKey, sourceName(loc).value_or("")),
       text(inCalleeKey, nameInCallee(loc).value_or("")),
       text(operationKey, primal->getName().stripDialect())});
  return FusedLoc::get({withoutSourceName(loc)}, mark, primal->getContext());
}

std::optional<AdjointMark> tpsp::adjointMark(Location loc) {
  while (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  auto fused = dyn_cast<FusedLoc>(loc);
  auto mark = fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata())
                    : DictionaryAttr();
  if (!mark || !mark.contains(operationKey))
    return std::nullopt;
  auto text = [&](StringRef key) {
    return mark.getAs<StringAttr>(key).getValue();
  };
  return AdjointMark{loc, text(resultKey), text(inCalleeKey),
                     text(operationKey)};
}
