/// Which elements of a buffer a loop touches in which threads.
#ifndef TPSP_PASSES_DEVICE_LOOPACCESS_H
#define TPSP_PASSES_DEVICE_LOOPACCESS_H

#include "BlockShape.h"

#include "llvm/ADT/DenseSet.h"

#include <string>

namespace tpsp {

llvm::SmallVector<unsigned> allDims(const ItemLoop &loop);

/// Whether the loop is of one point, which every thread of an item computes.
bool isSingle(const BlockShape &shape, const ItemLoop &loop);

/// The last of `dims` that has more than one point.
unsigned innermostOf(const BlockShape &shape, const ItemLoop &loop,
                     llvm::ArrayRef<unsigned> dims);

/// Points that a thread does at once along the innermost of `dims`.
int64_t widthOf(const BlockShape &shape, const ItemLoop &loop,
                llvm::ArrayRef<unsigned> dims);

/// Elements of a buffer by thread: two accesses with the same nonempty key are
/// of the same elements in the same threads.
using AccessKey = std::string;

struct Access {
  mlir::Value buffer;
  bool isWrite;
  AccessKey key;
};

/// What the loop reads, but for what is `known` to all threads, and writes.
llvm::SmallVector<Access> accessesOf(const BlockShape &shape,
                                     const ItemLoop &loop,
                                     const llvm::DenseSet<mlir::Value> &known);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_LOOPACCESS_H
