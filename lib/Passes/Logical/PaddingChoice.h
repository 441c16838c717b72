/// Which indices of a module run with which larger extents, and what follows
/// from each for the others.
///
/// An index that is renamed, and the major part of one that is split or merged,
/// go along. With h = 12 to 16, e = (h, k) goes from 768 to 1024. The choice is
/// the module's attribute `tpsp.padding`.
#ifndef TPSP_PASSES_LOGICAL_PADDINGCHOICE_H
#define TPSP_PASSES_LOGICAL_PADDINGCHOICE_H

#include "Passes/Program/IndexFamilies.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/MapVector.h"

namespace tpsp {

class PaddingChoice {
public:
  explicit PaddingChoice(mlir::ModuleOp module);

  /// "v=8": the next multiple of 8.
  mlir::LogicalResult want(llvm::StringRef entry);
  /// What the attribute says, and what follows for indices that have come up
  /// since it was written.
  mlir::LogicalResult resume();
  /// Writes the attribute; without an index that grows there is none. Refuses
  /// minor parts.
  mlir::LogicalResult write();

private:
  /// An index that has `run` positions for each of another's `otherRun`.
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
