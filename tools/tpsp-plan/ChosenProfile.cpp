#include "ChosenProfile.h"

#include "tpsp/Passes/Options/SetOption.h"
#include "tpsp/Planner/Target.h"
#include "tpsp/Schedule/Hardware.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::plantool;

/// Sets the profile's options, unless the command line gives them.
static llvm::Error setOptions(const planner::Profile &profile,
                              Options &options) {
  CompileOptions tried;
  for (const auto &[name, option] : profile.options) {
    bool isGiven = options.has(name);
    if (std::string problem =
            setOption(isGiven ? tried : options, name, option.value);
        !problem.empty())
      return llvm::createStringError(fmt::format("profile '{}': options.{}: {}",
                                                 profile.name, name, problem));
    if (!isGiven)
      options.automatic.erase(name);
  }
  return llvm::Error::success();
}

/// Sets the host's time for a command, unless --hardware gives it.
static llvm::Error setHost(const planner::Profile &profile, Options &options) {
  const std::string &machine = options.hardware.name();
  if (!profile.hostMicroseconds || machine.find(":host=") != std::string::npos)
    return llvm::Error::success();
  llvm::Expected<Hardware> found = findHardware(machine);
  if (!found)
    return found.takeError();
  // Ranks on CPUs issue commands themselves.
  if (!found->isCpu())
    options.hardware =
        fmt::format("{}:host={}us", machine, profile.hostMicroseconds->value);
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<const planner::Profile>>
plantool::applyProfile(Options &options) {
  std::string name = options.profileName;
  if (const planner::Target *target = planner::findTarget(options.target);
      target && name.empty())
    name = target->profile;
  if (name.empty() || name == "tpsp")
    return nullptr;
  auto profile = planner::findProfile(name);
  if (!profile)
    return profile.takeError();
  if (llvm::Error error = setOptions(*profile, options))
    return error;
  if (llvm::Error error = setHost(*profile, options))
    return error;
  return std::make_shared<const planner::Profile>(std::move(*profile));
}
