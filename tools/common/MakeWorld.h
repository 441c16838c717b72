// The ranks that run a program, and the values of its arguments.
#ifndef TPSP_TOOLS_COMMON_MAKEWORLD_H
#define TPSP_TOOLS_COMMON_MAKEWORLD_H

#include "Program.h"
#include "StepClock.h"

#include "tpsp/Runtime/CommandObserver.h"
#include "tpsp/Runtime/Driver/Files/AgreedFiles.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/Transport.h"
#include "tpsp/Runtime/World.h"

#include <set>

namespace tpsp::tool {

/// The source of the arguments' values.
struct Arguments {
  std::unique_ptr<rt::TensorSource> source;
  /// The files that were opened for it.
  std::vector<rt::AgreedFile> files;
  /// Empty if there is nothing to warn of.
  std::string warning;
  /// Names that --inputs may give, though the program lacks them. To be set
  /// before openArguments().
  std::set<std::string> leftOut;
};

/// Takes values from --inputs, else from --weights, else from `others`.
rt::Status openArguments(const ToolOptions &options, const Plan &plan,
                         std::unique_ptr<rt::TensorSource> others,
                         Arguments &out);

/// The inputs of a world besides options and program. The objects must outlive
/// the world.
struct WorldUse {
  /// Notified of every command; may be null.
  rt::CommandObserver *observer = nullptr;
  /// Receives the step times that GPUs measure; may be null.
  StepClock *clock = nullptr;
  /// Connects to the other processes; null if there are none.
  rt::Transport *transport = nullptr;
};

/// Loads the backend and creates the ranks. Their memory is uninitialised.
rt::Status makeWorld(const ToolOptions &options, const Program &program,
                     const WorldUse &use, std::unique_ptr<rt::World> &world);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_MAKEWORLD_H
