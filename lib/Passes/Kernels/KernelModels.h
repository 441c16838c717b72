/// The external models of the kernel interfaces, by family of operations.
#ifndef TPSP_PASSES_KERNELS_KERNELMODELS_H
#define TPSP_PASSES_KERNELS_KERNELMODELS_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace tpsp {

/// concat, cut, pad, delay, scan and cumsum.
void attachRunRows(mlir::MLIRContext &context);
/// onehot_einsum, router and runs.
void attachIntegerRows(mlir::MLIRContext &context);
/// The buckets of onehot_einsum, count_earlier and count_values.
void attachIntegerBuckets(mlir::MLIRContext &context);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELMODELS_H
