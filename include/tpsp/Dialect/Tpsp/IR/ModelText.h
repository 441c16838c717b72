/// Checks a model's text before MLIR's parser sees it.
///
/// The parser recurses for every level of nesting and does not bound its stack.
/// So do the walks over the operations that it creates. A file may nest by
/// brackets, by signs of affine expressions, which need no brackets, and by
/// aliases:
///
///   #a1 = [#a0]
///   #a2 = [#a1]      // two levels deep
///
/// Locations matter, too: messages print the lines that they name, from any
/// file.
#ifndef TPSP_DIALECT_TPSP_IR_MODELTEXT_H
#define TPSP_DIALECT_TPSP_IR_MODELTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// The most levels of nesting that a model may have. On a stack of 8 MiB the
/// parser has room for several times as many.
constexpr unsigned maxNesting = 256;

/// The most bytes that a model's file may have.
constexpr int64_t maxModelBytes = int64_t(256) << 20;

/// Returns an error if `text` is not text, nests deeper than maxNesting, or has
/// a location in a pipe or a device. The error is one sentence that names the
/// file. If `splitMarker` is not empty, it separates parts that are checked as
/// files of their own.
llvm::Error checkModelText(llvm::StringRef path, llvm::StringRef text,
                           llvm::StringRef splitMarker = "");

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_MODELTEXT_H
