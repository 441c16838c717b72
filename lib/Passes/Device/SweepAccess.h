/// Which elements of a buffer a sweep touches in which threads, and where
/// threads must wait for each other.
#ifndef TPSP_PASSES_DEVICE_SWEEPACCESS_H
#define TPSP_PASSES_DEVICE_SWEEPACCESS_H

#include "BlockShape.h"

#include <string>

namespace tpsp {

llvm::SmallVector<unsigned> allDims(const Sweep &sweep);

/// Whether the sweep is of one point, which every thread of an item computes.
bool isSingle(const BlockShape &shape, const Sweep &sweep);

/// The last of `dims` that has more than one point.
unsigned innermostOf(const BlockShape &shape, const Sweep &sweep,
                     llvm::ArrayRef<unsigned> dims);

/// Points that a thread does at once along the innermost of `dims`.
int64_t widthOf(const BlockShape &shape, const Sweep &sweep,
                llvm::ArrayRef<unsigned> dims);

/// Elements of a buffer by thread: two accesses with the same nonempty key are
/// of the same elements in the same threads.
using AccessKey = std::string;

struct Access {
  mlir::Value buffer;
  bool isWrite;
  AccessKey key;
};

/// What the sweep reads, but for what is `known` to all threads, and writes.
llvm::SmallVector<Access>
accessesOf(const BlockShape &shape, const Sweep &sweep,
           const llvm::DenseMap<mlir::Value, mlir::Value> &known);

/// Accesses since the last barrier.
class AccessLog {
public:
  /// The buffers for which the new accesses need a barrier between them and
  /// those so far.
  llvm::SmallVector<mlir::Value>
  conflicts(llvm::ArrayRef<Access> accesses) const;
  void add(llvm::ArrayRef<Access> accesses) {
    log.append(accesses.begin(), accesses.end());
  }
  void clear() { log.clear(); }

private:
  llvm::SmallVector<Access> log;
};

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_SWEEPACCESS_H
