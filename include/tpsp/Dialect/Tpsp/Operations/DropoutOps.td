#ifndef TPSP_DIALECT_TPSP_OPERATIONS_DROPOUTOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_DROPOUTOPS_TD

// Dropout and its masks.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

// Linear in the operand that it drops from, not in the step's number.
def Tpsp_DropoutOp
    : Tpsp_PointwiseOp<"dropout", 1,
                       ["restrictPositions", "mixesPrecision"],
                       ["getPositionIndices", "getTileOf"],
                       [Tpsp_LinearInEach,
                        DeclareOpInterfaceMethods<Tpsp_MaskingOpInterface>,
                        DeclareOpInterfaceMethods<Tpsp_RandomOpInterface>],
                       /*optional=*/1> {
  let summary = "elements zeroed at random, the others scaled up";
  let description = [{
    An element is kept with probability 1 - rate and divided by it. The choice
    depends only on the seed and the element's global position (Philox-4x32-10,
    Salmon et al., SC 2011). It is the same on every mesh, and is rematerialised
    in the backward pass instead of being stored.

    The optional second operand is the step's number, without indices. Every
    step then draws other elements. A training step has this operand.

    If the tensor is a part of a larger one, `part` = [blocks, parts, number]
    says which part along the index `along`. The larger tensor is seen as
    [blocks, parts, rest] there, and this is part `number`.

    `tile` says where the tensor's block of an index lies in a longer one.

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P4) 0 <= rate < 1; `along` and `part`, if given, name a part of a larger
      tensor. The step's number, if given, has no index. The other tensors are
      of one type.
    - (P5) `tile` is of an index of the result and over axes of the mesh, and
           the types are one rank's.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$rate,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       OptionalAttr<StrAttr>:$along,
                       OptionalAttr<DenseI64ArrayAttr>:$part,
                       OptionalAttr<Tpsp_TileAttr>:$tile);
  let hasFolder = 1;
}

def Tpsp_DropoutMaskOp
    : Tpsp_PointwiseOp<"dropout_mask", 0,
                       ["getIntegerWidth", "restrictPositions"],
                       ["getPositionIndices"], [Tpsp_IntroducesIndices],
                       /*optional=*/1> {
  let summary = "1 for elements that a dropout keeps, else 0, as i8";
  let description = [{
    The optional operand is the step's number.

    Constraints: (I1)-(I8), (P2), (P4).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$rate,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       OptionalAttr<StrAttr>:$along,
                       OptionalAttr<DenseI64ArrayAttr>:$part);
}

def Tpsp_ApplyMaskOp
    : Tpsp_PointwiseOp<"apply_mask", 2, ["getIntegerWidth"],
                       traits=[Tpsp_LinearInEach]> {
  let summary = "scale * x where the mask (i8) is not 0, else 0";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$scale);
}

def Tpsp_RandomBitsOp : Tpsp_Op<"random_bits"> {
  let summary = "32 random bits, in a kernel";
  let description = [{
    A word (0 to 3) of a block of Philox-4x32-10 (Salmon et al., SC 2011). The
    block's number is the low half of the counter. The high half is the step's
    number (below 2^32), or 0 without one. The key is the seed.
  }];
  let arguments = (ins I64:$block, I64:$word, Optional<I64>:$step,
                       I64Attr:$seed);
  let results = (outs I32:$bits);
  let assemblyFormat =
      "$block `,` $word (`step` $step^)? `seed` $seed attr-dict";
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_DROPOUTOPS_TD
