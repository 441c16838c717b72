#ifndef TPSP_DIALECT_TPSP_ATTRS_TD
#define TPSP_DIALECT_TPSP_ATTRS_TD

include "tpsp/Dialect/Tpsp/IR/TpspDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Tpsp_IdxAttr : AttrDef<Tpsp_Dialect, "Idx",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "idx";
  let summary = "named indices of a tensor, with mesh-axis subscripts";
  let description = [{
    One entry per dimension: `name` or `name@axis@axis` (major to minor). Then
    `| sum@axis...` (or `max`) follows if the tensor is partial over those axes:

    ```mlir
    #tpsp.idx<b, s@tp, d>            // sharded over tp along s
    #tpsp.idx<b@dp@fsdp, s, d>       // b over dp, each part over fsdp
    #tpsp.idx<e, d | sum@tp>         // every rank of tp holds a summand
    #tpsp.idx<b, s, e, ?>            // not placed: tpsp-propagate decides
    #tpsp.idx<b, s@tp, d, local>     // the type's shape is one rank's
    ```

    Constraints:
    - (N1) One name per dimension of the tensor.
    - (N2) A name appears once.
    - (N3) An axis appears once, pending axes included. Across indices this is
           verified with the operation, where the mesh is known.
    - (N4) An unplaced tensor has no subscripts.
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr", "index names">:$names,
    ArrayRefParameter<"::mlir::ArrayAttr",
      "per dimension, axis names, major to minor">:$axes,
    ArrayRefParameter<"::mlir::StringAttr", "pending axes">:$pending,
    "bool":$pendingMax,
    "bool":$unplaced,
    "bool":$local);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Unsharded, placed, global.
    static IdxAttr get(::mlir::MLIRContext *context,
                       ::llvm::ArrayRef<::mlir::StringAttr> names);
    /// The same names, waiting for a placement.
    IdxAttr withoutPlacement() const;
    unsigned getRank() const { return getNames().size(); }
    /// The dimension called `name`, if any.
    std::optional<unsigned> dimOf(::llvm::StringRef name) const;
  }];
}

def Tpsp_TileAttr : AttrDef<Tpsp_Dialect, "Tile"> {
  let mnemonic = "tile";
  let summary = "which positions of a longer index a tensor holds";
  let description = [{
    Used on local shapes. The longer index is cut into shards of `extent`
    positions, one for each rank of the group of `axes`, major to minor. Without
    axes there is a single shard. Position i of the tensor along `index` is
    position

        ((rank + shift) mod group) * extent + offset + i

    of the longer index, where `rank` is the rank's number in the group. With a
    negative extent the shards lie in the opposite order, down from `offset`.

    ```mlir
    #tpsp.tile<index = "t", extent = 16, shift = 3, offset = 0, axes = ["cp"]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$index, "int64_t":$extent,
                        "int64_t":$shift, "int64_t":$offset,
                        "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tpsp_OriginAttr : AttrDef<Tpsp_Dialect, "Origin"> {
  let mnemonic = "origin";
  let summary = "what an operation was made for, and when it runs";
  let description = [{
    The value of `tpsp.origin` on an operation. Every entry is optional, and
    they come in this order:

    ```mlir
    #tpsp.origin<backward>             // or update; else the forward pass
    #tpsp.origin<backward, recomputed> // rematerialises the forward pass
    #tpsp.origin<part = 0>             // of a micro-batch; -1: of its counts
    #tpsp.origin<part = 0, chunk = 2>  // of a chunk of layers
    #tpsp.origin<update, stages = [0, 3]> // on these stages, once a step
    #tpsp.origin<part = 0, segment = 1>   // of a segment of the step
    ```

    C++ code reads and sets it as a struct (Origin.h).
  }];
  let parameters = (ins
    "::tpsp::Phase":$phase,
    "bool":$recomputed,
    "std::optional<int64_t>":$part,
    "std::optional<int64_t>":$chunk,
    ArrayRefParameter<"int64_t", "ascending; empty: all stages">:$stages,
    "std::optional<int64_t>":$segment);
  let hasCustomAssemblyFormat = 1;
}

def Tpsp_InferredType : TypeDef<Tpsp_Dialect, "Inferred"> {
  let mnemonic = "inferred";
  let summary = "a type that is still to be inferred";
  let description = [{
    The type of values in a function in short form while it is parsed
    (`tpsp.program`). No operation has it afterwards.
  }];
}

#endif // TPSP_DIALECT_TPSP_ATTRS_TD
