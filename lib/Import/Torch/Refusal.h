/// A reason why an archive is not imported. It is thrown within this folder,
/// and becomes a Status where the folder is entered.
#ifndef TPSP_IMPORT_TORCH_REFUSAL_H
#define TPSP_IMPORT_TORCH_REFUSAL_H

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>

namespace tpsp::import::torch {

class Refusal : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws a Refusal, with a message made by fmt::format.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args &&...args) {
  throw Refusal(fmt::format(text, std::forward<Args>(args)...));
}

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_REFUSAL_H
