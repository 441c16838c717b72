// The command line of tpsp-run.
#ifndef TPSP_TOOLS_TPSP_RUN_OPTIONS_H
#define TPSP_TOOLS_TPSP_RUN_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp::run {

struct Options {
  /// A model, or, if isPlan, a compiled plan.
  std::string model;
  bool isPlan = false;
  std::string function;
  std::vector<std::string> mesh;
  bool grad = false;
  std::string inputGradients = "on";
  bool keepMasks = false;
  std::string backend = "cpu";
  std::string dtype;
  int steps = 1;
  uint64_t seed = 0;
  std::string strategy = "as-written";
  std::string overlap = "off";
  std::string shardReplicated = "off";
  int64_t microBatches = 1;
  std::string microBatchIndex = "b";
  double bucketMib = 25;
  int threads = 0;
  double timeout = 30;
  /// cuda: capture steps as CUDA graphs; NCCL for one rank, too.
  std::string graph = "auto";
  bool ncclAlways = false;
  std::string attention = "auto";
  int64_t attentionBlock = 2048;
  std::string rematerialize = "none";
  bool keepGathered = false;
  bool verify = false;
  std::string report;
  std::string trace;
  std::string timeline;
  std::string weights;
  /// "F.safetensors", "ids.npy" or "ids=F.npy".
  std::vector<std::string> inputs;
  std::string save;
  std::string saveAll;
  /// Predict instead of run, on this built-in hardware or file.
  bool simulate = false;
  std::string hardware = "cpu";
  /// Compile into this file instead of running; for this processor.
  std::string emit;
  std::string targetCpu;
  /// Describe this machine, in this file.
  bool calibrate = false;
  std::string output;
  std::string epilogues = "auto";
  /// How many times the memory for communication that the program needs.
  int64_t overlapBuffers = 0; // as many as pay
  int64_t overlapChunks = 0;
  /// The share of communication that must be hidden.
  double requireOverlap = 0;
  bool quiet = false;
  bool everyLayer = false;
};

/// Exit codes: 0 done, 1 the program or the run failed, 2 wrong usage.
enum Exit { Done = 0, Failed = 1, Usage = 2 };

/// Parses the command line. Returns -1 to go on, else what to exit with (0
/// after --help, 2 after a message about wrong usage).
/// `isSilent`: another process prints the same.
int parseOptions(int argc, char **argv, Options &options,
                 bool isSilent = false);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_OPTIONS_H
