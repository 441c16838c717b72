/// Ensures that one process at a time writes to the folder of a run.
///
///   RunLock lock;
///   TPSP_TRY(lock.take("run"));   // held until `lock` is destroyed
///
/// The lock is the system's (flock on OUT/run.lock). It ends with the process
/// that holds it, however that process ends, so no stale lock is left.
#ifndef TPSP_RUNTIME_TRAIN_RUNLOCK_H
#define TPSP_RUNTIME_TRAIN_RUNLOCK_H

#include "tpsp/Abi/FileHandle.h"

namespace tpsp::train {

class RunLock {
public:
  /// Creates the folder if it does not exist. INVALID, with the process and the
  /// host that hold the lock, if another run writes to the folder. UNSUPPORTED
  /// if its file system has no locks.
  rt::Status take(const std::string &folder);

private:
  rt::FileHandle file;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_RUNLOCK_H
