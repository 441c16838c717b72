/// The made-up output of nccl-tests on two nodes of eight that tests read.
#ifndef TPSP_UNITTEST_CALIBRATE_NCCLFILES_H
#define TPSP_UNITTEST_CALIBRATE_NCCLFILES_H

#include "tpsp/Calibrate/NcclTests.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

namespace tpsp::calibration {

/// The text of a file of test/Tools/Inputs/nccl-tests.
inline std::string ncclText(const std::string &name) {
  std::ifstream file(std::string(TPSP_NCCL_TESTS) + "/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<NcclRun> ncclRuns(llvm::ArrayRef<const char *> names) {
  std::vector<NcclRun> runs;
  for (const char *name : names)
    llvm::append_range(runs,
                       llvm::cantFail(readNcclTests(ncclText(name), name)));
  return runs;
}

/// All five tests.
inline std::vector<NcclRun> allNcclRuns() {
  return ncclRuns({"all_reduce.txt", "job-1187.out", "point-to-point.log"});
}

} // namespace tpsp::calibration

#endif // TPSP_UNITTEST_CALIBRATE_NCCLFILES_H
