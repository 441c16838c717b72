#include "Measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

using namespace tpsp;
using namespace tpsp::calibration;

/// "Intel(R) Xeon(R) Processor", or "" if unknown.
static std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0)
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return "";
}

llvm::Expected<Hardware> tpsp::calibration::measureMachine(Progress progress) {
  Measurement measurement(std::move(progress));
  Hardware hardware;
  hardware.kind = Hardware::Kind::Cpu;
  hardware.name = "this machine";
  hardware.cores = std::max(1u, std::thread::hardware_concurrency());
  hardware.basis.measured = fmt::format("tpsp-run --calibrate, {} cores, {}",
                                        hardware.cores, processorName());
  hardware.memoryBytes =
      int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  hardware.insideTier = "memory";
  for (auto part : {measureMatmuls, measureAttention, measureMemory,
                    measureKernels, measureCollectives})
    part(measurement, hardware);
  return measurement.result(std::move(hardware));
}
