/// Prints a module in short form, `tpsp.program`, if it has one.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_SHORTFORM_H
#define TPSP_DIALECT_TPSP_SYNTAX_SHORTFORM_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace tpsp {

/// The operations whose results' types a text has: those that a reader does not
/// infer, or all.
enum class WrittenTypes { NotInferred, Every };

/// The module in short form. Values have the names of their locations
/// (tpsp-name-values). Consecutive calls become a repetition if the names of
/// their parameters differ only in a number. Returns nullopt if the text would
/// be read as another module. That happens if an index has two extents, an
/// argument of the program has no name, or an operation has no short form.
std::optional<std::string>
shortForm(mlir::ModuleOp module,
          WrittenTypes types = WrittenTypes::NotInferred);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_SHORTFORM_H
