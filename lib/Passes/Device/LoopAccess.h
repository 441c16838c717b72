/// Which elements of a buffer each thread accesses in a loop.
#ifndef TPSP_PASSES_DEVICE_LOOPACCESS_H
#define TPSP_PASSES_DEVICE_LOOPACCESS_H

#include "BlockShape.h"

#include "llvm/ADT/DenseSet.h"

#include <string>

namespace tpsp {

llvm::SmallVector<unsigned> allDims(const ItemLoop &loop);

/// Whether the loop has a single point, which every thread of an item computes.
bool isSingle(const BlockShape &shape, const ItemLoop &loop);

/// The last of `dims` that has more than one point.
unsigned innermostOf(const BlockShape &shape, const ItemLoop &loop,
                     llvm::ArrayRef<unsigned> dims);

/// Points that a thread processes at once along the innermost of `dims`.
int64_t widthOf(const BlockShape &shape, const ItemLoop &loop,
                llvm::ArrayRef<unsigned> dims);

/// Identifies the elements of a buffer that each thread accesses. Two accesses
/// with the same nonempty key access the same elements in the same threads.
using AccessKey = std::string;

struct Access {
  mlir::Value buffer;
  bool isWrite;
  AccessKey key;
};

/// The loop's writes, and its reads except of values `known` to all threads.
llvm::SmallVector<Access> accessesOf(const BlockShape &shape,
                                     const ItemLoop &loop,
                                     const llvm::DenseSet<mlir::Value> &known);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_LOOPACCESS_H
