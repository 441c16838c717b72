#include "tpsp/Passes/Kernels/KernelInterfaces.h"

#include "KernelModels.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace tpsp;

#include "tpsp/Passes/Kernels/KernelInterfaces.cpp.inc"

SmallVector<StringRef> tpsp::gridIndices(RowKernelOpInterface op) {
  return indexNamesBut(op->getResult(0).getType(), op.getRowIndices());
}

SmallVector<StringRef> tpsp::gridIndices(BucketKernelOpInterface op) {
  return indexNamesBut(op.getBucketTypes().front(), op.getBucketIndices());
}

void tpsp::registerKernelModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TpspDialect *) {
    attachRunRows(*context);
    attachIntegerRows(*context);
    attachIntegerBuckets(*context);
  });
}
