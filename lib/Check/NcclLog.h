/// Reads NCCL's log, as NCCL_DEBUG=INFO writes it.
///
/// With NCCL_DEBUG_SUBSYS=INIT,COLL it has a line for each call, and one for
/// each communicator:
///
///   host:17:17 [0] NCCL INFO AllReduce: opCount 1e sendbuff 0x7f recvbuff 0x7f
///     count 18816 datatype 7 op 0 root 0 comm 0x55 [nranks=16] stream 0x56
///   host:17:99 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 16
///     cudaDev 0 nvmlDev 0 busId 1b000 commId 0xadcb40d6 - Init COMPLETE
///   host:17:99 [0] NCCL INFO ncclCommSplit comm 0x57 rank 0 nranks 2 cudaDev 0
///     nvmlDev 0 busId 1b000 parent 0x55 splitCount 1 color 7 key 0 - Init
///     COMPLETE
///
/// each in one line. The calls are written by ncclEnqueueCheck in
/// src/enqueue.cc of NVIDIA/nccl, and the communicators by ncclCommInitRankFunc
/// in src/init.cc. `opCount` is hexadecimal. `count` is that of the API: what a
/// rank sends in an AllGather, and receives in a ReduceScatter. Newer versions
/// say childCount for splitCount. RCCL adds fields at the end of a line.
#ifndef TPSP_LIB_CHECK_NCCLLOG_H
#define TPSP_LIB_CHECK_NCCLLOG_H

#include "tpsp/Check/Traces.h"

#include <map>
#include <string>
#include <vector>

namespace tpsp::check {

/// Whether a file is no JSON object and has a line of NCCL.
bool isNcclLog(const std::string &path);

/// Logs of one run. Each process (host:pid) is a rank.
class NcclLogs {
public:
  /// `numRanks`: the number of the run's ranks.
  explicit NcclLogs(int64_t numRanks) : numRanks(numRanks) {}

  /// Reads a file line by line. Lines of other programs are passed over.
  /// INVALID, with the line's number, if a call lacks fields. `place` is the
  /// file's place among those of the run.
  rt::Status read(const std::string &path, int64_t place);

  /// Adds a recording for each process. Its rank is that in the communicator of
  /// all of the run's ranks. Without one, a file of one process has the number
  /// in its name, or its place. INVALID if ranks stay unknown.
  rt::Status finish(std::vector<Recording> &out);

private:
  /// A communicator, as one process knows it.
  struct Communicator {
    /// The same for all of its processes; empty if the log does not say it.
    std::string group;
    int64_t rank = -1, size = 0;
  };
  struct Call {
    RecordedCall call;
    size_t communicator = 0;
    std::string opCount;
    /// For a send or a receive, the other rank in the communicator.
    int64_t peer = -1;
  };
  struct Process {
    std::string name, path;
    /// The file's.
    int64_t place = 0;
    std::vector<Communicator> communicators;
    /// By the address in the log: the latest of that address.
    std::map<std::string, size_t> byAddress;
    std::vector<Call> calls;
    int64_t others = 0, rank = -1;
  };
  using Fields = std::map<std::string, std::string>;

  Process &processOf(const std::string &name, const std::string &path,
                     int64_t place);
  static rt::Status addCommunicator(const Fields &fields, Process &process);
  static rt::Status addCall(const std::string &name, const Fields &fields,
                            Process &process);
  rt::Status findRanks(std::vector<std::string> &notes);
  bool findRanksInWorld();
  rt::Status findRanksByFiles(std::vector<std::string> &notes);
  static rt::Status joinSends(Process &process);
  /// By group: the rank of each known member, by its number in the group.
  std::map<std::string, std::map<int64_t, int64_t>> ranksOfGroups() const;

  const int64_t numRanks;
  std::vector<Process> processes;
  std::map<std::string, size_t> byName;
  std::vector<std::string> paths;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_NCCLLOG_H
