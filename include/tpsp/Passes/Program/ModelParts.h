/// Cuts a model where its layers begin and end.
#ifndef TPSP_PASSES_PROGRAM_MODELPARTS_H
#define TPSP_PASSES_PROGRAM_MODELPARTS_H

#include "tpsp/Abi/ModelPart.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tpsp {

/// The parts of a program, its layers first. Layers are those of layerRuns()
/// (LayerRuns.h). Returns "", or why the program cannot be cut. It may have no
/// layers. Or a layer takes a value that the program computes, besides the
/// result of the last layer.
std::string partsOf(mlir::func::FuncOp program, ModelParts &out);

/// Makes the function of a layer a program: its arguments become parameters, or
/// bounded or frozen, where those are that its calls pass. Nothing happens if
/// the module has no such function.
void exposeLayer(mlir::ModuleOp module, llvm::StringRef name);

/// Leaves out the layers. The value that the first one takes becomes a result,
/// and the value that the last one returns becomes an argument. They keep their
/// names. Returns "", or a problem as above.
std::string removeLayers(mlir::func::FuncOp program);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_MODELPARTS_H
