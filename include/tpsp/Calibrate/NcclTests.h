/// Reads the output of NVIDIA's nccl-tests, and puts its times into a
/// description of a machine.
///
///   auto runs = readNcclTests(text, "all_reduce.txt");
///   auto mine = withNcclRuns(*findHardware("h100-sxm-cluster"), *runs);
#ifndef TPSP_CALIBRATE_NCCLTESTS_H
#define TPSP_CALIBRATE_NCCLTESTS_H

#include "tpsp/Schedule/Hardware.h"

namespace tpsp::calibration {

/// The table of one run.
struct NcclRun {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// The number of nodes of a group, of its ranks in each, and of groups that
  /// ran at once (NCCL_TESTS_SPLIT).
  int64_t nodes = 1, perNode = 1, groups = 1;
  /// Out-of-place seconds by size S, in the order of the rows. There is
  /// at least one row, and a size may have several.
  std::vector<SizePoint> times;
  /// The place of the table: "all_reduce.txt:25".
  std::string origin;
};

/// Reads all tables of all_reduce, all_gather, reduce_scatter, alltoall and
/// sendrecv; those of other tests are skipped. `origin` is the file's path. Its
/// name says which test it is if no line does. An error has the file, the line,
/// the rule and a way out; so has a text without a table.
llvm::Expected<std::vector<NcclRun>> readNcclTests(llvm::StringRef text,
                                                   llvm::StringRef origin);

/// The description with these times. Tables inside a node and between nodes
/// replace its own of the same kinds. Kinds that were not measured between
/// nodes follow those that were. Fails if a run does not fit the machine.
llvm::Expected<Hardware> withNcclRuns(Hardware hardware,
                                      llvm::ArrayRef<NcclRun> runs);

} // namespace tpsp::calibration

#endif // TPSP_CALIBRATE_NCCLTESTS_H
