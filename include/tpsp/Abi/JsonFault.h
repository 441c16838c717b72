/// Explains why a text is not JSON. The sentence names the file's keys, which
/// its author knows, instead of the JSON library's terms.
#ifndef TPSP_ABI_JSONFAULT_H
#define TPSP_ABI_JSONFAULT_H

#include <string>
#include <string_view>

namespace tpsp {

/// "line 3, column 9, matmul.bf16.peak_tflops: found NaN, which is no JSON
/// value here". The key is the last one that was read, with the keys that
/// enclose it. Empty if the text is JSON.
std::string jsonFault(std::string_view text);

} // namespace tpsp

#endif // TPSP_ABI_JSONFAULT_H
