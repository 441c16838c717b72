/// Device kernels as PTX.
#ifndef TPSP_PASSES_DEVICE_DEVICEIMAGE_H
#define TPSP_PASSES_DEVICE_DEVICEIMAGE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/Error.h"

#include <string>

namespace tpsp {

/// The #nvvm.target for a chip, as "sm_80"; ptxOf reads it.
mlir::Attribute deviceTarget(mlir::MLIRContext *context, llvm::StringRef chip);

/// An operation of a kernel that no GPU has instructions for, such as most
/// functions of f64; null if there is none. The kernel is in the NVVM and LLVM
/// dialects. With such an operation it cannot be in an image.
mlir::Operation *unavailableInstruction(mlir::LLVM::LLVMFuncOp kernel);

/// PTX of a gpu.module in these dialects, for the chip of its #nvvm.target.
/// Fails for a chip that LLVM does not know. The module's context must have
/// been made with registerAllDialects.
llvm::Expected<std::string> ptxOf(mlir::gpu::GPUModuleOp module);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEIMAGE_H
