/// The names that the author gave to values. The parser keeps lines and columns
/// but not the names of SSA values; these are read back from the source file.
#ifndef TPSP_DIALECT_TPSP_SOURCENAMES_H
#define TPSP_DIALECT_TPSP_SOURCENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace llvm {
class MemoryBuffer;
} // namespace llvm

namespace tpsp {

/// The lines of a source file; none if it cannot be read.
class SourceLines {
public:
  explicit SourceLines(llvm::StringRef path);
  ~SourceLines();

  /// "y" of the line "  %y = tpsp.gelu %x : ...", if the line is like that. Of
  /// several results, the first.
  llvm::StringRef nameDefinedOn(unsigned line) const;
  /// "x" of the argument "%x: ..." that begins at a line and column (from 1).
  llvm::StringRef argumentAt(unsigned line, unsigned column) const;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::SmallVector<llvm::StringRef> lines;
};

/// "%w", as the author called a value; "" if that is not known. Reads the
/// source file where tpsp-name-values has not been: for messages.
std::string nameInSource(mlir::Value value);

/// "gpt.mlir:12:8", the first place in a source file that a location has; "" if
/// it has none.
std::string formatLocation(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SOURCENAMES_H
