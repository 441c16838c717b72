#ifndef TPSP_DIALECT_TPSP_OPERATIONS_POINTWISEOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_POINTWISEOPS_TD

// Pointwise operations, with broadcast by index name.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"
include "tpsp/Dialect/Tpsp/IR/ScoreAttributes.td"

def Tpsp_AddOp
    : Tpsp_PointwiseOp<"add", -1, [], ["getScalarFormula"],
                       [Tpsp_LinearJointly, Tpsp_SumOfOperands,
                        Tpsp_MixesPrecision]> {
  let summary = "the sum of any number of tensors";
  let description = [{
    Operands may have another precision than the result. They are summed in the
    result's precision. So are their summands on other ranks if they are
    partial.

    Constraints: (I1)-(I8), (P1), (P2).
  }];
  let hasFolder = 1;
}

def Tpsp_AddBiasOp : Tpsp_PointwiseOp<"add_bias", 2> {
  let summary = "scores plus a bias, which hides by minus infinity";
  let description = [{
    If the bias is more than minus infinity, y = x + bias, but no less than the
    lowest number of its type. Otherwise y is minus infinity, whatever x is, and
    x has no gradient. So only that bias hides: any other, however low, leaves a
    number.

    ```mlir
    %y = tpsp.add_bias %scores, %bias : (!scores, !bias) -> !scores
    ```

    Constraints: (I1)-(I8), (P1), (P2).
  }];
}

def Tpsp_SubOp : Tpsp_PointwiseOp<"sub", 2, traits=[Tpsp_LinearJointly]>;
def Tpsp_MulOp
    : Tpsp_PointwiseOp<"mul", 2, [], ["getScalarFormula"],
                       [Tpsp_LinearInEach]>;
def Tpsp_DivOp : Tpsp_PointwiseOp<"div", 2>;
def Tpsp_MaxOp : Tpsp_PointwiseOp<"max", 2> {
  let summary = "the larger of two, elementwise";
  let description = [{
    The larger element has the gradient; of equal elements, the first.

    Constraints: (I1)-(I8), (P1), (P2).
  }];
}

def Tpsp_ClampOp : Tpsp_PointwiseOp<"clamp", 1> {
  let summary = "the operand, no less than `low` and no more than `high`";
  let description = [{
    Either bound may be left out. Elements within the bounds, including the
    bounds themselves, have the gradient; others have none. A NaN stays a NaN.

    ```mlir
    %y = tpsp.clamp %x {low = -1.0, high = 1.0} : !x
    ```

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P7) `low` or `high` is given, and finite; `low` is not above `high`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, OptionalAttr<F64Attr>:$low,
                       OptionalAttr<F64Attr>:$high);
  let extraClassDefinition = Tpsp_Syntax;
}

def Tpsp_CompareOp
    : Tpsp_PointwiseOp<"compare", 2, traits=[Tpsp_StopsGradient],
                       hasAdjoint=0> {
  let summary = "1 where a relation of two holds, else 0";
  let description = [{
    `is` names the relation: "less", "less_equal", "equal", "not_equal",
    "greater" or "greater_equal". With a NaN only "not_equal" holds. The result
    is a constant to differentiation.

    ```mlir
    %finite = tpsp.compare %d, %d {is = "equal"} : !x
    ```

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P6) `is` names a relation.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$is);
  let extraClassDefinition = Tpsp_Syntax;
}

def Tpsp_SelectOp : Tpsp_PointwiseOp<"select", 3, ["getIntegerWidth"]> {
  let summary = "the second operand where the first is not 0, else the third";
  let description = [{
    The operand that is not selected does not matter, even if it is infinite or
    NaN. The selected elements have the gradient. The condition has none. The
    second and third operand may both be integers.

    ```mlir
    %new = tpsp.select %isFinite, %next, %old : (!number, !w, !w) -> !w
    ```

    Constraints: (I1)-(I8), (P1), (P2).
  }];
}

def Tpsp_ConvertOp
    : Tpsp_PointwiseOp<"convert", 1, [], ["getScalarFormula"],
                       [Tpsp_LinearJointly, Tpsp_MixesPrecision]> {
  let summary = "the operand in another precision";
  let hasFolder = 1;
}

def Tpsp_AccumulateOp
    : Tpsp_PointwiseOp<"accumulate", 1,
                       traits=[Tpsp_LinearJointly, Tpsp_MixesPrecision],
                       hasAdjoint=0> {
  let summary = "the sum of the operand over all micro-batches";
  let description = [{
    The function's operations of a micro-batch run once for each. The result is
    complete after the last. It is summed in its own precision.
    convert-tpsp-to-plan adds each micro-batch's operand to the result's buffer,
    which begins as zeros.

    Constraints: (I1)-(I8), (P1), (P2).
  }];
}

def Tpsp_BroadcastOp
    : Tpsp_PointwiseOp<"broadcast", 1, [], ["getScalarFormula"],
                       [Tpsp_LinearJointly, Tpsp_IntroducesIndices,
                        Tpsp_Selects]>;

def Tpsp_ScaleOp
    : Tpsp_PointwiseOp<"scale", 1, traits=[Tpsp_LinearJointly]> {
  let summary = "multiplication by a constant";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$factor);
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tpsp_ShiftOp : Tpsp_PointwiseOp<"shift", 1> {
  let summary = "addition of a constant";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$by);
}

