/// Emits the sums of a range's part, such as the gradient of a gain. Every
/// thread has those of some neighbours, so that its accesses are wide.
#ifndef TPSP_PASSES_DEVICE_RANGESUMS_H
#define TPSP_PASSES_DEVICE_RANGESUMS_H

#include "LoopParts.h"

namespace tpsp {

class RangeSums : LoopParts {
public:
  explicit RangeSums(const LoopParts &parts) : LoopParts(parts) {}

  /// `slot`: the number of the thread's neighbours; `member`: its number among
  /// the threads that have them.
  void emit(mlir::Value slot, mlir::Value member);

private:
  using Sums = llvm::SmallVector<mlir::Value>;

  /// A thread's part of the sums at each of its points.
  std::vector<Sums> sum(mlir::Value valid, mlir::Value member,
                        const Neighbours &kept);
  /// Adds `count` terms, from number `number` on, to the sums of the points.
  Sums visitTerms(mlir::Value number, int64_t count, const Neighbours &kept,
                  mlir::ValueRange sums);
  /// Combines the parts of all warps and stores the sums. In the end each point
  /// has a thread.
  void store(mlir::Value slot, mlir::Value member, llvm::ArrayRef<Sums> sums);
  /// `sum` with all warps' parts of a point.
  mlir::Value partsOf(unsigned output, mlir::Value buffer, mlir::Value point,
                      mlir::Value sum);
};

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_RANGESUMS_H
