// Counts calls and objects, and makes calls fail on demand.
#include "Doubles.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Faults {
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::string failing;
  int left = 0;
  bool hasFailed = false;
  std::atomic<long> objects{0};
};

/// Never destroyed: threads of the doubles outlive main.
Faults &faults() {
  static auto *instance = new Faults;
  return *instance;
}

} // namespace

bool tpspDoubleEnter(const char *name) {
  Faults &all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  ++all.calls[name];
  if (all.failing != name || all.left == 0 || --all.left > 0)
    return false;
  all.hasFailed = true;
  return true;
}

void tpspDoubleFail(const char *name, int occurrence) {
  Faults &all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.failing = name;
  all.left = occurrence;
  all.hasFailed = false;
}

bool tpspDoubleHasFailed() {
  Faults &all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.left = 0;
  return all.hasFailed;
}

int tpspDoubleCalls(const char *name) {
  Faults &all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.calls[name];
}

void tpspDoubleForgetCalls() {
  Faults &all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.calls.clear();
}

long tpspDoubleLiveObjects() { return faults().objects; }
void tpspDoubleCountObjects(long change) { faults().objects += change; }
