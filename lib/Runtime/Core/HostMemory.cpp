#include "tpsp/Runtime/HostMemory.h"

#include <fstream>
#include <string>

int64_t tpsp::rt::availableHostBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kibibytes;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:")
      return kibibytes * 1024;
    file.ignore(256, '\n');
  }
  return -1;
}
