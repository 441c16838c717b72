/// The runtime's calls as values: their kinds and their decoded commands.
#ifndef TPSP_ABI_CALLS_H
#define TPSP_ABI_CALLS_H

#include "tpsp/Abi/Commands.h"

#include <variant>

namespace tpsp::rt {

/// The calls, in the order of calls.def. AnyCommand has the same order.
enum class CallKind {
#define TPSP_RT_CALL(NAME, COMMAND, NATURE) NAME,
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
};

enum class CallNature { Local, Collective };

/// "matmul", "all_gather", ...
constexpr const char *callName(CallKind kind) {
  constexpr const char *names[] = {
#define TPSP_RT_CALL(NAME, COMMAND, NATURE) #NAME,
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
  };
  return names[static_cast<int>(kind)];
}

namespace detail {
template <typename First, typename... Commands> struct VariantBehind {
  using Type = std::variant<Commands...>;
};
} // namespace detail

/// The command of any call. Its index is the call's kind.
using AnyCommand = detail::VariantBehind<void
#define TPSP_RT_CALL(NAME, COMMAND, NATURE) , COMMAND
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
                                         >::Type;

/// Whether the ranks of the command's group take part in its call.
template <typename Command> constexpr bool isCollective = false;
#define TPSP_RT_CALL(NAME, COMMAND, NATURE)                                    \
  template <>                                                                  \
  inline constexpr bool isCollective<COMMAND> =                                \
      CallNature::NATURE == CallNature::Collective;
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL

/// Decodes the parameters of a call of this kind. False if they are malformed.
inline bool decodeCall(CallKind kind, const int64_t *params, int64_t count,
                       AnyCommand &out) {
  switch (kind) {
#define TPSP_RT_CALL(NAME, COMMAND, NATURE)                                    \
  case CallKind::NAME:                                                         \
    return decode(params, count, out.emplace<COMMAND>());
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
  }
  return false;
}

} // namespace tpsp::rt

#endif // TPSP_ABI_CALLS_H
