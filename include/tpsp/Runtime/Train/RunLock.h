/// One writer for the folder of a run.
///
///   RunLock lock;
///   TPSP_TRY(lock.take("run"));   // held until `lock` goes, or the process
///
/// The lock is the system's (flock on OUT/run.lock), which ends with the
/// process that holds it, however that ends. So none is ever left over.
#ifndef TPSP_RUNTIME_TRAIN_RUNLOCK_H
#define TPSP_RUNTIME_TRAIN_RUNLOCK_H

#include "tpsp/Abi/FileHandle.h"

namespace tpsp::train {

class RunLock {
public:
  /// Makes the folder if it is not there. INVALID, with the process and the
  /// host that hold it, if another run writes to it. UNSUPPORTED if its file
  /// system has no locks.
  rt::Status take(const std::string &folder);

private:
  rt::FileHandle file;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_RUNLOCK_H
