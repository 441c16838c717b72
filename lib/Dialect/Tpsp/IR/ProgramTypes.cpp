#include "tpsp/Dialect/Tpsp/IR/ProgramTypes.h"

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tpsp;

void tpsp::replaceTensorTypes(
    ModuleOp module,
    llvm::function_ref<RankedTensorType(RankedTensorType)> changed) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) {
    return getIdx(type) ? std::optional<Type>(changed(type)) : std::nullopt;
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  module.walk([&](FunctionOpInterface function) {
    function.setFunctionTypeAttr(
        TypeAttr::get(replacer.replace(function.getFunctionType())));
  });
}
