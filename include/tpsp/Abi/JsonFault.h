/// Explains why a text is not JSON, or has a key twice. The sentence names the
/// file's keys, which its author knows, instead of the JSON library's terms.
#ifndef TPSP_ABI_JSONFAULT_H
#define TPSP_ABI_JSONFAULT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace tpsp {

/// "line 3, column 9, matmul.bf16.peak_tflops: found NaN, which is no JSON
/// value here". The key is the last one that was read, with the keys that
/// enclose it. An object that has a key twice, and values that are nested more
/// than `deepest` deep, are faults, too. Empty if there is none.
std::string jsonFault(std::string_view text, size_t deepest = 64);

} // namespace tpsp

#endif // TPSP_ABI_JSONFAULT_H
