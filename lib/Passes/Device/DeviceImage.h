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

/// LLVM IR of a gpu.module in the NVVM and LLVM dialects: not yet optimised,
/// and with no target. Its context was made with registerAllDialects.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateDeviceModule(mlir::gpu::GPUModuleOp module,
                      llvm::LLVMContext &context);

/// What of a kernel in these dialects no GPU has instructions for, as most
/// functions of f64; null if all is well. The kernel then cannot be in an
/// image.
mlir::Operation *unavailableInstruction(mlir::LLVM::LLVMFuncOp kernel);

/// PTX of such a module, for the chip of its #nvvm.target. Fails for a chip
/// that LLVM does not know.
llvm::Expected<std::string> ptxOf(mlir::gpu::GPUModuleOp module);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEIMAGE_H
