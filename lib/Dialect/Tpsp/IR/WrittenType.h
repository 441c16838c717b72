/// Types as written in short form: subscripts in brackets, without extents.
///
///   [b, s@tp, d]      of the operands' element type, or the program's
///   bf16[b, s, d, ?]
///   tensor<8xf32, #tpsp.idx<b>>, or an alias of it
///
/// The last form is complete. For the others, extents and perhaps the element
/// type are set when the whole program is known (ProgramResolution.cpp).
#ifndef TPSP_DIALECT_TPSP_IR_WRITTENTYPE_H
#define TPSP_DIALECT_TPSP_IR_WRITTENTYPE_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/OpImplementation.h"

namespace tpsp {

/// Parses the subscripts of a tensor between brackets.
mlir::ParseResult parseBracketedSubscripts(mlir::AsmParser &parser,
                                           IdxAttr &idx);

/// Parses a written type: a TypeAttr of a tensor, whose extents are dynamic if
/// they were not written, or an IdxAttr alone.
mlir::ParseResult parseWrittenType(mlir::AsmParser &parser,
                                   mlir::Attribute &written);

/// The tensor type with this element type and these subscripts, and unknown
/// extents.
mlir::RankedTensorType withOpenExtents(mlir::Type element, IdxAttr idx);

/// Resolves operands whose types are still to be inferred. An operand that is
/// not defined yet has its name in its location, "%y", for messages.
mlir::ParseResult
resolveUntyped(mlir::OpAsmParser &parser,
               llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands,
               llvm::SmallVectorImpl<mlir::Value> &values);

/// Attribute of an operation in short form while it is parsed: an array with a
/// written type for each result. Without the attribute no result has one.
inline constexpr llvm::StringLiteral writtenAttrName = "tpsp.written";

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_WRITTENTYPE_H
