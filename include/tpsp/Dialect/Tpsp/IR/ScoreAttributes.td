#ifndef TPSP_DIALECT_TPSP_IR_SCOREATTRIBUTES_TD
#define TPSP_DIALECT_TPSP_IR_SCOREATTRIBUTES_TD

// The options of an attention's scores, which operations of several dialects
// have. Names are those of the fields in Abi/ScoreOptions.h.
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"

/// Beside `causal`, which a mask does not state.
defvar Tpsp_PositionMask = (ins OptionalAttr<I64Attr>:$window,
                                OptionalAttr<I64Attr>:$chunk);

/// Beside `scale`, which not all operations print alike.
defvar Tpsp_ScoreOptions = !con((ins UnitAttr:$causal), Tpsp_PositionMask,
                                (ins OptionalAttr<F64Attr>:$softcap));

#endif // TPSP_DIALECT_TPSP_IR_SCOREATTRIBUTES_TD
