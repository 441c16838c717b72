/// The result of a runtime function: a code of tpsp_rt.h and, if it is not
/// TPSP_RT_OK, a sentence for people. The runtime's C++ interfaces return a
/// Status and throw nothing.
#ifndef TPSP_ABI_STATUS_H
#define TPSP_ABI_STATUS_H

#include "tpsp/Abi/tpsp_rt.h"

#include <string>
#include <utility>

namespace tpsp::rt {

class [[nodiscard]] Status {
public:
  /// Success. Allocates nothing.
  Status() = default;

  /// A failure: `code` is not TPSP_RT_OK, `message` is a sentence without a
  /// final stop.
  Status(tpsp_rt_status code, std::string message)
      : failureCode(code), text(std::move(message)) {}

  bool ok() const { return failureCode == TPSP_RT_OK; }
  tpsp_rt_status code() const { return failureCode; }

  /// Empty on success.
  const std::string &message() const { return text; }

private:
  tpsp_rt_status failureCode = TPSP_RT_OK;
  std::string text;
};

} // namespace tpsp::rt

/// Returns from the function with a failure.
#define TPSP_TRY(...)                                                          \
  do {                                                                         \
    if (::tpsp::rt::Status tried = (__VA_ARGS__); !tried.ok())                 \
      return tried;                                                            \
  } while (false)

#endif // TPSP_ABI_STATUS_H
