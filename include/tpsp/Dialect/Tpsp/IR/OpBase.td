#ifndef TPSP_DIALECT_TPSP_IR_OPBASE_TD
#define TPSP_DIALECT_TPSP_IR_OPBASE_TD

// Definitions that families of operations share. Each family is a file of its
// own, <Family>Ops.td, and includes no other family. A change to one family
// then rebuilds only its own users.
include "tpsp/Dialect/Tpsp/IR/TpspAttrs.td"
include "tpsp/Dialect/Tpsp/IR/TpspInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tpsp_Tensor : Type<
    And<[CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
         CPred<"::llvm::isa_and_nonnull<::tpsp::IdxAttr>("
               "::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">
    ]>,
    "tensor with #tpsp.idx subscripts", "::mlir::RankedTensorType">;

/// The result has the indices of the operand that carries those of all
/// operands.
def Tpsp_KeepsIndices : NativeOpTrait<"KeepsIndices"> {
  let cppNamespace = "::tpsp";
}

/// A fact that holds whatever the operation's attributes and types are. The
/// interfaces' methods answer with it. An operation for which it depends on
/// them overrides the method instead.
class Tpsp_Fact<string name>
    : ParamNativeOpTrait<"Has", "::tpsp::Fact::" # name> {
  let cppNamespace = "::tpsp";
}
/// Linear in all operands together, or in each alone (getLinearity).
def Tpsp_LinearJointly : Tpsp_Fact<"LinearJointly">;
def Tpsp_LinearInEach : Tpsp_Fact<"LinearInEach">;
/// The others are named as the methods that they answer.
def Tpsp_IntroducesIndices : Tpsp_Fact<"IntroducesIndices">;
def Tpsp_SumOfOperands : Tpsp_Fact<"SumOfOperands">;
def Tpsp_SumOfProducts : Tpsp_Fact<"SumOfProducts">;
def Tpsp_View : Tpsp_Fact<"View">;
def Tpsp_Selects : Tpsp_Fact<"Selects">;
def Tpsp_MixesPrecision : Tpsp_Fact<"MixesPrecision">;
def Tpsp_StaysWide : Tpsp_Fact<"StaysWide">;
def Tpsp_StopsGradient : Tpsp_Fact<"StopsGradient">;
def Tpsp_DecomposesEarly : Tpsp_Fact<"DecomposesEarly">;
def Tpsp_ReducesRows : Tpsp_Fact<"ReducesRows">;
def Tpsp_HasOwnKernel : Tpsp_Fact<"HasOwnKernel">;

class Tpsp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tpsp_Dialect, mnemonic, traits # [Pure]>;

/// `operands {attributes} : types`; one type when all agree, else a functional
/// type. A number where an f64 is expected needs no type.
defvar Tpsp_Syntax = [{
  ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                       ::mlir::OperationState &state) {
    return ::tpsp::parseIndexedOp(parser, state);
  }
  void $cppClass::print(::mlir::OpAsmPrinter &printer) {
    Properties defaults;
    populateDefaultProperties((*this)->getName(), defaults);
    ::tpsp::printIndexedOp(printer, *this,
                           getPropertiesAsAttr(getContext(), defaults));
  }
}];

class Tpsp_IndexedOp<string mnemonic, list<string> overridden = [],
                     list<Trait> traits = [], bit hasAdjoint = 1>
    : Tpsp_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<
            Tpsp_IndexedOpInterface,
            overridden # !if(hasAdjoint, ["buildAdjoint"], []<string>)>]> {
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs);
  let results = (outs Tpsp_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = Tpsp_Syntax;
}

class Tpsp_LoopOp<string mnemonic, list<string> overridden = [],
                  list<string> loopOverridden = [], list<Trait> traits = [],
                  bit hasAdjoint = 1>
    : Tpsp_IndexedOp<mnemonic, overridden, traits # [
        DeclareOpInterfaceMethods<Tpsp_LoopOpInterface,
                                  loopOverridden # ["emitScalar"]>],
        hasAdjoint>;

class Tpsp_PointwiseOp<string mnemonic, int arity, list<string> overridden = [],
                       list<string> loopOverridden = [], list<Trait> traits = [],
                       int optional = 0, bit hasAdjoint = 1>
    : Tpsp_LoopOp<mnemonic, overridden, loopOverridden,
                  traits # [Tpsp_KeepsIndices], hasAdjoint> {
  let summary = "pointwise " # mnemonic;
  let description = [{
    An operand may lack indices of the result. It is then broadcast along them
    by name.

    Constraints: (I1)-(I8), and
    - (P1) The result carries every operand's indices.
    - (P2) The number of operands is that of the operation.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// -1 is any number from one up.
    static constexpr int arity = }] # !cast<string>(arity) # [{;
    /// How many optional operands may follow.
    static constexpr int optional = }] # !cast<string>(optional) # [{;
  }];
  let extraClassDefinition = Tpsp_Syntax # [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::tpsp::verifyPointwise(getOperation(), arity, optional);
    }
  }];
}

/// Composites whose parts are placed and differentiated one by one.
class Tpsp_EarlyCompositeOp<string mnemonic, list<string> overridden = [],
                            list<Trait> traits = []>
    : Tpsp_IndexedOp<mnemonic, overridden, traits # [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface>,
        Tpsp_DecomposesEarly]> {
  let hasVerifier = 1;
  let extraClassDefinition = Tpsp_Syntax # [{
    ::llvm::LogicalResult $cppClass::buildAdjoint(
        ::mlir::OpBuilder &, ::mlir::Value, ::llvm::ArrayRef<bool>,
        ::llvm::MutableArrayRef<::mlir::Value>) {
      return ::tpsp::refuseComposite(*this);
    }
  }];
}

#endif // TPSP_DIALECT_TPSP_IR_OPBASE_TD
