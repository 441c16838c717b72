#include "tpsp/Dialect/Tpsp/IR/Padding.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

using namespace mlir;
using namespace tpsp;

static ModuleOp moduleOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  return module ? module : op->getParentOfType<ModuleOp>();
}

std::optional<int64_t> tpsp::extentIn(ModuleOp module, StringRef attribute,
                                      StringRef index) {
  auto extents =
      module ? module->getAttrOfType<DictionaryAttr>(attribute) : nullptr;
  auto extent = extents ? extents.getAs<IntegerAttr>(index) : nullptr;
  return extent ? std::optional<int64_t>(extent.getInt()) : std::nullopt;
}

SmallVector<int64_t> tpsp::shapeToRun(Operation *op, RankedTensorType type) {
  ModuleOp module = moduleOf(op);
  SmallVector<int64_t> shape(type.getShape());
  if (!module || !module->hasAttr(paddingAttrName))
    return shape;
  for (auto [extent, name] : llvm::zip_equal(shape, indexNames(type)))
    extent = extentIn(module, paddingAttrName, name).value_or(extent);
  return shape;
}

void tpsp::leavePaddingOpen(ModuleOp module) {
  module->setAttr(paddingAttrName, UnitAttr::get(module.getContext()));
}

bool tpsp::isPaddingOpen(Operation *op) {
  ModuleOp module = moduleOf(op);
  return module && module->getAttrOfType<UnitAttr>(paddingAttrName);
}
