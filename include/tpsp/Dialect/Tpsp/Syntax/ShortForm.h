/// A module as text in short form, `tpsp.program`, where it has one.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_SHORTFORM_H
#define TPSP_DIALECT_TPSP_SYNTAX_SHORTFORM_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace tpsp {

/// The module in short form. Values are called as their locations say
/// (tpsp-name-values). Calls that follow each other are a repetition, where
/// their parameters are called alike but for a number. None if the text would
/// be read as another module. So it is where an index has two extents, an
/// argument of the program no name, or an operation no short form.
std::optional<std::string> shortForm(mlir::ModuleOp module);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_SHORTFORM_H
