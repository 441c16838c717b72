/// Kernels as machine code of the host: the kernels for CPUs, and those for
/// GPUs, which a block emulator runs thread by thread.
///
/// The device kernels are the same LLVM IR from which PTX is made. The GPU's
/// intrinsics (thread and block numbers, barriers, shuffles) are bound to
/// BlockEmulator.h. A block's memory is a global of the host.
#ifndef TPSP_TEST_DEVICE_HOSTCODE_H
#define TPSP_TEST_DEVICE_HOSTCODE_H

#include "BlockEmulator.h"

#include "Passes/Device/DeviceKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

#include <mutex>

namespace tpsp::device {

/// Functions by name. Parameters are 64-bit values, given by their addresses.
class HostCode {
public:
  using Function = void (*)(void **parameters);

  /// Compiles a module whose functions take pointers and 64-bit integers and
  /// return nothing.
  static llvm::Expected<std::unique_ptr<HostCode>>
  create(std::unique_ptr<llvm::LLVMContext> context,
         std::unique_ptr<llvm::Module> module);

  /// Returns null if there is no such function.
  Function lookup(llvm::StringRef name) const { return functions.lookup(name); }
  /// Fills the memory of blocks with NaNs.
  void poisonBlockMemory() const;

private:
  struct Memory {
    void *address;
    size_t bytes;
  };

  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::StringMap<Function> functions;
  std::vector<Memory> blockMemory;
};

/// Returns the kernels of a plan, as functions of the host that do items
/// [begin, end).
llvm::Expected<std::unique_ptr<HostCode>> hostKernels(mlir::ModuleOp plan);

/// The device kernels of a plan that was compiled with `device=cuda`.
class DeviceCode {
public:
  static llvm::Expected<std::unique_ptr<DeviceCode>>
  create(mlir::ModuleOp plan);

  /// Launches a kernel as a driver does. `parameters` are the addresses of its
  /// parameters, all of 64 bits. Blocks run one after another, each with poison
  /// in its memory. Returns "" or an error. Several threads may call this, but
  /// launches run one at a time.
  std::string launch(llvm::StringRef entry, BlockNumber grid, int64_t threads,
                     void **parameters,
                     ThreadOrder order = ThreadOrder::Forward);

  /// Every kernel's name and number of parameters.
  const std::vector<std::pair<std::string, size_t>> &kernels() const {
    return entries;
  }

  /// Returns the launch in the plan's record of the kernel.
  DeviceLaunch launchOf(llvm::StringRef entry) const {
    return launches.lookup(entry);
  }

private:
  std::unique_ptr<HostCode> code;
  llvm::StringMap<DeviceLaunch> launches;
  std::vector<std::pair<std::string, size_t>> entries;
  std::mutex turn;
};

} // namespace tpsp::device

#endif // TPSP_TEST_DEVICE_HOSTCODE_H
