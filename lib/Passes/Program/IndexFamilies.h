/// Which index names of a program stand for the same index.
///
/// An index has a name, and the names that it is renamed to: `s` of the queries
/// and `t` of the keys are one sequence. Such a family has one extent.
#ifndef TPSP_PASSES_PROGRAM_INDEXFAMILIES_H
#define TPSP_PASSES_PROGRAM_INDEXFAMILIES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tpsp {

/// The families of the indices in a module's types.
class IndexFamilies {
public:
  explicit IndexFamilies(mlir::ModuleOp module);

  bool knows(llvm::StringRef name) const { return extents.contains(name); }
  /// The representative name of the family. A name that the module lacks is a
  /// family of its own.
  llvm::StringRef familyOf(llvm::StringRef name) const;
  /// Every extent that a name of the family has somewhere; empty if the module
  /// lacks the family.
  llvm::ArrayRef<int64_t> extentsOf(llvm::StringRef family) const;
  /// All names, in the program's order.
  llvm::SmallVector<llvm::StringRef> names() const;

private:
  using Extents = llvm::SmallSetVector<int64_t, 1>;

  void add(mlir::Type type);
  void join(mlir::Type one, mlir::Type other);

  llvm::EquivalenceClasses<llvm::StringRef> families;
  llvm::MapVector<llvm::StringRef, Extents> extents;
  llvm::DenseMap<llvm::StringRef, Extents> all;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_INDEXFAMILIES_H
