/// A program as its author wrote it, with other subscripts.
#ifndef TPSP_LIB_PLANNING_KEPTTEXT_H
#define TPSP_LIB_PLANNING_KEPTTEXT_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tpsp {

/// A program's short form, with the types that a reader does not infer, and
/// with all.
struct PlacedForms {
  std::string brief, whole;
};

/// Returns `written` with the mesh, the extents and the subscripts of `placed`,
/// which is the same program. Names, comments and line breaks stay. Functions,
/// arguments and values are found by their names. Returns nullopt if `written`
/// is not in short form, or has a type whose subscripts are not known so. The
/// caller must check that the result is the program of `placed`.
std::optional<std::string> withSubscriptsOf(const PlacedForms &placed,
                                            llvm::StringRef written);

} // namespace tpsp

#endif // TPSP_LIB_PLANNING_KEPTTEXT_H
