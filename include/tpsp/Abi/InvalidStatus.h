/// The commonest failure: the caller or the user gave something invalid.
#ifndef TPSP_ABI_INVALIDSTATUS_H
#define TPSP_ABI_INVALIDSTATUS_H

#include "tpsp/Abi/Status.h"

#include <fmt/format.h>

namespace tpsp::rt {

/// INVALID, with a message made by fmt::format.
template <typename... Args>
Status invalid(fmt::format_string<Args...> text, Args &&...args) {
  return {TPSP_RT_INVALID, fmt::format(text, std::forward<Args>(args)...)};
}

} // namespace tpsp::rt

#endif // TPSP_ABI_INVALIDSTATUS_H
