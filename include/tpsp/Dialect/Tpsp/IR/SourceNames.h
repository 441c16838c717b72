/// The names that the author gave to values. The parser keeps lines and columns
/// but not the names of SSA values; these are read back from the source file.
#ifndef TPSP_DIALECT_TPSP_IR_SOURCENAMES_H
#define TPSP_DIALECT_TPSP_IR_SOURCENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace tpsp {

/// The lines of a source file; none if it cannot be read, or is not a regular
/// file. A location may name any file.
class SourceLines {
public:
  explicit SourceLines(llvm::StringRef path);
  SourceLines(const SourceLines &) = delete;
  SourceLines &operator=(const SourceLines &) = delete;

  /// "y" of the line "  %y = tpsp.gelu %x : ...", if the line is like that. Of
  /// several results, the first.
  llvm::StringRef nameDefinedOn(unsigned line) const;
  /// "x" of the argument "%x: ..." that begins at a line and column (from 1).
  llvm::StringRef argumentAt(unsigned line, unsigned column) const;

private:
  std::string text;
  llvm::SmallVector<llvm::StringRef> lines;
};

/// What authors called values. Reads each source file once.
class SourceNames {
public:
  /// The lines of the file of a location.
  const SourceLines &linesOf(mlir::FileLineColLoc location);
  /// "%w"; "" if that is not known.
  std::string of(mlir::Value value);

private:
  llvm::StringMap<std::unique_ptr<SourceLines>> files;
};

/// The same for one value. Reads the source file where tpsp-name-values has not
/// been: for messages.
std::string nameInSource(mlir::Value value);

/// "gpt.mlir:12:8", the first place in a source file that a location has; "" if
/// it has none.
std::string formatLocation(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_SOURCENAMES_H
