#ifndef TPSP_DIALECT_TPSP_SYNTAX_PROGRAMOPS_TD
#define TPSP_DIALECT_TPSP_SYNTAX_PROGRAMOPS_TD

// Programs in short form.
include "tpsp/Dialect/Tpsp/IR/TpspDialect.td"
include "mlir/IR/OpAsmInterface.td"

def Tpsp_ProgramOp
    : Op<Tpsp_Dialect, "program",
         [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>]> {
  let summary = "a program in short form";
  let description = [{
    A way to write a module: extents by name, then a mesh and functions. It is
    read as a `builtin.module`, and printed as one. `tpsp.program bf16 <...>`
    gives the element type of tensors that do not write their own; the default
    is f32.

    ```mlir
    tpsp.program <b = 8, s = 64, t = s, d = 128> {
      mesh @mesh <dp = 4 : data>
      func @model(%x: [b@dp, s, d], param %gain: [d]) -> [b@dp, s, d] {
        %y = rms_norm %x, %gain
        return %y
      }
    }
    ```

    Constraints:
    - (Q1) An index has one extent, at least 1, or that of an index before it.
    - (Q2) An index that is written in the program has an extent.
    - (Q3) A tensor's type that is written out agrees with the extents.
  }];
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tpsp_FunctionOp
    : Op<Tpsp_Dialect, "func",
         [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>]> {
  let summary = "a function in short form";
  let description = [{
    A way to write a function of a `tpsp.program`: operations do not write their
    operands' types. It is read as a `func.func`. `param` marks parameters.
    Their names are those of the arguments, or the strings that follow them.

    ```mlir
    func private @layer(%x: [b, s, d], param %w "mlp.weight": [d, c]) -> [b, s, d] {
      %y = einsum %w, %x -> [b, s, c, ?]
      %z = rename %y -> [b, s, d, ?]
      return %z
    }
    func @model(%x: [b, s, d]) -> [b, s, d] {
      %y = repeat 12 @layer(%x) as "layers.#.*"
      return %y
    }
    ```

    Constraints:
    - (Q4) A result has a written type where the operands do not determine it.
    - (Q5) Values are defined before they are used.
    - (Q6) A call has the callee's operands. With names, `as "h.#.*"`, it may
           leave out the last ones, if all of these are parameters.
    - (Q7) Such names differ: `#` is a repetition's number, `*` the parameter.
    - (Q8) What is repeated returns what its first operands are.
    - (Q9) All users of a result ask for one placement.
  }];
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // TPSP_DIALECT_TPSP_SYNTAX_PROGRAMOPS_TD
