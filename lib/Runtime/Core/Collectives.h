/// How the ranks of a world exchange data, on a device of any kind.
#ifndef TPSP_RUNTIME_CORE_COLLECTIVES_H
#define TPSP_RUNTIME_CORE_COLLECTIVES_H

#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <type_traits>

namespace tpsp::rt {

/// Where a call's bytes are on the rank that makes it. `Stream`: what of the
/// call's stream collectives use, and nobody else during the call.
template <typename Stream> struct StreamUse {
  /// Of the rank, in its device's memory: a call's buffers are offsets into it.
  std::byte *arena;
  Stream &stream;

  std::byte *buffer(const Call &call, size_t index) const {
    return arena + call.buffers[index];
  }
};

template <typename Stream> class Collectives {
public:
  virtual ~Collectives() = default;

  /// Does, or enqueues on a device's stream, what Commands.h says of `call`,
  /// which is a collective. Ranks make the collectives of one group on one
  /// stream in the same order. Waiting is bounded by the world's timeout:
  /// TIMEOUT names the missing ranks.
  virtual Status run(Call &call, const StreamUse<Stream> &use) = 0;

  /// Makes pending and later calls return ABORTED soon. From any thread, any
  /// number of times.
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
