// The backends by name. A backend of a vendor's libraries is a plugin, which
// Driver/Plugins/BackendPlugin.cpp loads.
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>

namespace tpsp::rt {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, BackendFactory> factories;
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

void registerBackend(const std::string &name, BackendFactory factory) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().factories[name] = std::move(factory);
}

Status findBackend(const std::string &name, BackendFactory &out) {
  std::string known = fmt::format("{}", fmt::join(backendNames(), ", "));
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto found = registry().factories.find(name);
  if (found == registry().factories.end())
    return invalid("no backend '{}'; there are: {}", name, known);
  out = found->second;
  return {};
}

std::vector<std::string> backendNames() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto &entry : registry().factories)
    names.push_back(entry.first);
  return names;
}

} // namespace tpsp::rt
