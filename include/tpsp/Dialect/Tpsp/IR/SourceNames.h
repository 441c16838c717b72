/// The names that the author gave to values. The parser keeps lines and columns
/// but drops the names of SSA values, so they are read again from the source
/// file.
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

/// The lines of a source file. There are none if the file cannot be read or is
/// not a regular file, since a location may name any file.
class SourceLines {
public:
  explicit SourceLines(llvm::StringRef path);
  /// The lines of a text that is not, or not yet, in a file.
  static std::unique_ptr<SourceLines> ofText(llvm::StringRef text);
  SourceLines(const SourceLines &) = delete;
  SourceLines &operator=(const SourceLines &) = delete;

  /// "y" for the line "  %y = tpsp.gelu %x : ..."; empty if the line has
  /// another form. For several results, the first one's name.
  llvm::StringRef nameDefinedOn(unsigned line) const;
  /// "x" for the argument "%x: ..." that begins at a line and column (from 1).
  llvm::StringRef argumentAt(unsigned line, unsigned column) const;

private:
  SourceLines() = default;

  std::string text;
  llvm::SmallVector<llvm::StringRef> lines;
};

/// Finds the names of values. Reads each source file once.
class SourceNames {
public:
  /// Takes `text` for what the file `path` holds, which is not read then.
  void add(llvm::StringRef path, llvm::StringRef text);
  /// The lines of the file that a location names.
  const SourceLines &linesOf(mlir::FileLineColLoc location);
  /// "%w"; empty if the name is not known.
  std::string of(mlir::Value value);

private:
  llvm::StringMap<std::unique_ptr<SourceLines>> files;
};

/// Stores the names of all values under `root` in their locations.
void nameValues(mlir::Operation *root, SourceNames &sources);

/// The name of one value, for messages. Reads the source file if
/// tpsp-name-values has not run.
std::string nameInSource(mlir::Value value);

/// "gpt.mlir:12:8", the first place in a source file within a location; empty
/// if there is none.
std::string formatLocation(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_SOURCENAMES_H
