/// What a model's text must be before MLIR's parser sees it.
///
/// The parser calls itself for every level of nesting and does not watch its
/// stack, and so do the walks over what it makes. A file may nest by brackets,
/// by signs of affine expressions, which need none, and by aliases:
///
///   #a1 = [#a0]
///   #a2 = [#a1]      // two levels deep
///
/// And messages show the lines that locations name, of whatever file.
#ifndef TPSP_DIALECT_TPSP_IR_MODELTEXT_H
#define TPSP_DIALECT_TPSP_IR_MODELTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// The levels that a model may have. The parser has room for several times as
/// many on a stack of 8 MiB.
constexpr unsigned maxNesting = 256;

/// The bytes that a model's file may have.
constexpr int64_t maxModelBytes = int64_t(256) << 20;

/// An error, in one sentence that names the file, unless `text` is text, nests
/// no deeper than maxNesting, and has no location in a pipe or a device. With a
/// `splitMarker`, what follows one is a file of its own.
llvm::Error checkModelText(llvm::StringRef path, llvm::StringRef text,
                           llvm::StringRef splitMarker = "");

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_MODELTEXT_H
