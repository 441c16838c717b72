/// Device kernels as LLVM IR and as PTX.
#ifndef TPSP_PASSES_DEVICE_DEVICEIMAGE_H
#define TPSP_PASSES_DEVICE_DEVICEIMAGE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace tpsp {

/// The #nvvm.target for a chip, as "sm_80"; ptxOf reads it.
mlir::Attribute deviceTarget(mlir::MLIRContext *context, llvm::StringRef chip);

/// Translates a gpu.module in the NVVM and LLVM dialects to LLVM IR, not yet
/// optimised and without a target. Its context must have been made with
/// registerAllDialects.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateDeviceModule(mlir::gpu::GPUModuleOp module,
                      llvm::LLVMContext &context);

/// An operation of a kernel in these dialects that no GPU has instructions for,
/// such as most functions of f64; null if there is none. A kernel with such an
/// operation cannot be in an image.
mlir::Operation *unavailableInstruction(mlir::LLVM::LLVMFuncOp kernel);

/// PTX of such a module, for the chip of its #nvvm.target. Fails for a chip
/// that LLVM does not know.
llvm::Expected<std::string> ptxOf(mlir::gpu::GPUModuleOp module);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEIMAGE_H