def Tpsp_SlopeOp : Tpsp_PointwiseOp<"slope", 1, [], ["getScalarFormula"]> {
  let summary = "derivative of a scalar function at every element";
  let description = [{
    `of` names the function, by the mnemonic of its operation.

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P3) `of` names a scalar function.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$of);
  let extraClassDefinition = Tpsp_Syntax;
}

def Tpsp_CausalMaskOp
    : Tpsp_PointwiseOp<"causal_mask", 1, [],
                       ["getPositionIndices", "getTileOf"]> {
  let summary = "the operand where position(key) <= position(query), else fill";
  let description = [{
    With `window`, position(query) - position(key) must be less than that, too.
    With `chunk`, both positions divided by it and rounded down must be equal.
    `tile` says where the keys lie in a longer index.

    `shard` names an index of shards of queries and keys. Within a shard the
    last key is at the position of the last query. A key before the first
    shard's first query gets `fill`, too. `tpsp-propagate` sets it.

    Constraints: (I1)-(I8), (P1), (P2), (P5), and
    - (P8) `window` and `chunk` are at least 1, and `chunk` goes without `shard`.
  }];
  let arguments = !con((ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                            StrAttr:$key, F64Attr:$fill,
                            OptionalAttr<Tpsp_TileAttr>:$tile),
                       Tpsp_PositionMask, (ins OptionalAttr<StrAttr>:$shard));
  let builders = [OpBuilder<(ins "::mlir::Type":$type,
                                 "::mlir::ValueRange":$inputs,
                                 "::mlir::StringAttr":$query,
                                 "::mlir::StringAttr":$key,
                                 "::mlir::FloatAttr":$fill,
                                 "::tpsp::TileAttr":$tile,
                                 "const ::tpsp::PositionMask &":$mask,
                                 "::mlir::StringAttr":$shard)>];
  let extraClassDefinition = Tpsp_Syntax;
}

def Tpsp_SegmentMaskOp
    : Tpsp_PointwiseOp<"segment_mask", 3, ["getIntegerWidth"]> {
  let summary = "the operand where two segment numbers are equal, else fill";
  let description = [{
    The second and third operands are the segment numbers, of i32. Masked
    elements do not matter, even if they are infinite or NaN.

    ```mlir
    %y = tpsp.segment_mask %x, %of_queries, %of_keys {fill = -1e30}
       : (!scores, !queries, !keys) -> !scores
    ```

    Constraints: (I1)-(I8), (P1), (P2).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$fill);
}

def Tpsp_EndMaskOp
    : Tpsp_PointwiseOp<"end_mask", 1, ["getLinearity"],
                       ["getPositionIndices"]> {
  let summary = "the operand where position(index) < end, else fill";
  let description = [{
    Masked elements do not matter, even if they are infinite or NaN.
    `tpsp-pad-extents` creates this operation. Linear if `fill` is 0.

    ```mlir
    %y = tpsp.end_mask %x {index = "v", end = 50257, fill = 0.0} : !logits
    ```

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P9) `end` is from 1 to the extent of `index`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       I64Attr:$end, F64Attr:$fill);
  let extraClassDefinition = Tpsp_Syntax;
}

def Tpsp_LengthMaskOp
    : Tpsp_PointwiseOp<"length_mask", 2,
                       ["getIntegerWidth", "getIntegerBound"],
                       ["getPositionIndices", "getTileOf"]> {
  let summary = "the operand where position(index) < length, else fill";
  let description = [{
    The second operand is the lengths, of i32. Masked elements do not matter,
    even if they are infinite or NaN. `tile` says where the positions lie in a
    longer index.

    ```mlir
    %y = tpsp.length_mask %x, %lengths {index = "t", fill = -1e30}
       : (!scores, !lengths) -> !scores
    ```

    Constraints: (I1)-(I8), (P1), (P2), (P5), and
    - (P10) The lengths lack `index`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       F64Attr:$fill, OptionalAttr<Tpsp_TileAttr>:$tile);
  let extraClassDefinition = Tpsp_Syntax;
}

def Tpsp_LabelMaskOp
    : Tpsp_PointwiseOp<"label_mask", 2, ["getIntegerWidth", "takesLabels"],
                       traits=[Tpsp_LinearInEach]> {
  let summary = "the first operand where the label is not negative, else 0";
  let description = [{
    The second operand is the labels, of i32. Masked elements do not matter,
    even if they are infinite or NaN. Linear in the first operand.

    ```mlir
    %y = tpsp.label_mask %loss, %labels : (!losses, !labels) -> !losses
    ```

    Constraints: (I1)-(I8), (P1), (P2).
  }];
}

def Tpsp_ConstantOp
    : Tpsp_PointwiseOp<"constant", 0, traits=[Tpsp_IntroducesIndices],
                       hasAdjoint=0> {
  let summary = "one number everywhere";
  let description = [{
    ```mlir
    %half = tpsp.constant {value = 0.5} : () -> !x
    ```

    Constraints: (I1)-(I8), (P2).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$value);
}

def Tpsp_IotaOp
    : Tpsp_PointwiseOp<"iota", 0, [], ["getPositionIndices"],
                       [Tpsp_IntroducesIndices], hasAdjoint=0> {
  let summary = "the position along an index, as a number";
  let description = [{
    0, 1, 2, ... along `index`, which is one of the result's, and the same along
    all others. In 16 bits far positions are rounded.

    ```mlir
    %position = tpsp.iota {index = "s"} : () -> tensor<128xf32, #tpsp.idx<s>>
    ```

    Constraints: (I1)-(I8), (P2).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index);
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_POINTWISEOPS_TD
