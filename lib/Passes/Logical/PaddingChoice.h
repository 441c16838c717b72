/// Which indices of a module run with larger extents, and what follows for
/// other indices.
///
/// An index changes together with its renamings. If an index is split or
/// merged, it changes together with its major part. With h = 12 to 16, e = (h,
/// k) changes from 768 to 1024. The choice is stored in the module's attribute
/// `tpsp.padding`.
#ifndef TPSP_PASSES_LOGICAL_PADDINGCHOICE_H
#define TPSP_PASSES_LOGICAL_PADDINGCHOICE_H

#include "Passes/Program/IndexFamilies.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/MapVector.h"

namespace tpsp {

class PaddingChoice {
public:
  explicit PaddingChoice(mlir::ModuleOp module);

  /// Reads an entry "v=8": the next multiple of 8.
  mlir::LogicalResult want(llvm::StringRef entry);
  /// Reads the attribute, and extends it to indices that appeared after it was
  /// written.
  mlir::LogicalResult resume();
  /// Writes the attribute, or none if no index grows. Refuses minor parts.
  mlir::LogicalResult write();

private:
  /// A view in which this index has `run` positions for each `otherRun`
  /// positions of `other`.
  struct Tie {
    llvm::StringRef other;
    int64_t run, otherRun;
    mlir::Operation *op;
  };

  mlir::InFlightDiagnostic error();
  void addTies(IndexedOpInterface view);
  int64_t extentOf(llvm::StringRef name) const;
  mlir::LogicalResult set(llvm::StringRef name, int64_t padded);
  mlir::LogicalResult follow(llvm::StringRef first);
  mlir::LogicalResult followTie(llvm::StringRef name, const Tie &tie,
                                llvm::SmallVectorImpl<llvm::StringRef> &work);
  mlir::LogicalResult checkMinors(IndexedOpInterface view);

  mlir::ModuleOp module;
  IndexFamilies families;
  llvm::MapVector<llvm::StringRef, int64_t> wanted;
  llvm::DenseMap<llvm::StringRef, llvm::SmallVector<Tie>> ties;
};

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_PADDINGCHOICE_H
