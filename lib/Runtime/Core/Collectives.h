/// Data exchange between the ranks of a world, on a device of any kind.
#ifndef TPSP_RUNTIME_CORE_COLLECTIVES_H
#define TPSP_RUNTIME_CORE_COLLECTIVES_H

#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <type_traits>

namespace tpsp::rt {

/// The memory and the stream of the rank that makes a call. `Stream` is the
/// part of the call's stream that collectives use; the call has it to itself.
template <typename Stream> struct StreamUse {
  /// The rank's arena, in its device's memory. A call's buffers are offsets
  /// into it.
  std::byte *arena;
  Stream &stream;

  std::byte *buffer(const Call &call, size_t index) const {
    return arena + call.buffers[index];
  }
};

template <typename Stream> class Collectives {
public:
  virtual ~Collectives() = default;

  /// Runs the collective `call` as Commands.h defines it, or enqueues it on a
  /// device's stream. Ranks make the collectives of one group on one stream in
  /// the same order. Waiting is bounded by the world's timeout: TIMEOUT names
  /// the missing ranks.
  virtual Status run(Call &call, const StreamUse<Stream> &use) = 0;

  /// Makes pending and later calls return ABORTED soon. Callable from any
  /// thread, any number of times.
  virtual void abort() {}
};

/// Calls body(command) -> Status with the command of a collective.
template <typename Body>
Status visitCollective(const Call &call, const Body &body) {
  return std::visit(
      [&](const auto &command) -> Status {
        if constexpr (isCollective<std::decay_t<decltype(command)>>)
          return body(command);
        else
          return {TPSP_RT_UNSUPPORTED, "this is no collective"};
      },
      call.command);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_COLLECTIVES_H
