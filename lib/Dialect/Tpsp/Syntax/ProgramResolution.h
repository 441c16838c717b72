/// From a program in short form as it is parsed to an ordinary module. The
/// parser makes functions whose values are all of type !tpsp.inferred, and
/// marks functions and calls with the attributes below. Resolution sets the
/// types and removes the marks.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_PROGRAMRESOLUTION_H
#define TPSP_DIALECT_TPSP_SYNTAX_PROGRAMRESOLUTION_H

#include "Dialect/Tpsp/IR/WrittenType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace tpsp {

/// Unit attribute of a function in short form.
inline constexpr llvm::StringLiteral shortFormAttrName = "tpsp.short_form";
/// String attribute of a call: how it names the parameters that it leaves out.
inline constexpr llvm::StringLiteral namesAttrName = "tpsp.names";
/// i64 attributes of a repeated call: how often, and the first one's number.
inline constexpr llvm::StringLiteral timesAttrName = "tpsp.times";
inline constexpr llvm::StringLiteral firstAttrName = "tpsp.first";

/// More calls than any model has layers, all of them inlined, are a slip of the
/// pen, and would take minutes to write out.
inline constexpr int64_t mostCalls = 65536;

/// What the head of a program says.
struct ProgramHead {
  /// Extents by index name.
  llvm::StringMap<int64_t> extents;
  /// What tensors hold whose element type is not written.
  mlir::Type element;
};
using FunctionsByName = llvm::StringMap<mlir::func::FuncOp>;

/// Resolves the functions in short form of a program's region. Fails with a
/// located error (Q2)-(Q9).
mlir::LogicalResult resolveProgram(mlir::Region &program,
                                   const ProgramHead &head);

/// The type with the program's extents and element type. Null, with an error at
/// `loc`, if it has an index without one (Q2), or another than the program's
/// (Q3).
mlir::RankedTensorType closed(mlir::RankedTensorType type,
                              const ProgramHead &head, mlir::Location loc);

/// A parameter that a call brings: "h.#.*" with the repetition's number and the
/// callee's name for it.
std::string parameterName(llvm::StringRef pattern, int64_t number,
                          llvm::StringRef name);

/// Whether a call has as many operands and results as its callee (Q6). With
/// names it may have fewer operands.
mlir::LogicalResult checkCounts(mlir::func::CallOp call,
                                mlir::func::FuncOp callee);

/// Makes a call with names or repetitions into plain calls. The parameters that
/// it leaves out become arguments of `caller`, behind its own. Argument types
/// of both functions are set. Fails with an error (Q6)-(Q8).
mlir::LogicalResult expandCall(mlir::func::CallOp call,
                               mlir::func::FuncOp caller,
                               mlir::func::FuncOp callee);

/// Sets the types of a function's results of operations. Its calls are plain,
/// and the types of all functions are set. Fails with an error (Q2)-(Q6), (Q9).
mlir::LogicalResult inferBody(mlir::func::FuncOp function,
                              const ProgramHead &head,
                              const FunctionsByName &functions);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_PROGRAMRESOLUTION_H
