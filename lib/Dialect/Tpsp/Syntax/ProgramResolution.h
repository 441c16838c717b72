/// Turns a parsed program in short form into an ordinary module. The parser
/// creates functions whose values are all of type !tpsp.inferred, and marks
/// functions and calls with the attributes below. Resolution sets the types and
/// removes the marks.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_PROGRAMRESOLUTION_H
#define TPSP_DIALECT_TPSP_SYNTAX_PROGRAMRESOLUTION_H

#include "Dialect/Tpsp/IR/WrittenType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace tpsp {

/// Unit attribute of a function in short form.
inline constexpr llvm::StringLiteral shortFormAttrName = "tpsp.short_form";
/// String attribute of a call: the pattern of the names of parameters that it
/// leaves out.
inline constexpr llvm::StringLiteral namesAttrName = "tpsp.names";
/// i64 attributes of a repeated call: the number of repetitions, and the number
/// of the first.
inline constexpr llvm::StringLiteral timesAttrName = "tpsp.times";
inline constexpr llvm::StringLiteral firstAttrName = "tpsp.first";

/// The most calls of a program after inlining. No model has as many layers:
/// more calls are a typing error, and would take minutes to write out.
inline constexpr int64_t mostCalls = 65536;

/// The head of a program.
struct ProgramHead {
  /// Extents by index name.
  llvm::StringMap<int64_t> extents;
  /// The element type of tensors that do not write their own.
  mlir::Type element;
};
using FunctionsByName = llvm::StringMap<mlir::func::FuncOp>;

/// Resolves the functions in short form of a program's region. Fails with a
/// located error (Q2)-(Q9).
mlir::LogicalResult resolveProgram(mlir::Region &program,
                                   const ProgramHead &head);

/// The type with the program's extents and element type. Null, with an error at
/// `loc`, if an index has no extent (Q2) or another extent than in the program
/// (Q3).
mlir::RankedTensorType closed(mlir::RankedTensorType type,
                              const ProgramHead &head, mlir::Location loc);

/// The name of a parameter that a call introduces: the pattern "h.#.*" with the
/// repetition's number and the callee's name for the parameter.
std::string parameterName(llvm::StringRef pattern, int64_t number,
                          llvm::StringRef name);

/// Verifies that a call has as many operands and results as its callee (Q6). A
/// call with names may have fewer operands.
mlir::LogicalResult checkCounts(mlir::func::CallOp call,
                                mlir::func::FuncOp callee);

/// Expands a call with names or repetitions into plain calls. The parameters
/// that it leaves out become arguments of `caller`, after its own. The argument
/// types of both functions must be set. Fails with an error (Q6)-(Q8).
mlir::LogicalResult expandCall(mlir::func::CallOp call,
                               mlir::func::FuncOp caller,
                               mlir::func::FuncOp callee);

/// Sets the types of the operations' results in a function. Its calls must be
/// plain, and the types of all functions set. Fails with an error (Q2)-(Q6),
/// (Q9).
mlir::LogicalResult inferBody(mlir::func::FuncOp function,
                              const ProgramHead &head,
                              const FunctionsByName &functions);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_PROGRAMRESOLUTION_H
