#include "tpsp/Runtime/HostMemory.h"

#include <fstream>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

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

void tpsp::rt::keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1); // never
#endif
}
